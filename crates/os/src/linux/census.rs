//! A snapshot of all processes of the machine.

use super::descent::all_pids;
use super::identity::stat;
use super::reserved_fds;
use ostler_model::RunSpec;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs;

/// A snapshot of all processes: which process is in which session and process group. One snapshot serves many runs. The
/// kernel lets a process join only a session or group of its own ancestry, so every member belongs to the run.
#[derive(Debug, Default)]
pub struct Census {
    pub(super) by_session: HashMap<i32, Vec<i32>>,
    pub(super) by_group: HashMap<i32, Vec<i32>>,
    /// Read on first use.
    by_mark: OnceCell<HashMap<String, Vec<i32>>>,
}

impl Census {
    pub fn take() -> Self {
        let mut census = Self::default();
        for pid in all_pids() {
            let Some(stat) = stat(pid).filter(|stat| !stat.dead) else { continue };
            census.by_session.entry(stat.session).or_default().push(pid);
            census.by_group.entry(stat.group).or_default().push(pid);
        }
        census
    }

    /// The processes whose environment has this run id assignment. Any process can be given one, so this is no evidence
    /// that it belongs to the run.
    pub(super) fn with_mark(&self, mark: &str) -> &[i32] {
        let read = || {
            let begin = format!("{}=", RunSpec::RUN_ID_VARIABLE);
            let mut by_mark: HashMap<String, Vec<i32>> = HashMap::new();
            for pid in self.by_group.values().flatten() {
                let path = format!("/proc/{pid}/environ");
                let text = reserved_fds::spend(|| fs::read(&path)).unwrap_or_default();
                let mut words = text.split(|byte| *byte == 0);
                if let Some(word) = words.find(|word| word.starts_with(begin.as_bytes())) {
                    let word = String::from_utf8_lossy(word).into_owned();
                    by_mark.entry(word).or_default().push(*pid);
                }
            }
            by_mark
        };
        self.by_mark.get_or_init(read).get(mark).map_or(&[], Vec::as_slice)
    }
}
