//! Detects that a run exceeds its memory limit: by the kernel's events if the kernel enforces the limit, else by
//! sampling the whole tree.

use super::cgroup::Leaf;
use super::controllers;
use super::group::Group;
use super::poll::Interest;
use super::scope::Scope;
use super::usage::{TreeSubject, members_of};
use ostler_model::LimitMethod;
use std::fs;
use std::os::fd::OwnedFd;

#[derive(Debug)]
pub enum MemoryAlarm {
    /// Becomes ready when the kernel has killed a process for memory.
    KernelEvent(OwnedFd, Interest),
    /// To be sampled periodically.
    Sampling(MemorySubject),
}

/// A tree with a memory limit.
#[derive(Clone, Debug)]
pub struct MemorySubject {
    pub tree: TreeSubject,
    pub most_bytes: u64,
}

impl Scope {
    /// `None` if the run has no memory limit.
    pub fn memory_alarm(&self, root: i32) -> Option<MemoryAlarm> {
        let held = self.held()?;
        let most_bytes = held.plan.resources.memory_bytes?;
        match held.plan.memory_by? {
            LimitMethod::CgroupV2 => {
                let alarm = self.leaf().map(Leaf::path).and_then(controllers::memory_alarm)?;
                Some(MemoryAlarm::KernelEvent(alarm, Interest::Change))
            }
            LimitMethod::CgroupV1 => {
                let alarm = held.memory_group().and_then(Group::memory_alarm)?;
                Some(MemoryAlarm::KernelEvent(alarm, Interest::Readable))
            }
            LimitMethod::Watch | LimitMethod::Nice => {
                let tree = TreeSubject {
                    root,
                    boundary: self.boundary(),
                    reaper: self.reaper().map(|reaper| reaper.fingerprint().pid),
                    pane_note: self.pane_note().cloned(),
                };
                Some(MemoryAlarm::Sampling(MemorySubject { tree, most_bytes }))
            }
        }
    }
}

/// Call it when the alarm is ready. Returns false if no more events can come.
pub fn rest_alarm(alarm: &OwnedFd) -> bool {
    let mut text = [0u8; 256];
    match rustix::io::pread(alarm, &mut text, 0) {
        Ok(_) => true,
        // An eventfd, not a file.
        Err(rustix::io::Errno::SPIPE) => rustix::io::read(alarm, &mut text[..8]).is_ok(),
        Err(_) => false,
    }
}

/// The memory of the whole tree; `None` if the tree is gone. Shared pages are counted once only if the simple sum
/// exceeds the limit.
pub fn memory_of(subject: &MemorySubject) -> Option<u64> {
    let members = members_of(&subject.tree);
    if members.is_empty() {
        return None;
    }
    let resident: u64 = members.iter().filter_map(|pid| resident(*pid)).sum();
    if resident <= subject.most_bytes {
        return Some(resident);
    }
    Some(members.iter().filter_map(|pid| proportional(*pid).or_else(|| self::resident(*pid))).sum())
}

fn resident(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Its proportional share of anonymous and shared memory. File pages are left out: they can be read again.
fn proportional(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().split(' ').next()?.parse::<u64>().ok()
    };
    Some((kib("Pss_Anon:")? + kib("Pss_Shmem:")?) * 1_024)
}
