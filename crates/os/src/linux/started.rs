//! The command line, environment and start time of a process.

use super::identity::stat;
use std::collections::BTreeMap;

/// A process as `/proc/PID` describes it. A part that cannot be read is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Started {
    pub words: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub folder: Option<std::path::PathBuf>,
    /// The start time in the kernel's ticks.
    pub start_time: Option<u64>,
}

/// `None` if there is no such process.
pub fn program_of(pid: i32) -> Option<Started> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let texts = |bytes: &[u8]| -> Vec<String> {
        let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
    };
    let environment = texts(&environment)
        .into_iter()
        .filter_map(|entry| entry.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())))
        .collect();
    Some(Started {
        words: texts(&words),
        environment,
        folder: std::fs::read_link(format!("/proc/{pid}/cwd")).ok(),
        start_time: stat(pid).map(|stat| stat.start_time),
    })
}
