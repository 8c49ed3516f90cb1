//! What may be killed for one run: its boundary, the strongest first.
//!
//! With a cgroup leaf the kernel knows the members, whatever they do. Without one, the members are the descendants of
//! the run's reaper. If the reaper was killed, the members are the root's session and process group, the root's
//! descendants, and the orphans reparented to this process that can belong to no other run. A member is never found by
//! its command line or its environment; an environment can only be a reason not to call a run extinct.

use super::cgroup::Leaf;
use super::controllers;
use super::descent::with_descendants;
use super::identity::stat;
use super::limits::RunLimits;
use super::members::{
    Leader, Members, MemoryState, Relations, among_children, has_stray_since, in_census,
    is_untouchable, sort_members,
};
use super::outsiders::{Outsiders, suspects};
use super::pane_process::PaneNote;
use super::poll::Interest;
use super::process::{Process, Signal, open_pid, signal_checked};
use super::reserved_fds;
use super::run_reaper::{self, RunReaper};
use super::spare_cgroups::OpenCgroup;
use ostler_model::{Enforced, LimitMethod};
use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the processes were killed, and how many.
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
pub(super) enum Lineage {
    /// Its orphans are reparented to this process.
    Child,
    /// An earlier supervisor started it; its orphans were reparented to another process when that supervisor died.
    Adopted,
}

/// Whether every process of the run that lives can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    Complete,
    /// Its orphans may have gone to a process that is not ours.
    Partial,
}

/// The leaf of a run.
#[derive(Debug)]
pub(super) enum Boundary {
    /// Created for this run and removed with it.
    Own(Leaf),
    /// Reused from run to run. If the kernel refuses it for this run, a leaf at `fresh` is created.
    Shared { leaf: OpenCgroup, fresh: Option<PathBuf> },
}

impl Boundary {
    /// A leaf that another run may reuse.
    pub(super) fn shared(path: PathBuf) -> Option<Self> {
        let leaf = Leaf::make(path).ok()?;
        Some(match OpenCgroup::open(leaf.clone()) {
            Ok(leaf) => Boundary::Shared { leaf, fresh: None },
            Err(_) => Boundary::Own(leaf),
        })
    }

    pub(super) fn leaf(&self) -> &Leaf {
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
    pub(super) leaf: Option<Boundary>,
    pub(super) held: Option<Box<RunLimits>>,
    /// Set if there is no leaf.
    pub(super) reaper: Option<RunReaper>,
    pub(super) lineage: Lineage,
    /// The path of the pane note, if another program (tmux) starts a process for the run.
    pub(super) pane_note: Option<PathBuf>,
    /// Only of an adopted run: the assignment of its id in its environment.
    pub(super) mark: Option<String>,
    pub(super) outsiders: Outsiders,
}

/// How many processes of an ending tree are watched one by one if the kernel cannot watch the whole.
const WATCH_MOST: usize = 32;

impl Scope {
    /// Without a boundary.
    pub(super) fn of(lineage: Lineage) -> Self {
        let (leaf, held, reaper, pane_note, mark) = (None, None, None, None, None);
        Self { leaf, held, reaper, lineage, pane_note, mark, outsiders: Outsiders::default() }
    }

    pub fn boundary(&self) -> Option<String> {
        self.leaf().map(|leaf| leaf.path().to_string_lossy().into_owned())
    }

    /// The run has no kernel boundary; its reaper holds it together.
    pub fn hold_by(&mut self, reaper: RunReaper) {
        self.reaper = Some(reaper);
    }

    /// The directory of its leaf.
    pub fn leaf_path(&self) -> Option<&Path> {
        Some(self.leaf()?.path())
    }

    pub fn reaper(&self) -> Option<&RunReaper> {
        self.reaper.as_ref()
    }

    /// Whether the kernel keeps the list of members.
    pub fn has_leaf(&self) -> bool {
        self.leaf.is_some()
    }

    /// Another program (tmux) starts the run's program, outside of the run's scope. The note names that process once it
    /// is written.
    pub fn set_pane_note(&mut self, note: PathBuf) {
        self.pane_note = Some(note);
    }

    /// The path of that note.
    pub fn pane_note(&self) -> Option<&PathBuf> {
        self.pane_note.as_ref()
    }

    /// The process that another program started, if it is alive: the pane process, which is the subreaper for its
    /// program's orphans, or the program itself.
    pub fn pane_program(&self) -> Option<i32> {
        let note = PaneNote::read(self.pane_note.as_ref()?)?;
        let pane_process = note.is_pane_process_alive().then_some(note.session);
        pane_process.or_else(|| note.is_alive().then_some(note.pid))
    }

    pub(super) fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref().map(Boundary::leaf)
    }

    /// The leaf's directory, for a child that is created in it.
    pub(super) fn open_leaf(&self) -> Option<std::io::Result<Arc<OwnedFd>>> {
        Some(match self.leaf.as_ref()? {
            Boundary::Own(leaf) => leaf.open().map(Arc::new),
            Boundary::Shared { leaf, .. } => Ok(leaf.folder()),
        })
    }

    /// The kernel refused the leaf. A reused leaf is replaced by a new one; otherwise the run has none.
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

    /// The kernel refused the leaf: fall back to the weaker boundary.
    pub(super) fn drop_leaf(&mut self) {
        if let Some(boundary) = self.leaf.take() {
            boundary.leaf().remove();
        }
        if let Some(held) = &mut self.held {
            held.drop_leaf();
        }
    }

    pub(super) fn held(&self) -> Option<&RunLimits> {
        self.held.as_deref()
    }

    pub(super) fn drop_groups(&mut self) {
        if let Some(held) = &mut self.held {
            held.drop_groups();
        }
    }

    /// How the run's limits are enforced.
    pub fn enforced(&self) -> Option<&Enforced> {
        self.held.as_ref().map(|held| &held.plan)
    }

    /// Notes that a sample of the memory use exceeded the limit.
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
            (LimitMethod::CgroupV2, Some(leaf)) => MemoryState {
                kills: controllers::memory_kills(leaf.path()),
                peak_bytes: controllers::memory_peak(leaf.path()),
                excess_bytes,
            },
            (LimitMethod::CgroupV1, _) => MemoryState {
                kills: held.memory_group().map_or(0, super::group::Group::memory_kills),
                peak_bytes: held.memory_group().and_then(super::group::Group::memory_peak),
                excess_bytes,
            },
            (LimitMethod::CgroupV2 | LimitMethod::Watch | LimitMethod::Nice, _) => {
                MemoryState { excess_bytes, ..MemoryState::default() }
            }
        })
    }

    /// The live members. A process may leave its cgroup (if it may write to another one), so the descendants of the run
    /// are searched in any case.
    pub fn members(&self, leader: Leader, relations: &Relations<'_>) -> Members {
        reserved_fds::hold_back();
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
        let mut search = Search::Complete;
        match self.reaper.as_ref().map(RunReaper::held) {
            Some(run_reaper::ReaperState::Alive(below)) => found.extend(below),
            Some(run_reaper::ReaperState::Unseen) => is_unseen = true,
            Some(run_reaper::ReaperState::ScopeEmpty) => {}
            Some(run_reaper::ReaperState::Lost) | None => {
                search = self.search(leader, relations, &mut found, &mut is_unexplained);
            }
        }
        let in_pane = self.pane_note.as_ref().and_then(|note| PaneNote::read(note));
        if let Some(note) = in_pane.filter(|note| !note.is_joined) {
            // The kernel did not let the process join the boundary. The pane process is the subreaper for the program's
            // orphans. When it has ended, its orphans are reparented elsewhere and cannot be found.
            is_unexplained |= !note.is_pane_process_alive();
            if note.is_pane_process_alive() {
                with_descendants(note.session, &mut found, &mut HashSet::new());
            }
            if note.is_alive() {
                with_descendants(note.pid, &mut found, &mut HashSet::new());
            }
        }
        found.sort_unstable();
        found.dedup();
        let memory = self.memory_state();
        let pane_session = in_pane.map_or(0, |note| note.session);
        let mut members =
            Members { is_unexplained, memory, ..sort_members(leader, pane_session, found) };
        if self.leaf.is_none() {
            let pids = members.outside.iter().map(|member| member.pid);
            let pids = pids.chain(members.inside_pids.iter().copied());
            members.untouchable = pids.filter(|pid| is_untouchable(*pid)).collect();
        }
        if is_unseen && members.is_empty() {
            // Processes exist that could not be listed, for example for lack of a descriptor: the tree is not empty.
            members.inside = 1;
        }
        if let (Search::Partial, Some(mark), true) = (search, &self.mark, members.is_empty()) {
            members.suspects = suspects(mark, leader, relations);
            members.is_unexplained |= !members.suspects.is_empty();
        }
        members
    }

    /// Searches the members that are in no boundary and have no live reaper.
    fn search(
        &self,
        leader: Leader,
        relations: &Relations<'_>,
        found: &mut Vec<i32>,
        is_unexplained: &mut bool,
    ) -> Search {
        let (searched, search) = match (self.lineage, &self.leaf) {
            // All its orphans were reparented to this process.
            (Lineage::Child, _) => {
                let has_boundary = self.leaf.is_some();
                let relations = Relations { guardian: None, has_boundary, ..*relations };
                (among_children(leader, &relations, found, is_unexplained), Search::Complete)
            }
            // The leaf keeps the list, but a process may have left it. Its orphans came to the guardian or to us, unless
            // the guardian of that time is gone too.
            (Lineage::Adopted, Some(_)) => {
                let relations = Relations { has_boundary: true, ..*relations };
                let searched = among_children(leader, &relations, found, is_unexplained);
                *is_unexplained |= has_stray_since(&relations);
                let is_complete = searched.is_some() && relations.has_guardian_since_start();
                if !is_complete {
                    found.extend(self.outsiders.beside(found));
                    found.extend(in_census(leader, &relations));
                }
                (searched, if is_complete { Search::Complete } else { Search::Partial })
            }
            // The orphans went to the guardian, or to another process if the guardian was a different one.
            (Lineage::Adopted, None) => {
                (among_children(leader, relations, found, is_unexplained), Search::Partial)
            }
        };
        // Some kernels do not list children.
        if self.leaf.is_none() && (searched.is_none() || search == Search::Partial) {
            *is_unexplained = true;
            found.extend(in_census(leader, relations));
        }
        found.extend(searched.unwrap_or_default());
        search
    }

    /// Finds the root if the run's record has no pid yet: the process in the boundary that was started first as a
    /// session leader.
    pub fn find_root(&self) -> Option<i32> {
        self.leaf()?
            .members()
            .into_iter()
            .filter_map(|pid| Some((pid, stat(pid)?)))
            .filter(|(pid, stat)| stat.session == *pid && !stat.dead)
            .min_by_key(|(_, stat)| stat.start_time)
            .map(|(pid, _)| pid)
    }

    /// Sends the stop signal to the process group, and to each member outside of it. SIGCONT follows, so that stopped
    /// processes handle it.
    pub fn ask_to_end(&self, signal: Signal, process: Option<&Process>, members: &Members) {
        for signal in [signal, Signal::Continue] {
            match process {
                Some(process) if process.signal_group(signal) => {}
                // The process leads no group, or has ended.
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

    /// Sends SIGKILL to all members. `again` lists the remaining ones, for processes that fork faster than they are
    /// listed.
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
                // The kernel has signalled the whole group; its members are ending.
                left.inside = 0;
                left.inside_pids.clear();
            }
        }
        KillReport { mode: mode.unwrap_or(if group { "pgid" } else { "pid" }), processes }
    }

    /// Signals one process if it is still the member that was found, checked after its pidfd is open.
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

    /// The run is over: no process is in the scope any more.
    pub fn remove(&self) {
        if let Some(held) = &self.held {
            held.remove();
            if self.lineage == Lineage::Adopted {
                held.remove_parents();
            }
        }
        if let Some(leaf) = self.leaf() {
            leaf.remove();
            if self.lineage == Lineage::Adopted
                && let Some(parent) = leaf.path().parent()
            {
                // The supervisor that created the directory may be gone. If not, it creates the directory again when
                // needed.
                let _ = fs::remove_dir(parent);
            }
        }
    }
}
