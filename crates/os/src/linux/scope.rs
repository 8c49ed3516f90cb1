//! What we may kill for one run: its boundary, strongest first.
//!
//! With a cgroup leaf the kernel knows the members, whatever they do. Without one, the members are the
//! root's session and group, what descends from the root, and the orphans that came to us as the
//! reaper of all our descendants and carry the run's id. No member is ever found by its command.

use super::cgroup::{self, Leaf};
use super::identity::{Stat, stat};
use super::process::{Process, Signal, open_pid, signal_checked};
use super::poll::Interest;
use rustix::process::{Pid, getpgid, getsid};
use std::collections::HashSet;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where one instance's scopes are made.
#[derive(Debug)]
pub struct ScopeRoom {
    room: Result<PathBuf, String>,
}

impl ScopeRoom {
    pub fn open(instance: &str) -> Self {
        Self { room: cgroup::make_room(instance) }
    }

    /// A room that has no kernel boundary to offer.
    pub fn without_boundary(why: &str) -> Self {
        Self { room: Err(why.to_owned()) }
    }

    /// Why runs get no kernel boundary here.
    pub fn why_no_boundary(&self) -> Option<&str> {
        self.room.as_ref().err().map(String::as_str)
    }

    /// The boundary a run will have, so that it can be recorded before there is a process in it.
    pub fn planned(&self, run: &str) -> Option<String> {
        let room = self.room.as_ref().ok()?;
        Some(room.join(format!("run-{run}")).to_string_lossy().into_owned())
    }

    /// Makes the boundary for a run.
    pub fn make(&self, run: &str, tag: &str) -> Scope {
        let leaf = self.planned(run).and_then(|path| Leaf::make(path.into()).ok());
        Scope { leaf, tag: tag.to_owned(), lineage: Lineage::Child }
    }

    /// The boundary of a run that an earlier supervisor started.
    pub fn reopen(boundary: Option<&str>, tag: &str) -> Scope {
        let leaf = boundary.map(|path| Leaf::at(path.into())).filter(|leaf| leaf.path().exists());
        Scope { leaf, tag: tag.to_owned(), lineage: Lineage::Adopted }
    }

    /// The run ids of all boundaries that are there, and each boundary's name.
    pub fn found(&self) -> Vec<(String, String)> {
        let Ok(room) = &self.room else { return Vec::new() };
        cgroup::sub_groups(room)
            .into_iter()
            .filter_map(|path| {
                let run = path.file_name()?.to_str()?.strip_prefix("run-")?.to_owned();
                Some((run, path.to_string_lossy().into_owned()))
            })
            .collect()
    }

    /// Removes the room, if nothing is in it any more.
    pub fn close(&self) {
        if let Ok(room) = &self.room {
            let _ = fs::remove_dir(room);
        }
    }
}

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
    inside_some: Vec<i32>,
}

impl Members {
    pub fn is_empty(&self) -> bool {
        self.inside == 0 && self.outside.is_empty()
    }

    pub fn len(&self) -> usize {
        self.inside + self.outside.len()
    }
}

/// What a KILL went through, and how many it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillReport {
    pub mode: &'static str,
    pub processes: usize,
}

/// Descriptors that become ready when the scope may have changed.
#[derive(Debug)]
pub struct Watch {
    pub sources: Vec<(OwnedFd, Interest)>,
}

impl Watch {
    /// After a change was told, so that the next is told too.
    pub fn rearm(&self) {
        for (source, interest) in &self.sources {
            if *interest == Interest::Change {
                cgroup::rearm(source.as_fd());
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lineage {
    /// Its orphans come to us.
    Child,
    /// Its orphans went to somebody else when our predecessor died.
    Adopted,
}

#[derive(Debug)]
pub struct Scope {
    leaf: Option<Leaf>,
    /// `OSTLER_RUN_ID=…` as it stands in the environment of the run's processes.
    tag: String,
    lineage: Lineage,
}

/// How many of a dying tree are watched one by one where the kernel does not watch the whole.
const WATCH_MOST: usize = 32;

impl Scope {
    pub fn boundary(&self) -> Option<String> {
        self.leaf.as_ref().map(|leaf| leaf.path().to_string_lossy().into_owned())
    }

    pub(super) fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref()
    }

    /// The kernel would not have it; the weaker boundary it is.
    pub(super) fn drop_leaf(&mut self) {
        if let Some(leaf) = self.leaf.take() {
            leaf.remove();
        }
    }

    /// Who is alive in it. `leaders` are the first processes of all our runs; `alone` says that no other
    /// run without a kernel boundary is there, so an orphan nobody can tell must be this one's.
    pub fn members(&self, leader: i32, leaders: &HashSet<i32>, alone: bool) -> Members {
        match &self.leaf {
            Some(leaf) => match leaf.populated() {
                None | Some(false) => Members::default(),
                Some(true) => sort_members(leader, leaf.members()),
            },
            None => match self.lineage {
                Lineage::Child => self.search_children(leader, leaders, alone),
                Lineage::Adopted => self.search_everywhere(leader),
            },
        }
    }

    fn search_children(&self, leader: i32, leaders: &HashSet<i32>, alone: bool) -> Members {
        let mut found = Vec::new();
        let Some(own) = children_of(rustix::process::getpid().as_raw_pid()) else {
            // This kernel does not list children.
            return self.search_everywhere(leader);
        };
        for child in own {
            let ours = child == leader
                || (!leaders.contains(&child)
                    && stat(child).is_some_and(|stat| {
                        alone || belongs(leader, &stat) || carries(child, &self.tag)
                    }));
            if ours {
                with_descendants(child, &mut found);
            }
        }
        sort_members(leader, found)
    }

    fn search_everywhere(&self, leader: i32) -> Members {
        let own = rustix::process::getpid().as_raw_pid();
        let found = all_pids()
            .filter(|pid| *pid != own)
            .filter(|pid| {
                stat(*pid).is_some_and(|stat| !stat.dead && belongs(leader, &stat))
                    || carries(*pid, &self.tag)
            })
            .collect();
        sort_members(leader, found)
    }

    /// The recorded intent has no pid yet: the process that was started for it, if there is one.
    pub fn find_root(&self) -> Option<i32> {
        let candidates: Vec<i32> = match &self.leaf {
            Some(leaf) => leaf.members(),
            None => all_pids().filter(|pid| carries(*pid, &self.tag)).collect(),
        };
        candidates
            .into_iter()
            .filter_map(|pid| Some((pid, stat(pid)?)))
            .filter(|(pid, stat)| stat.session == *pid && !stat.dead)
            .min_by_key(|(_, stat)| stat.start_time)
            .map(|(pid, _)| pid)
    }

    /// TERM to the group, and one by one to those outside it. The stopped are let run so that they hear it.
    pub fn term(&self, process: &Process, members: &Members) {
        for signal in [Signal::Term, Signal::Continue] {
            process.signal_group(signal);
            for member in &members.outside {
                self.signal_member(member, signal);
            }
        }
    }

    /// KILL to what has left the group.
    pub fn kill_outside(&self, members: &Members) -> KillReport {
        let processes =
            members.outside.iter().filter(|member| self.signal_member(member, Signal::Kill)).count();
        KillReport { mode: "pid", processes }
    }

    /// KILL to everything. `again` lists who is left, for those that fork faster than they are listed.
    pub fn kill_all(&self, process: Option<&Process>, again: impl Fn() -> Members) -> KillReport {
        let members = again();
        let processes = members.len();
        if let Some(leaf) = &self.leaf
            && leaf.kill()
        {
            return KillReport { mode: "cgroup", processes };
        }
        let group = process.is_some_and(|process| process.signal_group(Signal::Kill));
        let mut outside = members.outside;
        for _ in 0..64 {
            if outside.is_empty() {
                break;
            }
            for member in &outside {
                self.signal_member(member, Signal::Kill);
            }
            outside = again().outside;
        }
        KillReport { mode: if group { "pgid" } else { "pid" }, processes }
    }

    fn signal_member(&self, member: &Member, signal: Signal) -> bool {
        let known = stat(member.pid);
        signal_checked(member.pid, signal, || match &self.leaf {
            Some(leaf) => leaf.holds(member.pid),
            None => known.is_some_and(|known| {
                stat(member.pid).is_some_and(|now| {
                    now.start_time == known.start_time
                        && now.group == member.group
                        && now.session == member.session
                })
            }),
        })
    }

    pub fn watch(&self, members: &Members) -> Watch {
        if let Some(leaf) = &self.leaf
            && let Some(source) = leaf.watch()
        {
            return Watch { sources: vec![(source, Interest::Change)] };
        }
        let pids = members.outside.iter().map(|member| member.pid).chain(members.inside_some.iter().copied());
        let sources = pids
            .take(WATCH_MOST)
            .filter_map(|pid| Some((open_pid(pid)?, Interest::Readable)))
            .collect();
        Watch { sources }
    }

    /// The run is over: nothing is in it any more.
    pub fn remove(&self) {
        if let Some(leaf) = &self.leaf {
            leaf.remove();
        }
    }
}

fn belongs(leader: i32, stat: &Stat) -> bool {
    leader > 0 && (stat.session == leader || stat.group == leader)
}

/// By the group each is in now. Corpses that wait for their parent are not alive.
fn sort_members(leader: i32, pids: Vec<i32>) -> Members {
    let mut members = Members::default();
    for pid in pids {
        let Some(group) = Pid::from_raw(pid).and_then(|pid| getpgid(Some(pid)).ok()) else { continue };
        let group = group.as_raw_pid();
        if group == leader {
            members.inside += 1;
            if members.inside_some.len() < WATCH_MOST {
                members.inside_some.push(pid);
            }
        } else {
            let session = Pid::from_raw(pid)
                .and_then(|pid| getsid(Some(pid)).ok())
                .map_or(0, rustix::process::Pid::as_raw_pid);
            members.outside.push(Member { pid, group, session });
        }
    }
    members
}

fn all_pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// `None` where the kernel does not tell.
fn children_of(pid: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut told = false;
    for task in tasks.flatten() {
        if let Ok(list) = fs::read_to_string(task.path().join("children")) {
            told = true;
            children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    told.then_some(children)
}

fn with_descendants(pid: i32, found: &mut Vec<i32>) {
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        if stat(pid).is_none_or(|stat| stat.dead) {
            continue;
        }
        found.push(pid);
        open.extend(children_of(pid).unwrap_or_default());
    }
}

/// Whether the process was started with the run's id in its environment.
fn carries(pid: i32, tag: &str) -> bool {
    fs::read(Path::new("/proc").join(pid.to_string()).join("environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|entry| entry == tag.as_bytes()))
}
