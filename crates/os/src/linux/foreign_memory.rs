//! Counts memory kills in the cgroup of a process that another program started: the first process of a container. The
//! count is kept while the cgroup exists, because it cannot be read afterwards.

use super::cgroup::unescape;
use super::clock::mono_ms;
use super::controllers;
use super::group::Group;
use super::pipe::nap;
use rustix::event::{PollFd, PollFlags, poll};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Cgroup v1 reports before the kernel kills, and is removed soon after. How long a kill is looked for.
const LOOKED_FOR_MS: u64 = 500;
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// When the kernel last killed a process there for memory, on the monotonic clock.
#[derive(Clone, Debug)]
pub struct MemoryKills(Arc<AtomicU64>);

impl MemoryKills {
    pub fn last_mono_ms(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Acquire)).filter(|at| *at > 0)
    }
}

enum Kind {
    New,
    Old,
}

/// `None` if the kernel does not report it.
pub fn watch_memory_kills(pid: i32) -> Option<MemoryKills> {
    let (path, kind) = match group_of(pid, Some("memory")) {
        Some(path) => (path, Kind::Old),
        None => (group_of(pid, None)?, Kind::New),
    };
    let alarm = match kind {
        Kind::New => controllers::memory_alarm(&path)?,
        Kind::Old => Group::at(path.to_str()?).memory_alarm()?,
    };
    let kills = MemoryKills(Arc::default());
    let description = kills.clone();
    let thread = std::thread::Builder::new().name("memory".to_owned()).stack_size(128 << 10);
    thread.spawn(move || watch(&path, &kind, &alarm, &description.0)).ok()?;
    Some(kills)
}

fn watch(path: &Path, kind: &Kind, alarm: &OwnedFd, description: &AtomicU64) {
    let mut known = 0;
    loop {
        let flags = match kind {
            Kind::New => PollFlags::PRI,
            Kind::Old => PollFlags::IN,
        };
        if poll(&mut [PollFd::new(alarm, flags)], None).is_err()
            || !super::memory_watch::rest_alarm(alarm)
        {
            return;
        }
        let until = mono_ms() + LOOKED_FOR_MS;
        loop {
            if !path.exists() {
                return;
            }
            let kills = match kind {
                Kind::New => controllers::memory_kills(path),
                Kind::Old => Group::at(&path.to_string_lossy()).memory_kills(),
            };
            if kills > known {
                known = kills;
                description.store(mono_ms(), Ordering::Release);
                break;
            }
            if matches!(kind, Kind::New) || mono_ms() >= until {
                break;
            }
            nap(LOOK_EVERY);
        }
    }
}

/// The cgroup of a process: of a v1 controller, or of v2.
fn group_of(pid: i32, controller: Option<&str>) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (root, mount) = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut kind = after.split(' ');
        let name = kind.next()?;
        let options = kind.nth(1)?;
        let is_meant = match controller {
            Some(wanted) => name == "cgroup" && options.split(',').any(|option| option == wanted),
            None => name == "cgroup2",
        };
        let mut fields = before.split(' ').skip(3);
        is_meant.then(|| Some((unescape(fields.next()?), unescape(fields.next()?))))?
    })?;
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let own = groups.lines().find_map(|line| match controller {
        Some(wanted) => {
            let mut fields = line.splitn(3, ':').skip(1);
            let has = fields.next()?.split(',').any(|name| name == wanted);
            has.then(|| fields.next())?
        }
        None => line.strip_prefix("0::"),
    })?;
    let own = if root == "/" { own } else { own.strip_prefix(&root).unwrap_or(own) };
    Some(Path::new(&mount).join(own.trim_start_matches('/')))
}
