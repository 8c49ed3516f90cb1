//! Processes of an adopted run that its cgroup does not list and that no subreaper of ours receives.
//!
//! A process that may write to another cgroup can leave its own. While one guardian lives, such a process becomes a
//! child of the guardian or of the supervisor when its parent ends, and is found there. If guardian and supervisor died
//! together, the orphan went to another process. Then only these are left: descent from a process that is known, which
//! proves that it belongs to the run, and its session, its group or its environment, which prove nothing but are a
//! reason not to call the run extinct.

use super::census::Census;
use super::cgroup;
use super::descent::{children_of, is_engines};
use super::identity::stat;
use super::members::{Leader, Relations};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// Descendants of the run that left its cgroup. They are remembered, because descent does not show them any more when
/// their parents have ended.
#[derive(Debug, Default)]
pub(super) struct Outsiders {
    /// Pids with start times.
    known: RefCell<HashMap<i32, u64>>,
}

impl Outsiders {
    /// The live descendants of these members, and of those found earlier.
    pub(super) fn beside(&self, members: &[i32]) -> Vec<i32> {
        let mut known = self.known.borrow_mut();
        known.retain(|pid, started| {
            stat(*pid).is_some_and(|stat| !stat.dead && stat.start_time == *started)
        });
        let mut seen: HashSet<i32> = members.iter().chain(known.keys()).copied().collect();
        let mut open: Vec<i32> = seen.iter().copied().collect();
        while let Some(pid) = open.pop() {
            for child in children_of(pid).into_iter().filter(|child| !is_engines(*child)) {
                let alive = stat(child).filter(|stat| !stat.dead && stat.parent == pid);
                if let Some(stat) = alive.filter(|_| seen.insert(child)) {
                    known.insert(child, stat.start_time);
                    open.push(child);
                }
            }
        }
        known.keys().copied().collect()
    }
}

/// Processes that may belong to a run whose first process has ended: they carry its id (`mark`), or are in a session
/// or group of its number. Any process can be given such an environment, so they are only named.
pub(super) fn suspects(mark: &str, leader: Leader, relations: &Relations<'_>) -> Vec<i32> {
    let census = relations.census.get_or_init(Census::take);
    let mut found: HashSet<i32> = census.with_mark(mark).iter().copied().collect();
    // While a process is in the session or group, the kernel gives that number to no new process.
    if leader.group > 0 && stat(leader.group).is_none_or(|stat| stat.dead) {
        for list in [&census.by_session, &census.by_group] {
            found.extend(list.get(&leader.group).into_iter().flatten());
        }
    }
    let own = rustix::process::getpid().as_raw_pid();
    found.retain(|pid| {
        let is_young =
            |pid| stat(pid).is_some_and(|stat| !stat.dead && stat.start_time >= relations.since);
        *pid != own
            && Some(*pid) != relations.guardian
            && !relations.leaders.contains_key(pid)
            && !relations.adopted_roots.contains(pid)
            && !relations.reapers.contains_key(pid)
            && is_young(*pid)
            && !cgroup::is_in_a_boundary(*pid, relations.boundaries)
            && !is_engines(*pid)
    });
    let mut found: Vec<i32> = found.into_iter().collect();
    found.sort_unstable();
    found
}
