//! A snapshot of all processes of the machine.

use super::descent::all_pids;
use super::identity::stat;
use std::collections::HashMap;

/// A snapshot of all processes: which process is in which session and process group. One snapshot serves many runs. The
/// kernel lets a process join only a session or group of its own ancestry, so every member belongs to the run.
#[derive(Debug, Default)]
pub struct Census {
    pub(super) by_session: HashMap<i32, Vec<i32>>,
    pub(super) by_group: HashMap<i32, Vec<i32>>,
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
}
