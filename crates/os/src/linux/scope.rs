//! What we may kill for one run: its boundary, strongest first.
//!
//! With a cgroup leaf the kernel knows the members, whatever they do. Without one, the members are the
//! root's session and group, what descends from the root, and the orphans that came to us as the
//! reaper of all our descendants and carry the run's id. No member is ever found by its command.

use super::cgroup::{self, Leaf};
use super::controllers;
use super::identity::{Stat, stat};
use super::limits::{Held, LimitRoom};
use super::poll::Interest;
use super::process::{Process, Signal, open_pid, signal_checked};
use super::reserve;
use super::seat::SeatNote;
use super::spare::{OpenLeaf, Spares};
use ostler_model::{Enforced, Means, Resources, RunSpec};
use rustix::process::{Pid, getpgid, getsid};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Where one instance's scopes are made.
#[derive(Debug)]
pub struct ScopeRoom {
    room: Result<PathBuf, String>,
    limits: LimitRoom,
    spares: Spares,
    /// What was killed in them was not gone yet when they were to be removed.
    dying: Vec<Leaf>,
}

impl ScopeRoom {
    pub fn open(instance: &str) -> Self {
        reserve::hold_back();
        let limits = LimitRoom::new(instance, true);
        Self { room: cgroup::make_room(instance), limits, spares: Spares::new(), dying: Vec::new() }
    }

    /// A room that has no kernel boundary to offer.
    pub fn without_boundary(instance: &str, why: &str) -> Self {
        reserve::hold_back();
        let limits = LimitRoom::new(instance, true);
        Self { room: Err(why.to_owned()), limits, spares: Spares::new(), dying: Vec::new() }
    }

    /// Limits are kept by looking only.
    pub fn without_groups(self, instance: &str) -> Self {
        Self { limits: LimitRoom::new(instance, false), ..self }
    }

    /// How a run will be kept to its limits; `None` if it has none.
    pub fn planned_limits(&self, run: &str, resources: Resources) -> Option<Box<Enforced>> {
        self.limits.plan(run, resources, self.room.as_deref().ok())
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

    /// Makes the boundary for a run, and what keeps it to its limits.
    pub fn make(&self, run: &str, tag: &str, limits: Option<&Enforced>) -> Scope {
        let leaf = self.planned(run).and_then(|path| Leaf::make(path.into()).ok());
        let held = limits.map(|plan| Held::set_up(plan, leaf.as_ref()));
        let leaf = leaf.map(Boundary::Own);
        Scope { leaf, held, tag: tag.to_owned(), lineage: Lineage::Child, seat: None }
    }

    /// The same for one that is over in a moment and is followed by others: it may have the boundary of one before
    /// it, and leaves its own to the next. What has limits has a boundary of its own, because they are set there.
    pub fn make_passing(&mut self, run: &str, tag: &str, limits: Option<&Enforced>) -> Scope {
        if limits.is_some() {
            return self.make(run, tag, limits);
        }
        let fresh = self.planned(run).map(PathBuf::from);
        let leaf = match (self.spares.take(), &fresh) {
            (Some(spare), _) => Some(Boundary::Shared { leaf: spare, fresh }),
            (None, Some(path)) => Boundary::shared(path.clone()),
            (None, None) => None,
        };
        Scope { leaf, held: None, tag: tag.to_owned(), lineage: Lineage::Child, seat: None }
    }

    /// The run is over: nothing is in it any more. What can serve another is kept.
    pub fn take_back(&mut self, mut scope: Scope) {
        match scope.leaf.take() {
            Some(Boundary::Shared { leaf, .. }) => self.spares.give_back(leaf),
            own => {
                scope.leaf = own;
                scope.remove();
            }
        }
    }

    /// Removes what was kept for runs to come, and was not needed since this was called last.
    pub fn trim(&mut self) {
        self.spares.trim();
        self.bury();
    }

    /// Removes the boundary of a run that nobody records, now or as soon as those that were killed in it are gone.
    pub fn remove_stray(&mut self, scope: &Scope) {
        scope.remove();
        self.dying.extend(scope.leaf().filter(|leaf| leaf.path().exists()).cloned());
    }

    fn bury(&mut self) {
        self.dying.retain(|leaf| {
            leaf.remove();
            leaf.path().exists()
        });
    }

    /// The boundary of a run that an earlier supervisor started.
    pub fn reopen(boundary: Option<&str>, tag: &str, limits: Option<&Enforced>) -> Scope {
        let leaf = boundary.map(|path| Leaf::at(path.into())).filter(|leaf| leaf.path().exists());
        let leaf = leaf.map(Boundary::Own);
        let held = limits.map(Held::found);
        Scope { leaf, held, tag: tag.to_owned(), lineage: Lineage::Adopted, seat: None }
    }

    /// Removes groups of ours that no live run has. How many processes had to be killed for it.
    pub fn clear_groups(&self, is_recorded: impl Fn(&str) -> bool) -> usize {
        self.limits.clear(is_recorded)
    }

    /// The boundaries of runs that are there.
    pub fn found(&self) -> Vec<String> {
        let Ok(room) = &self.room else { return Vec::new() };
        cgroup::sub_groups(room)
            .into_iter()
            .filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"))
            })
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// Removes the room, if nothing is in it any more.
    pub fn close(&mut self) {
        self.spares.clear();
        self.bury();
        self.limits.close();
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
    inside_pids: Vec<i32>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lineage {
    /// Its orphans come to us.
    Child,
    /// Its orphans went to somebody else when our predecessor died.
    Adopted,
}

/// The leaf of a run.
#[derive(Debug)]
enum Boundary {
    /// Made for it, and removed with it.
    Own(Leaf),
    /// It was another's before, or will be. If the kernel will not have it in there, `fresh` is made for it.
    Shared { leaf: OpenLeaf, fresh: Option<PathBuf> },
}

impl Boundary {
    /// One that may be another's afterwards.
    fn shared(path: PathBuf) -> Option<Self> {
        let leaf = Leaf::make(path).ok()?;
        Some(match OpenLeaf::open(leaf.clone()) {
            Ok(leaf) => Boundary::Shared { leaf, fresh: None },
            Err(_) => Boundary::Own(leaf),
        })
    }

    fn leaf(&self) -> &Leaf {
        match self {
            Boundary::Own(leaf) => leaf,
            Boundary::Shared { leaf, .. } => leaf.leaf(),
        }
    }

    fn populated(&self) -> Option<bool> {
        match self {
            Boundary::Own(leaf) => leaf.populated(),
            Boundary::Shared { leaf, .. } => leaf.populated(),
        }
    }
}

#[derive(Debug)]
pub struct Scope {
    leaf: Option<Boundary>,
    held: Option<Box<Held>>,
    /// `OSTLER_RUN_ID=…` as it stands in the environment of the run's processes.
    tag: String,
    lineage: Lineage,
    /// Where the note lies of who was started elsewhere for it, if somebody was.
    seat: Option<PathBuf>,
}

/// How many of a dying tree are watched one by one where the kernel does not watch the whole.
const WATCH_MOST: usize = 32;
/// How often a search is repeated because somebody ended under it.
const LOOKS_MOST: usize = 100;

impl Scope {
    pub fn boundary(&self) -> Option<String> {
        self.leaf().map(|leaf| leaf.path().to_string_lossy().into_owned())
    }

    /// Its program is started by somebody else, who is not ours: the note tells who that is, as soon as it is there.
    pub fn sit_at(&mut self, note: PathBuf) {
        self.seat = Some(note);
    }

    /// Where that note is.
    pub fn seat(&self) -> Option<&PathBuf> {
        self.seat.as_ref()
    }

    /// The process that was started elsewhere, if it lives.
    pub fn seated(&self) -> Option<i32> {
        let note = SeatNote::read(self.seat.as_ref()?)?;
        note.is_alive().then_some(note.pid)
    }

    pub(super) fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref().map(Boundary::leaf)
    }

    /// The leaf's folder, for one who is born there.
    pub(super) fn open_leaf(&self) -> Option<std::io::Result<Arc<OwnedFd>>> {
        Some(match self.leaf.as_ref()? {
            Boundary::Own(leaf) => leaf.open().map(Arc::new),
            Boundary::Shared { leaf, .. } => Ok(leaf.folder()),
        })
    }

    /// The kernel would not have it there: one of its own, if this one was another's before, or none.
    pub(super) fn renew_leaf(&mut self) -> Option<Arc<OwnedFd>> {
        let fresh = match &mut self.leaf {
            Some(Boundary::Shared { fresh, .. }) => fresh.take(),
            Some(Boundary::Own(_)) | None => None,
        };
        self.drop_leaf();
        self.leaf = Some(Boundary::Own(Leaf::make(fresh?).ok()?));
        match self.open_leaf() {
            Some(Ok(folder)) => Some(folder),
            Some(Err(_)) | None => {
                self.drop_leaf();
                None
            }
        }
    }

    /// The kernel would not have it; the weaker boundary it is.
    pub(super) fn drop_leaf(&mut self) {
        if let Some(boundary) = self.leaf.take() {
            boundary.leaf().remove();
        }
        if let Some(held) = &mut self.held {
            held.drop_leaf();
        }
    }

    pub(super) fn held(&self) -> Option<&Held> {
        self.held.as_deref()
    }

    pub(super) fn drop_groups(&mut self) {
        if let Some(held) = &mut self.held {
            held.drop_groups();
        }
    }

    /// How the run is kept to its limits.
    pub fn enforced(&self) -> Option<&Enforced> {
        self.held.as_ref().map(|held| &held.plan)
    }

    /// Our own look found more than it may have.
    pub fn note_excess(&self, bytes: u64) {
        if let Some(held) = &self.held {
            held.excess.set(Some(bytes));
        }
    }

    fn memory_state(&self) -> Option<MemoryState> {
        let held = self.held.as_ref()?;
        held.plan.resources.memory_bytes?;
        let excess_bytes = held.excess.get();
        Some(match (held.plan.memory_by?, self.leaf()) {
            (Means::CgroupV2, Some(leaf)) => MemoryState {
                kills: controllers::memory_kills(leaf.path()),
                peak_bytes: controllers::memory_peak(leaf.path()),
                excess_bytes,
            },
            (Means::CgroupV1, _) => MemoryState {
                kills: held.memory_group().map_or(0, super::group::Group::memory_kills),
                peak_bytes: held.memory_group().and_then(super::group::Group::memory_peak),
                excess_bytes,
            },
            (Means::CgroupV2 | Means::Watch | Means::Nice, _) => {
                MemoryState { excess_bytes, ..MemoryState::default() }
            }
        })
    }

    /// Who is alive in it. A process may leave its cgroup (whoever may write there can), so what descends
    /// from the run is looked for in any case.
    pub fn members(&self, leader: Leader, kin: &Kin<'_>) -> Members {
        reserve::hold_back();
        let mut is_unseen = false;
        let mut found = match &self.leaf {
            Some(boundary) => match boundary.populated() {
                None | Some(false) => Vec::new(),
                Some(true) => boundary.leaf().listed().unwrap_or_else(|| {
                    is_unseen = true;
                    Vec::new()
                }),
            },
            None => self.held.as_ref().map(|held| held.members()).unwrap_or_default(),
        };
        let mut is_unexplained = false;
        let searched = match self.lineage {
            Lineage::Child => self.search_children(leader, kin, &found, &mut is_unexplained),
            Lineage::Adopted => None,
        };
        match (searched, &self.leaf) {
            (Some(searched), _) => found.extend(searched),
            (None, Some(_)) => {}
            (None, None) => {
                // Our predecessor's orphans are not among our children; nor does every kernel list those.
                // One that has left the session and wiped its environment cannot be found.
                is_unexplained = true;
                found.extend(self.search_census(leader, kin));
            }
        }
        let seat = self.seat.as_ref().and_then(|note| SeatNote::read(note));
        if let Some(note) = seat.filter(|note| !note.is_joined) {
            // The kernel did not let it into the boundary, and its orphans are another's: whoever left its session and
            // wiped its environment cannot be found.
            is_unexplained = true;
            found.extend(self.search_census(leader, kin));
            if note.is_alive() {
                with_descendants(note.pid, &mut found, &mut HashSet::new());
            }
        }
        found.sort_unstable();
        found.dedup();
        let memory = self.memory_state();
        let seat = seat.map_or(0, |note| note.session);
        let mut members = Members { is_unexplained, memory, ..sort_members(leader, seat, found) };
        if is_unseen && members.is_empty() {
            // Somebody is there whom we cannot list, for want of a descriptor perhaps: not an empty tree.
            members.inside = 1;
        }
        members
    }

    /// Children are listed one look after the other, and a process that ends in between hands its own on to
    /// us behind our back. So a look in which somebody was newly found dead is taken again.
    fn search_children(
        &self,
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
                            let whose = whose(child, &stat, leader, kin, &self.tag);
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

    fn search_census(&self, leader: Leader, kin: &Kin<'_>) -> Vec<i32> {
        let mut found = self.search_one_census(leader, kin.census.get_or_init(Census::take));
        for _ in 0..LOOKS_MOST {
            let before = found.len();
            found.retain(|pid| stat(*pid).is_some_and(|stat| !stat.dead));
            if before == 0 || !found.is_empty() {
                break;
            }
            // All that were there have ended since; the last of them may have left a child.
            found = self.search_one_census(leader, &Census::take());
        }
        found
    }

    fn search_one_census(&self, leader: Leader, census: &Census) -> Vec<i32> {
        let mut found: Vec<i32> = census.by_tag.get(&self.tag).cloned().unwrap_or_default();
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

    /// The recorded intent has no pid yet: the process that was started for it, if there is one.
    pub fn find_root(&self, kin: &Kin<'_>) -> Option<i32> {
        let candidates: Vec<i32> = match self.leaf() {
            Some(leaf) => leaf.members(),
            None => {
                let census = kin.census.get_or_init(Census::take);
                census.by_tag.get(&self.tag).cloned().unwrap_or_default()
            }
        };
        candidates
            .into_iter()
            .filter_map(|pid| Some((pid, stat(pid)?)))
            .filter(|(pid, stat)| stat.session == *pid && !stat.dead)
            .min_by_key(|(_, stat)| stat.start_time)
            .map(|(pid, _)| pid)
    }

    /// TERM, or what it wants instead, to the group, and one by one to those outside it. The stopped are let run
    /// so that they hear it.
    pub fn ask_to_end(&self, signal: Signal, process: Option<&Process>, members: &Members) {
        for signal in [signal, Signal::Continue] {
            match process {
                Some(process) if process.signal_group(signal) => {}
                // It leads no group, or is no more.
                Some(_) | None => {
                    for pid in &members.inside_pids {
                        self.signal_member(*pid, signal);
                    }
                }
            }
            for member in &members.outside {
                self.signal_member(member.pid, signal);
            }
        }
    }

    /// KILL to what has left the group.
    pub fn kill_outside(&self, members: &Members) -> KillReport {
        let processes = members
            .outside
            .iter()
            .filter(|member| self.signal_member(member.pid, Signal::Kill))
            .count();
        KillReport { mode: "pid", processes }
    }

    /// KILL to everything. `again` lists who is left, for those that fork faster than they are listed.
    pub fn kill_all(&self, process: Option<&Process>, again: impl Fn() -> Members) -> KillReport {
        let members = again();
        let processes = members.len();
        let mut mode = None;
        if let Some(leaf) = self.leaf()
            && leaf.kill()
        {
            mode = Some("cgroup");
        }
        let group = process.is_some_and(|process| process.signal_group(Signal::Kill));
        let mut left = members;
        for _ in 0..64 {
            if left.is_empty() {
                break;
            }
            if !group {
                for pid in &left.inside_pids {
                    self.signal_member(*pid, Signal::Kill);
                }
            }
            for member in &left.outside {
                self.signal_member(member.pid, Signal::Kill);
            }
            left = again();
            if group {
                // The kernel has signalled the whole group; its members are dying.
                left.inside = 0;
                left.inside_pids.clear();
            }
        }
        KillReport { mode: mode.unwrap_or(if group { "pgid" } else { "pid" }), processes }
    }

    /// One process, if it still is the member it was found to be once it can be no other.
    fn signal_member(&self, pid: i32, signal: Signal) -> bool {
        let known = stat(pid);
        signal_checked(pid, signal, || match self.leaf() {
            Some(leaf) if leaf.holds(pid) => true,
            Some(_) | None => known.is_some_and(|known| {
                stat(pid).is_some_and(|now| {
                    now.start_time == known.start_time && now.session == known.session
                })
            }),
        })
    }

    pub fn watch(&self, members: impl FnOnce() -> Members) -> Watch {
        if let Some(leaf) = self.leaf()
            && let Some(source) = leaf.watch()
        {
            return Watch { sources: vec![(source, Interest::Change)] };
        }
        let members = members();
        let pids = members
            .outside
            .iter()
            .map(|member| member.pid)
            .chain(members.inside_pids.iter().copied());
        let sources = pids
            .take(WATCH_MOST)
            .filter_map(|pid| Some((open_pid(pid)?, Interest::Readable)))
            .collect();
        Watch { sources }
    }

    /// The run is over: nothing is in it any more.
    pub fn remove(&self) {
        if let Some(held) = &self.held {
            held.remove();
            if self.lineage == Lineage::Adopted {
                held.remove_rooms();
            }
        }
        if let Some(leaf) = self.leaf() {
            leaf.remove();
            if self.lineage == Lineage::Adopted
                && let Some(room) = leaf.path().parent()
            {
                // Its maker may be gone for good; if not, it makes the room again when it needs it.
                let _ = fs::remove_dir(room);
            }
        }
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

/// One look at all processes of the machine: who is in which session and group, and who carries which
/// run's id. One serves many runs.
#[derive(Debug, Default)]
pub struct Census {
    by_session: HashMap<i32, Vec<i32>>,
    by_group: HashMap<i32, Vec<i32>>,
    by_tag: HashMap<String, Vec<i32>>,
}

impl Census {
    pub fn take() -> Self {
        let mut census = Self::default();
        for pid in all_pids() {
            let Some(stat) = stat(pid).filter(|stat| !stat.dead) else { continue };
            census.by_session.entry(stat.session).or_default().push(pid);
            census.by_group.entry(stat.group).or_default().push(pid);
            if let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) {
                let tags = environment
                    .split(|byte| *byte == 0)
                    .filter(|entry| entry.starts_with(RunSpec::RUN_ID_VARIABLE.as_bytes()));
                for tag in tags {
                    let tag = String::from_utf8_lossy(tag).into_owned();
                    census.by_tag.entry(tag).or_default().push(pid);
                }
            }
        }
        census
    }
}

fn belongs(leader: Leader, stat: &Stat) -> bool {
    leader.is_pinned && (stat.session == leader.group || stat.group == leader.group)
}

/// By the group each is in now; of a program that has a terminal of another's, by the kernel's session that it leads there:
/// a shell gives each of its jobs a group. Corpses that wait for their parent are not alive.
fn sort_members(leader: Leader, seat: i32, pids: Vec<i32>) -> Members {
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

fn all_pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// `None` where the kernel does not tell.
pub(super) fn children_of(pid: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut told = false;
    for task in tasks.flatten() {
        if let Ok(list) = fs::read_to_string(task.path().join("children")) {
            told = true;
            children
                .extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    told.then_some(children)
}

/// Children of ours that nobody here has made. The kernel gives an orphan to the first thread that lives, and
/// keeps a child on the list of the thread that made it: where that is another than the first
/// (`beside_first_thread`), a thousand runs need not be looked through for one orphan.
fn orphans() -> Option<Vec<i32>> {
    let pid = rustix::process::getpid().as_raw_pid();
    let own = rustix::thread::gettid().as_raw_pid();
    if own != pid
        && let Some(children) = first_threads_children(pid)
    {
        return Some(children);
    }
    let mut children = Vec::new();
    let mut is_told = false;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let is_own = task.file_name().to_str() == Some(&own.to_string());
        if is_own && own != pid {
            continue;
        }
        if let Ok(list) = fs::read_to_string(task.path().join("children")) {
            is_told = true;
            children
                .extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    is_told.then_some(children)
}

/// The first thread lives as long as we do, so that all orphans come to it. Asked at each end of each run: the file
/// is held open. `None` where the kernel does not tell.
fn first_threads_children(pid: i32) -> Option<Vec<i32>> {
    static CHILDREN: OnceLock<Option<fs::File>> = OnceLock::new();
    let open = || fs::File::open(format!("/proc/{pid}/task/{pid}/children")).ok();
    let file = CHILDREN.get_or_init(open).as_ref()?;
    let mut text = Vec::new();
    let mut buffer = [0u8; 4096];
    loop {
        match file.read_at(&mut buffer, text.len() as u64) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(&buffer[..length]),
            Err(_) => return None,
        }
    }
    let text = String::from_utf8(text).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

fn with_descendants(pid: i32, found: &mut Vec<i32>, dead: &mut HashSet<i32>) {
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        if stat(pid).is_none_or(|stat| stat.dead) {
            dead.insert(pid);
            continue;
        }
        found.push(pid);
        open.extend(children_of(pid).unwrap_or_default());
    }
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

/// The run's id that a process was started with, as it stands in its environment. While it executes
/// another program there is an instant in which it shows none.
pub(super) fn carried(pid: i32) -> Option<Vec<u8>> {
    const TRIES: u32 = 20;
    for _ in 0..TRIES {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        if !environment.is_empty() {
            return environment
                .split(|byte| *byte == 0)
                .find(|entry| entry.starts_with(RunSpec::RUN_ID_VARIABLE.as_bytes()))
                .map(<[u8]>::to_vec);
        }
        super::pipe::nap(std::time::Duration::from_micros(100));
    }
    None
}
