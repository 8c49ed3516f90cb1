//! A process that another program started for a run, and its descendants.

use super::descent::{all_pids, children_of};
use super::identity::{fingerprint_of, stat};
use super::pane_process::groups_of_run;
use super::process::{Process, Signal};
use std::collections::BTreeMap;

/// A process that forks meanwhile is searched again, at most this often.
const LOOKS_MOST: usize = 16;
const STOP: i32 = 19;
/// How long the kernel may take to end a killed process.
const KILLED_MS: u64 = 1_000;

/// Kills a process and all its descendants. It stops them first, so that no process forks or is reparented meanwhile.
pub fn kill_family(root: i32) {
    let mut family: BTreeMap<i32, Process> = BTreeMap::new();
    for _ in 0..LOOKS_MOST {
        let before = family.len();
        let mut unseen = vec![root];
        while let Some(pid) = unseen.pop() {
            unseen.extend(children_of(pid));
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

/// A live process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveProcess {
    pub pid: i32,
    pub parent: i32,
    /// Its program's name as in `/proc/PID/comm`.
    pub name: String,
}

/// The process and its descendants that are alive: parents before their children.
pub fn alive_in_family(root: i32) -> Vec<LiveProcess> {
    let mut found: Vec<LiveProcess> = Vec::new();
    let mut open = std::collections::VecDeque::from([root]);
    while let Some(pid) = open.pop_front() {
        if found.iter().any(|known| known.pid == pid) {
            continue;
        }
        let Some(stat) = stat(pid).filter(|stat| !stat.dead) else { continue };
        let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim_end().to_owned();
        found.push(LiveProcess { pid, parent: stat.parent, name });
        open.extend(children_of(pid));
    }
    found
}

/// The descendants of a process that another program started for a run. Each is held by a pidfd; the youngest comes
/// first.
#[derive(Debug, Default)]
pub struct ProcessTree {
    members: Vec<Process>,
}

impl ProcessTree {
    /// The live descendants of `root`, and the processes in this process's cgroups of the run. Never includes this
    /// process or its children.
    pub fn find(root: Option<&Process>, run: &str) -> Self {
        let own = rustix::process::getpid().as_raw_pid();
        let groups = groups_of_run(run);
        let in_groups = || -> Vec<i32> {
            let lists = groups.iter().filter_map(|members| std::fs::read_to_string(members).ok());
            lists.flat_map(|list| numbers(&list)).collect()
        };
        let mut found: Vec<(i32, Option<i32>)> = Vec::new();
        if let Some(root) = root.filter(|root| !root.has_ended()) {
            let family = alive_in_family(root.fingerprint().pid);
            // `root` has not ended, so its pid was not reused during the search.
            if !root.has_ended() {
                found.extend(family.into_iter().map(|one| (one.pid, Some(one.parent))));
            }
        }
        for pid in in_groups() {
            if !found.iter().any(|(known, _)| *known == pid) {
                found.push((pid, None));
            }
        }
        // Parents were found before their children; the rest are orphans.
        found.reverse();
        let hold = |(pid, parent): (i32, Option<i32>)| {
            let process = fingerprint_of(pid).and_then(|found| Process::open(&found))?;
            // The pidfd is open, so the pid is pinned: check that it is still the process that was found.
            let now = stat(pid)?;
            let is_meant = parent == Some(now.parent) || in_groups().contains(&pid);
            (is_meant && pid != own && now.parent != own).then_some(process)
        };
        Self { members: found.into_iter().filter_map(hold).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn signal(&self, signal: Signal) {
        for process in &self.members {
            process.signal(signal);
            // A stopped process handles no signal until SIGCONT.
            process.signal(Signal::Continue);
        }
    }

    /// Waits at most `most_ms` for all to end. Returns whether they have.
    pub fn wait_gone(&self, most_ms: u64) -> bool {
        let until = super::clock::mono_ms() + most_ms;
        self.members.iter().all(|process| {
            let left = until.saturating_sub(super::clock::mono_ms());
            matches!(process.wait_gone(Some(left)), Ok(true))
        })
    }

    /// Kills all of them, and those they started meanwhile. Returns whether none is left.
    pub fn kill(root: Option<&Process>, run: &str) -> bool {
        for _ in 0..LOOKS_MOST {
            let family = Self::find(root, run);
            if family.is_empty() {
                return true;
            }
            for process in &family.members {
                process.signal(Signal::Kill);
            }
            family.wait_gone(KILLED_MS);
        }
        Self::find(root, run).is_empty()
    }
}

fn numbers(list: &str) -> Vec<i32> {
    list.lines().filter_map(|line| line.trim().parse().ok()).filter(|pid| *pid > 0).collect()
}

fn is_marked(pid: i32, word: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|text| text.split(|byte| *byte == 0).any(|one| one == word.as_bytes()))
}

/// Kills every process whose environment contains this assignment, wherever it is in the process tree. Returns how
/// many.
pub fn kill_marked(word: &str) -> usize {
    let own = rustix::process::getpid().as_raw_pid();
    let mut killed = 0;
    // A process started meanwhile is found in the next round.
    for _ in 0..LOOKS_MOST {
        let mut found = 0;
        for pid in all_pids().filter(|pid| *pid != own && is_marked(*pid, word)) {
            let process = fingerprint_of(pid).and_then(|found| Process::open(&found));
            // The pid may have been reused.
            if let Some(process) = process.filter(|_| is_marked(pid, word)) {
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
