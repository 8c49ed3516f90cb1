//! The live members of a scope. Without a boundary and without a reaper, members are found by the root's session and
//! process group, and by descent. A process's environment is not evidence: any process can set it.

use super::census::Census;
use super::cgroup::{self, Boundaries};
use super::descent::{LOOKS_MOST, children_of, is_engines, orphans, with_descendants};
use super::identity::{Stat, stat};
use ostler_model::RunId;
use rustix::process::{Pid, getpgid, getsid, test_kill_process};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A process of a run that has left the root's process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub pid: i32,
    pub group: i32,
    pub session: i32,
}

/// The live processes of a scope.
#[derive(Clone, Debug, Default)]
pub struct Members {
    pub inside: usize,
    pub outside: Vec<Member>,
    pub(super) inside_pids: Vec<i32>,
    /// A process may be left that cannot be assigned to this run or to another.
    pub is_unexplained: bool,
    /// Processes that may belong to this run, but nothing proves it. They are named and never signalled.
    pub suspects: Vec<i32>,
    /// Processes that the kernel does not let us signal, because they changed to another user.
    pub untouchable: Vec<i32>,
    /// Set if the scope has a memory limit.
    pub memory: Option<MemoryState>,
}

/// The state of a run's memory limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// How many of its processes the kernel has killed for exceeding the limit, in total.
    pub kills: u64,
    pub peak_bytes: Option<u64>,
    /// The memory in use when the supervisor last sampled it, if that exceeds the limit.
    pub excess_bytes: Option<u64>,
}

impl Members {
    pub fn is_empty(&self) -> bool {
        self.inside == 0 && self.outside.is_empty()
    }

    /// Whether this process is a member.
    pub fn has(&self, pid: i32) -> bool {
        self.inside_pids.contains(&pid) || self.outside.iter().any(|member| member.pid == pid)
    }

    pub fn pids(&self) -> Vec<i32> {
        let outside = self.outside.iter().map(|member| member.pid);
        self.inside_pids.iter().copied().chain(outside).collect()
    }

    pub fn len(&self) -> usize {
        self.inside + self.outside.len()
    }
}

/// The process group id of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leader {
    pub group: i32,
    /// The id cannot be reused: the first process is alive, or only children of this process are examined.
    pub is_pinned: bool,
}

/// What is known of the other processes, for a search of members.
#[derive(Clone, Copy)]
pub struct Relations<'a> {
    /// The first processes of all runs of this supervisor.
    pub leaders: &'a HashMap<i32, RunId>,
    /// The live first processes of the runs of earlier supervisors.
    pub adopted_roots: &'a HashSet<i32>,
    /// The reapers of all runs, with their start times.
    pub reapers: &'a HashMap<i32, u64>,
    /// Our parent, if it is the subreaper for the orphans of an earlier supervisor.
    pub guardian: Option<i32>,
    /// Unknown children of this process, with their start times.
    pub strays: &'a HashSet<(i32, u64)>,
    /// When this run's first process started, in the kernel's ticks. An older process is not part of the run.
    pub since: u64,
    /// The start time of the oldest other run that an orphan could belong to.
    pub others_since: &'a dyn Fn() -> Option<u64>,
    /// The boundaries of the live runs.
    pub boundaries: &'a dyn Boundaries,
    /// The kernel keeps this run together: a child of ours that no run is known by came out of another run.
    pub has_boundary: bool,
    /// A snapshot of all processes, taken on first use.
    pub census: &'a OnceCell<Census>,
}

impl Relations<'_> {
    /// Whether the guardian is older than the run: then all orphans of the run came to it or to this process.
    pub fn has_guardian_since_start(&self) -> bool {
        let started = self.guardian.and_then(stat).map(|stat| stat.start_time);
        started.is_some_and(|started| started <= self.since)
    }
}

impl fmt::Debug for Relations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relations").field("since", &self.since).finish_non_exhaustive()
    }
}

/// Children of this process that it did not start, and orphans of the earlier supervisor that were reparented to the
/// guardian. `None` if the kernel does not report them.
pub(super) fn left_to_us(guardian: Option<i32>) -> Option<Vec<i32>> {
    let mut children = orphans()?;
    let own = rustix::process::getpid().as_raw_pid();
    let of_guardian = guardian.map(children_of).unwrap_or_default();
    children.extend(of_guardian.into_iter().filter(|pid| *pid != own));
    Some(children)
}

/// Children are listed one process after the other. A process that ends in between leaves its children to us unnoticed.
/// So a pass that finds a newly dead process is repeated.
pub(super) fn among_children(
    leader: Leader,
    relations: &Relations<'_>,
    in_leaf: &[i32],
    is_unexplained: &mut bool,
) -> Option<Vec<i32>> {
    // Members of the leaf are known from the kernel and need no second check; a tree may have thousands.
    let in_leaf: HashSet<i32> = in_leaf.iter().copied().collect();
    let mut dead = HashSet::new();
    let mut found = Vec::new();
    for _ in 0..LOOKS_MOST {
        let known_dead = dead.len();
        found.clear();
        *is_unexplained = false;
        let mut children = left_to_us(relations.guardian)?;
        if leader.is_pinned && relations.leaders.contains_key(&leader.group) {
            children.push(leader.group);
        }
        for child in children {
            if in_leaf.contains(&child) {
                continue;
            }
            let ours = (leader.is_pinned && child == leader.group)
                || (!relations.leaders.contains_key(&child)
                    && !relations.adopted_roots.contains(&child)
                    && stat(child).is_some_and(|stat| {
                        if relations.reapers.get(&child) == Some(&stat.start_time) {
                            return false;
                        }
                        let run_of_pid = run_of_pid(child, &stat, leader, relations);
                        *is_unexplained |= run_of_pid == MemberOf::Unknown;
                        run_of_pid == MemberOf::Ours
                    }));
            if ours {
                with_descendants(child, &mut found, &mut dead);
            }
        }
        if dead.len() == known_dead {
            break;
        }
    }
    Some(found)
}

/// Whether a stray lives that began after this run's first process.
pub(super) fn has_stray_since(relations: &Relations<'_>) -> bool {
    let lives = |pid: i32, started: u64| {
        stat(pid).is_some_and(|stat| !stat.dead && stat.start_time == started)
    };
    let mut strays = relations.strays.iter();
    strays.any(|(pid, started)| *started >= relations.since && lives(*pid, *started))
}

/// The leader's session and group, and all their descendants.
pub(super) fn in_census(leader: Leader, relations: &Relations<'_>) -> Vec<i32> {
    let mut found = in_one_census(leader, relations.census.get_or_init(Census::take));
    for _ in 0..LOOKS_MOST {
        let before = found.len();
        found.retain(|pid| stat(*pid).is_some_and(|stat| !stat.dead));
        if before == 0 || !found.is_empty() {
            break;
        }
        // All of them have ended since; the last one may have left a child.
        found = in_one_census(leader, &Census::take());
    }
    found
}

fn in_one_census(leader: Leader, census: &Census) -> Vec<i32> {
    if !leader.is_pinned {
        return Vec::new();
    }
    let (mut found, mut dead) = (Vec::new(), HashSet::new());
    let session = census.by_session.get(&leader.group).into_iter().flatten();
    for pid in session.chain(census.by_group.get(&leader.group).into_iter().flatten()) {
        with_descendants(*pid, &mut found, &mut dead);
    }
    found.sort_unstable();
    found.dedup();
    let own = rustix::process::getpid().as_raw_pid();
    found.retain(|pid| *pid != own);
    found
}

fn belongs(leader: Leader, stat: &Stat) -> bool {
    leader.is_pinned && (stat.session == leader.group || stat.group == leader.group)
}

/// Sorts processes by their current process group. If another program (tmux) owns the run's terminal, a process in the
/// terminal's session is inside too: a shell gives each of its jobs its own group. Zombies are not alive.
pub(super) fn sort_members(leader: Leader, pane_session: i32, pids: Vec<i32>) -> Members {
    let mut members = Members::default();
    for pid in pids {
        let Some(group) = Pid::from_raw(pid).and_then(|pid| getpgid(Some(pid)).ok()) else {
            continue;
        };
        let group = group.as_raw_pid();
        let session = || {
            Pid::from_raw(pid)
                .and_then(|pid| getsid(Some(pid)).ok())
                .map_or(0, rustix::process::Pid::as_raw_pid)
        };
        if group == leader.group || (pane_session > 0 && session() == pane_session) {
            members.inside += 1;
            members.inside_pids.push(pid);
        } else {
            members.outside.push(Member { pid, group, session: session() });
        }
    }
    members
}

/// Whether the kernel refuses us to signal this process.
pub fn is_untouchable(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::PERM))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberOf {
    Ours,
    Another,
    /// Of some run, but nothing shows of which.
    Unknown,
}

/// The run of an orphan that was reparented to us, from kernel data alone.
fn run_of_pid(pid: i32, stat: &Stat, leader: Leader, relations: &Relations<'_>) -> MemberOf {
    if stat.dead || belongs(leader, stat) {
        return MemberOf::Ours;
    }
    if relations.leaders.contains_key(&stat.session) || relations.leaders.contains_key(&stat.group)
    {
        return MemberOf::Another;
    }
    // A process cannot be older than its ancestor.
    if stat.start_time < relations.since
        || cgroup::is_in_a_boundary(pid, relations.boundaries)
        || is_engines(pid)
    {
        return MemberOf::Another;
    }
    if relations.strays.contains(&(pid, stat.start_time)) {
        return if relations.has_boundary { MemberOf::Another } else { MemberOf::Unknown };
    }
    match (relations.others_since)() {
        Some(since) if stat.start_time >= since => MemberOf::Unknown,
        Some(_) | None => MemberOf::Ours,
    }
}
