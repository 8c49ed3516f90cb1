//! The controllers of cgroup v2, and whether they are available in the leaves.
//!
//! A cgroup that delegates controllers to its children may contain no process itself. The instance's cgroup contains
//! none, but the cgroup this process was started in contains this process. If that cgroup contains no other process,
//! the supervisor and its guardian move to a child cgroup. Foreign processes are never moved; with one of them in the
//! cgroup, the controllers are not available.

use super::cgroup::SELF;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) memory: bool,
    pub(super) cpu: bool,
}

impl Reached {
    fn of(list: &str) -> Self {
        let has = |name| list.split_ascii_whitespace().any(|word| word == name);
        Self { memory: has("memory"), cpu: has("cpu") }
    }
}

fn listed(group: &Path, file: &str) -> Reached {
    Reached::of(&fs::read_to_string(group.join(file)).unwrap_or_default())
}

fn hand_down(group: &Path, controllers: Reached) {
    for (name, is_there) in [("+memory", controllers.memory), ("+cpu", controllers.cpu)] {
        if is_there {
            let _ = fs::write(group.join("cgroup.subtree_control"), name);
        }
    }
}

/// Delegates the available controllers to the leaves in the instance's cgroup.
pub(super) fn reach(group: &Path) -> Reached {
    let _ = fs::create_dir(group);
    let ready = listed(group, "cgroup.subtree_control");
    if ready.memory && ready.cpu {
        return ready;
    }
    if let Some(own) = group.parent()
        && !listed(group, "cgroup.controllers").memory
    {
        let there = listed(own, "cgroup.controllers");
        if there.memory && step_aside(own) {
            hand_down(own, there);
        }
    }
    hand_down(group, listed(group, "cgroup.controllers"));
    listed(group, "cgroup.subtree_control")
}

/// Returns whether the cgroup this process was started in is empty now.
fn step_aside(own: &Path) -> bool {
    let members = || {
        let list = fs::read_to_string(own.join("cgroup.procs")).unwrap_or_default();
        list.lines().filter_map(|line| line.parse::<i32>().ok()).collect::<Vec<i32>>()
    };
    // 0 stands for a process outside our pid namespace.
    if !members().iter().all(|pid| *pid > 0 && is_us(*pid)) {
        return false;
    }
    let aside = own.join(SELF);
    if fs::create_dir(&aside).is_err() && !aside.exists() {
        return false;
    }
    for pid in members() {
        let _ = fs::write(aside.join("cgroup.procs"), pid.to_string());
    }
    members().is_empty()
}

/// This process or its guardian: both execute the same file.
fn is_us(pid: i32) -> bool {
    let file = |pid: &str| {
        fs::metadata(format!("/proc/{pid}/exe")).ok().map(|file| (file.dev(), file.ino()))
    };
    file("self").is_some_and(|own| file(&pid.to_string()) == Some(own))
}

/// Limits memory without swap.
pub(super) fn limit_memory(leaf: &Path, bytes: u64) -> bool {
    if fs::write(leaf.join("memory.max"), bytes.to_string()).is_err() {
        return false;
    }
    let _ = fs::write(leaf.join("memory.swap.max"), "0");
    let _ = fs::write(leaf.join("memory.oom.group"), "1");
    true
}

pub(super) fn weigh_processor(leaf: &Path, weight: u64) -> bool {
    fs::write(leaf.join("cpu.weight"), weight.to_string()).is_ok()
}

pub(super) fn memory_kills(leaf: &Path) -> u64 {
    let text = fs::read_to_string(leaf.join("memory.events")).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill "))
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

pub(super) fn memory_peak(leaf: &Path) -> Option<u64> {
    fs::read_to_string(leaf.join("memory.peak")).ok()?.trim().parse().ok()
}

/// A descriptor that becomes ready (`POLLPRI`) when `memory.events` changes.
pub(super) fn memory_alarm(leaf: &Path) -> Option<std::os::fd::OwnedFd> {
    let mut file = fs::File::open(leaf.join("memory.events")).ok()?;
    let _ = file.read(&mut [0u8; 256]);
    Some(file.into())
}
