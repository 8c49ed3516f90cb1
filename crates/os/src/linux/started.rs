//! The command line, environment and start time of a process.

use super::identity::stat;
use std::collections::BTreeMap;
use std::io::Read;

/// A process as `/proc/PID` describes it. A part that cannot be read is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Started {
    pub words: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub folder: Option<std::path::PathBuf>,
    /// The start time in the kernel's ticks.
    pub start_time: Option<u64>,
}

/// The command line alone; `None` if there is no such process.
pub fn words_of(pid: i32) -> Option<Vec<String>> {
    read(pid, "cmdline").ok().map(|words| texts(&words))
}

/// `None` if there is no such process.
pub fn program_of(pid: i32) -> Option<Started> {
    let words = words_of(pid)?;
    let environment = texts(&read(pid, "environ").unwrap_or_default())
        .into_iter()
        .filter_map(|entry| entry.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())))
        .collect();
    Some(Started {
        words,
        environment,
        folder: std::fs::read_link(format!("/proc/{pid}/cwd")).ok(),
        start_time: stat(pid).map(|stat| stat.start_time),
    })
}

/// The kernel reports these files as empty, so without room the first reads would be of 32, 64, 128 … bytes.
fn read(pid: i32, name: &str) -> std::io::Result<Vec<u8>> {
    const ROOM: usize = 8 << 10;
    let mut bytes = Vec::with_capacity(ROOM);
    std::fs::File::open(format!("/proc/{pid}/{name}"))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}
