//! A process that somebody else started for us, and all that came of it.

use super::identity::fingerprint_of;
use super::process::{Process, Signal};
use super::scope::children_of;
use std::collections::BTreeMap;

/// One that forks while it is looked at is looked at so often.
const LOOKS_MOST: usize = 16;
const STOP: i32 = 19;

/// Kills it and all its descendants. They are stopped first, or a child would be another's by the time we look.
pub fn kill_family(root: i32) {
    let mut family: BTreeMap<i32, Process> = BTreeMap::new();
    for _ in 0..LOOKS_MOST {
        let before = family.len();
        let mut unseen = vec![root];
        while let Some(pid) = unseen.pop() {
            unseen.extend(children_of(pid).unwrap_or_default());
            if !family.contains_key(&pid)
                && let Some(process) = fingerprint_of(pid).and_then(|found| Process::open(&found))
            {
                process.signal(Signal::Other(STOP));
                family.insert(pid, process);
            }
        }
        if family.len() == before {
            break;
        }
    }
    for process in family.values() {
        process.signal(Signal::Kill);
    }
}

/// Kills every process whose environment has this word, wherever it has gone in its tree. Returns how many.
pub fn kill_marked(word: &str) -> usize {
    let is_marked = |pid: i32| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|text| text.split(|byte| *byte == 0).any(|one| one == word.as_bytes()))
    };
    let own = rustix::process::getpid().as_raw_pid();
    let mut killed = 0;
    // One that forks meanwhile is found by the next look.
    for _ in 0..LOOKS_MOST {
        let Ok(entries) = std::fs::read_dir("/proc") else { return killed };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut found = 0;
        for pid in pids.filter(|pid| *pid != own && is_marked(*pid)) {
            let process = fingerprint_of(pid).and_then(|found| Process::open(&found));
            // Its number may be another's by now.
            if let Some(process) = process.filter(|_| is_marked(pid)) {
                process.signal(Signal::Kill);
                found += 1;
            }
        }
        if found == 0 {
            break;
        }
        killed += found;
    }
    killed
}
