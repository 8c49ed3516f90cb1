//! Cgroups of version 1: one hierarchy for each controller, beside the boundary. They only count and limit. A run joins
//! its cgroups before it executes.

use super::cgroup::{sub_groups, unescape};
use super::process::{Signal, signal_checked};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// This process's cgroup in the hierarchy of a controller, if there is one.
fn own_group(controller: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (root, mount) = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut kind = after.split(' ');
        let is_v1 = kind.next() == Some("cgroup");
        let options = kind.nth(1)?;
        let mut fields = before.split(' ').skip(3);
        (is_v1 && options.split(',').any(|option| option == controller))
            .then(|| Some((unescape(fields.next()?), unescape(fields.next()?))))?
    })?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let has = fields.next()?.split(',').any(|name| name == controller);
        has.then(|| fields.next())?
    })?;
    // In a container only a part of the hierarchy may be mounted.
    let own = if root == "/" { own } else { own.strip_prefix(&root).unwrap_or(own) };
    Some(Path::new(&mount).join(own.trim_start_matches('/')))
}

/// The parent of one instance's cgroups of a controller.
pub(super) fn parent_group(controller: &str, instance: &str) -> Option<PathBuf> {
    Some(own_group(controller)?.join(format!("ostler-{instance}")))
}

/// Whether cgroups can be created there. Leaves the empty parent, which is removed with the last cgroup in it.
pub(super) fn can_make(parent: &Path, limit: &str) -> bool {
    match fs::create_dir(parent) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(_) => return false,
    }
    let usable = fs::OpenOptions::new().write(true).open(parent.join(limit)).is_ok();
    if !usable {
        let _ = fs::remove_dir(parent);
    }
    usable
}

/// One run's cgroup in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    path: PathBuf,
}

impl Group {
    pub(super) fn at(path: &str) -> Self {
        Self { path: path.into() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn make(&self) -> io::Result<()> {
        match fs::create_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn is_for_memory(&self) -> bool {
        self.path.join("memory.limit_in_bytes").exists()
    }

    /// Limits memory and swap together, if swap is counted: otherwise swap would bypass the limit.
    pub(super) fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        fs::write(self.path.join("memory.limit_in_bytes"), bytes.to_string())?;
        let _ = fs::write(self.path.join("memory.memsw.limit_in_bytes"), bytes.to_string());
        Ok(())
    }

    pub(super) fn share_processor(&self, shares: u64) -> io::Result<()> {
        fs::write(self.path.join("cpu.shares"), shares.clamp(2, 262_144).to_string())
    }

    pub(super) fn open_members(&self) -> io::Result<OwnedFd> {
        Ok(fs::OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))?.into())
    }

    pub(super) fn members(&self) -> Vec<i32> {
        let mut members = Vec::new();
        super::cgroup::collect_members(&self.path, &mut members);
        members
    }

    pub(super) fn memory_kills(&self) -> u64 {
        let text = fs::read_to_string(self.path.join("memory.oom_control")).unwrap_or_default();
        text.lines()
            .find_map(|line| line.strip_prefix("oom_kill "))
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    }

    pub(super) fn memory_peak(&self) -> Option<u64> {
        let text = fs::read_to_string(self.path.join("memory.max_usage_in_bytes")).ok()?;
        text.trim().parse().ok()
    }

    /// A descriptor that becomes readable when the cgroup runs out of memory.
    pub(super) fn memory_alarm(&self) -> Option<OwnedFd> {
        use rustix::event::{EventfdFlags, eventfd};
        use std::os::fd::AsRawFd;
        let alarm = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
        let control = fs::File::open(self.path.join("memory.oom_control")).ok()?;
        let line = format!("{} {}", alarm.as_raw_fd(), control.as_raw_fd());
        fs::write(self.path.join("cgroup.event_control"), line).ok()?;
        Some(alarm)
    }

    /// Kills every process that is in the cgroup. Returns how many.
    pub(super) fn kill_members(&self) -> usize {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_in = |pid: i32| {
            fs::read_to_string(format!("/proc/{pid}/cgroup"))
                .is_ok_and(|groups| groups.split(['/', '\n']).any(|part| part == name))
        };
        let killed = |pid: &i32| signal_checked(*pid, Signal::Kill, || is_in(*pid));
        self.members().iter().filter(|pid| killed(pid)).count()
    }

    /// Fails, harmlessly, while a process is in it.
    pub(super) fn remove(&self) {
        if fs::remove_dir(&self.path).is_ok() {
            return;
        }
        for child in sub_groups(&self.path) {
            Group { path: child }.remove();
        }
        let _ = fs::remove_dir(&self.path);
    }

    /// Removes the parent if it is empty.
    pub(super) fn remove_parent(&self) {
        if let Some(parent) = self.path.parent() {
            let _ = fs::remove_dir(parent);
        }
    }
}
