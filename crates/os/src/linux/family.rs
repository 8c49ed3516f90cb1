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
