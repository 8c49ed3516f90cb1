//! One look at all processes of the machine.

use super::descent::all_pids;
use super::identity::stat;
use std::collections::HashMap;

/// One look at all processes of the machine: who is in which session and group. One serves many runs. The kernel lets
/// nobody into a session or group that it does not descend into, so whoever is in there is of that run.
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
