//! A process that somebody else started for us, and all that came of it.

use super::identity::{fingerprint_of, stat};
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

/// A process that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alive {
    pub pid: i32,
    pub parent: i32,
    /// Its program's name, as the kernel keeps it.
    pub name: String,
}

/// It and all that descend from it, those that live: parents before their children.
pub fn alive_in_family(root: i32) -> Vec<Alive> {
    let mut found: Vec<Alive> = Vec::new();
    let mut open = std::collections::VecDeque::from([root]);
    while let Some(pid) = open.pop_front() {
        if found.iter().any(|known| known.pid == pid) {
            continue;
        }
        let Some(stat) = stat(pid).filter(|stat| !stat.dead) else { continue };
        let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim_end().to_owned();
        found.push(Alive { pid, parent: stat.parent, name });
        open.extend(children_of(pid).unwrap_or_default());
    }
    found
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
