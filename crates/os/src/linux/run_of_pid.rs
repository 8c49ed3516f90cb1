//! Finds the run of a process from kernel data alone.

use super::identity::stat;
use std::fs;

/// Longer than any chain of parents. Protects against a loop.
const GENERATIONS: usize = 256;

/// The cgroup and the ancestors of a process.
#[derive(Clone, Debug, Default)]
pub struct ProcessOrigin {
    /// Its cgroup path, without the mount point.
    group: Option<String>,
    /// The process, its parent, and so on.
    line: Vec<i32>,
}

pub fn origin_of(pid: i32) -> Option<ProcessOrigin> {
    let mut line = vec![pid];
    let mut current = stat(pid)?;
    while current.parent > 1 && line.len() < GENERATIONS {
        line.push(current.parent);
        match stat(current.parent) {
            Some(parent) => current = parent,
            None => break,
        }
    }
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"));
    Some(ProcessOrigin { group: group.filter(|group| group.len() > 1).map(str::to_owned), line })
}

impl ProcessOrigin {
    /// Whether the process is inside this boundary.
    pub fn is_in(&self, boundary: &str) -> bool {
        self.group.as_ref().is_some_and(|group| boundary.ends_with(group.as_str()))
    }

    /// The name of its cgroup, which may be a run's boundary.
    pub fn boundary_name(&self) -> Option<&str> {
        self.group.as_deref()?.rsplit('/').next()
    }

    /// Whether it is process `pid` or a descendant of it.
    pub fn descends_from(&self, pid: i32) -> bool {
        self.line.contains(&pid)
    }
}
