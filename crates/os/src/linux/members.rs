//! Who is alive in a scope, and how those are found who are in no boundary: by the root's session and group, by descent,
//! and by the run's id that they carry.

use super::census::Census;
use super::cgroup;
use super::descent::{carried, orphans, with_descendants};
use super::identity::{Stat, stat};
use rustix::process::{Pid, getpgid, getsid};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// How often a search is repeated because somebody ended under it.
const LOOKS_MOST: usize = 100;

/// A process of a run that has left the root's group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub pid: i32,
    pub group: i32,
    pub session: i32,
}

/// Who is alive in a scope.
#[derive(Clone, Debug, Default)]
pub struct Members {
    pub inside: usize,
    pub outside: Vec<Member>,
    pub(super) inside_pids: Vec<i32>,
    /// Somebody may be left whom nothing ties to this run or to another.
    pub is_unexplained: bool,
    /// Of one that has a limit on memory.
    pub memory: Option<MemoryState>,
}

/// How a run stands with its limit on memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// How many of its processes the kernel has killed for it, ever.
    pub kills: u64,
    pub peak_bytes: Option<u64>,
    /// What our own look found, if that was more than it may have.
    pub excess_bytes: Option<u64>,
}

impl Members {
    pub fn is_empty(&self) -> bool {
        self.inside == 0 && self.outside.is_empty()
    }

    /// Whether this process is one of them.
    pub fn has(&self, pid: i32) -> bool {
        self.inside_pids.contains(&pid) || self.outside.iter().any(|member| member.pid == pid)
    }

    pub fn len(&self) -> usize {
        self.inside + self.outside.len()
    }
}

/// The number of a run's process group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leader {
    pub group: i32,
    /// The number can mean no other: its first process lives, or nobody but our own children is looked at.
    pub is_pinned: bool,
}

/// What is known of everyone else, when members have to be searched for.
#[derive(Clone, Copy, Debug)]
pub struct Kin<'a> {
    /// The first processes of all our runs.
    pub leaders: &'a HashMap<i32, ostler_model::RunId>,
    /// There is no other run, so an orphan nobody can tell is this one's.
    pub alone: bool,
    /// One look at all processes, taken when the first one needs it.
    pub census: &'a OnceCell<Census>,
}

/// Children are listed one look after the other, and a process that ends in between hands its own on to
/// us behind our back. So a look in which somebody was newly found dead is taken again.
pub(super) fn among_children(
    tag: &str,
    leader: Leader,
    kin: &Kin<'_>,
    in_leaf: &[i32],
    is_unexplained: &mut bool,
) -> Option<Vec<i32>> {
    // Those the kernel keeps for us need no second look; a tree may have thousands.
    let in_leaf: HashSet<i32> = in_leaf.iter().copied().collect();
    let mut dead = HashSet::new();
    let mut found = Vec::new();
    for _ in 0..LOOKS_MOST {
        let known_dead = dead.len();
        found.clear();
        *is_unexplained = false;
        let mut children = orphans()?;
        if leader.is_pinned && kin.leaders.contains_key(&leader.group) {
            children.push(leader.group);
        }
        for child in children {
            if in_leaf.contains(&child) {
                continue;
            }
            let ours = (leader.is_pinned && child == leader.group)
                || (!kin.leaders.contains_key(&child)
                    && stat(child).is_some_and(|stat| {
                        let whose = whose(child, &stat, leader, kin, tag);
                        *is_unexplained |= whose == Whose::Unknown && !kin.alone;
                        match whose {
                            Whose::Ours => true,
                            Whose::Unknown => kin.alone,
                            Whose::Another => false,
                        }
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

pub(super) fn in_census(tag: &str, leader: Leader, kin: &Kin<'_>) -> Vec<i32> {
    let mut found = in_one_census(tag, leader, kin.census.get_or_init(Census::take));
    for _ in 0..LOOKS_MOST {
        let before = found.len();
        found.retain(|pid| stat(*pid).is_some_and(|stat| !stat.dead));
        if before == 0 || !found.is_empty() {
            break;
        }
        // All that were there have ended since; the last of them may have left a child.
        found = in_one_census(tag, leader, &Census::take());
    }
    found
}

fn in_one_census(tag: &str, leader: Leader, census: &Census) -> Vec<i32> {
    let mut found: Vec<i32> = census.by_tag.get(tag).cloned().unwrap_or_default();
    if leader.is_pinned {
        found.extend(census.by_session.get(&leader.group).into_iter().flatten());
        found.extend(census.by_group.get(&leader.group).into_iter().flatten());
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

/// By the group each is in now; of a program that has a terminal of another's, by the kernel's session that it leads there:
/// a shell gives each of its jobs a group. Corpses that wait for their parent are not alive.
pub(super) fn sort_members(leader: Leader, seat: i32, pids: Vec<i32>) -> Members {
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
        if group == leader.group || (seat > 0 && session() == seat) {
            members.inside += 1;
            members.inside_pids.push(pid);
        } else {
            members.outside.push(Member { pid, group, session: session() });
        }
    }
    members
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Ours,
    Another,
    /// Of one of our runs, but it has left everything by which one could tell.
    Unknown,
}

/// Which run an orphan that came to us is of.
fn whose(pid: i32, stat: &Stat, leader: Leader, kin: &Kin<'_>, tag: &str) -> Whose {
    if stat.dead || belongs(leader, stat) {
        return Whose::Ours;
    }
    if kin.leaders.contains_key(&stat.session) || kin.leaders.contains_key(&stat.group) {
        return Whose::Another;
    }
    match carried(pid) {
        Some(carried) if carried == tag.as_bytes() => Whose::Ours,
        Some(_) => Whose::Another,
        None if cgroup::is_in_some_leaf(pid) => Whose::Another,
        None => Whose::Unknown,
    }
}
