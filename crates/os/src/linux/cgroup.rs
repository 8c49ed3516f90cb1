//! A kernel boundary for each run: one cgroup v2 leaf.
//!
//! The leaves are in the instance's own cgroup, below the cgroup this process was started in, wherever cgroup v2 is
//! mounted: at the usual place, or beside the v1 hierarchies. Only cgroups that Ostler made are changed.

use super::reserved_fds;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The child cgroup of the supervisor itself, if the parent delegates controllers to its children.
pub(super) const SELF: &str = "ostler-self";

/// The part of the hierarchy of cgroup v2 that is mounted, and where. In a container only a part may be.
fn mounted() -> Result<(String, PathBuf), String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")
        .map_err(|error| format!("/proc/self/mountinfo: {error}"))?;
    let (root, mount) = mounts
        .lines()
        .find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut fields = before.split(' ').skip(3);
            (after.split(' ').next() == Some("cgroup2"))
                .then(|| Some((unescape(fields.next()?), unescape(fields.next()?))))?
        })
        .ok_or("cgroup v2 is not mounted")?;
    Ok((root, PathBuf::from(mount)))
}

/// A path of the hierarchy, below the mount point.
fn within<'a>(root: &str, group: &'a str) -> &'a str {
    if root == "/" { group } else { group.strip_prefix(root).unwrap_or(group) }
}

/// The mount point of cgroup v2, and the path of this process in it.
fn own_group() -> Result<(PathBuf, String), String> {
    let (root, mount) = mounted()?;
    let groups = fs::read_to_string("/proc/self/cgroup")
        .map_err(|error| format!("/proc/self/cgroup: {error}"))?;
    let own = groups
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .ok_or("this process is in no cgroup v2 group")?;
    let own = within(&root, own);
    let own = own.strip_suffix(SELF).unwrap_or(own);
    Ok((mount, own.to_owned()))
}

/// The directories of this process's cgroup and of its ancestors, the nearest first. The root is left out: it has no
/// limits.
pub(super) fn own_folders() -> Vec<PathBuf> {
    let Ok((mount, own)) = own_group() else { return Vec::new() };
    let inner = below(&mount, &own);
    inner.ancestors().take_while(|folder| **folder != mount).map(Path::to_owned).collect()
}

/// Mount points escape spaces and other special characters in octal.
pub(super) fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

fn below(mount: &Path, own: &str) -> PathBuf {
    mount.join(own.trim_matches('/'))
}

/// Creates the cgroup for one instance's leaves.
pub(super) fn make_parent_group(instance: &str) -> Result<PathBuf, String> {
    let (mount, own) = own_group()?;
    let group = below(&mount, &own).join(format!("ostler-{instance}"));
    match fs::create_dir(&group) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("{}: {error}", group.display())),
    }
    if !group.join("cgroup.procs").exists() {
        let _ = fs::remove_dir(&group);
        return Err(format!("{}: not a cgroup", group.display()));
    }
    Ok(group)
}

/// Whether a leaf could be created. Leaves none behind.
pub(super) fn probe() -> Result<String, String> {
    let group = make_parent_group(&format!("probe-{}", rustix::process::getpid().as_raw_pid()))?;
    let parent = group.parent().map(|path| path.display().to_string()).unwrap_or_default();
    fs::remove_dir(&group).map_err(|error| format!("{}: {error}", group.display()))?;
    Ok(parent)
}

/// One run's cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    path: PathBuf,
}

impl Leaf {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn make(path: PathBuf) -> io::Result<Self> {
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self { path }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Self { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Another process removed the empty instance cgroup.
                fs::create_dir_all(&path)?;
                Ok(Self { path })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        Ok(File::open(&self.path)?.into())
    }

    pub(super) fn open_members(&self) -> io::Result<OwnedFd> {
        Ok(fs::OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))?.into())
    }

    /// `None` if the cgroup is gone. A cgroup that cannot be read counts as populated.
    pub(super) fn populated(&self) -> Option<bool> {
        let look = || {
            let mut text = [0u8; 64];
            let length = File::open(self.path.join("cgroup.events"))?.read(&mut text)?;
            Ok(!text[..length].windows(11).any(|window| window == b"populated 0"))
        };
        match reserved_fds::spend(look) {
            Ok(is_populated) => Some(is_populated),
            Err(error) if is_gone(&error) => None,
            Err(_) => Some(true),
        }
    }

    /// `None` if the members cannot be listed.
    pub(super) fn listed(&self) -> Option<Vec<i32>> {
        match reserved_fds::spend(|| fs::read_to_string(self.path.join("cgroup.procs"))) {
            Err(error) if !is_gone(&error) => None,
            Ok(_) | Err(_) => Some(self.members()),
        }
    }

    /// A process whose main thread has exited may be listed although it is dead; see `Scope`.
    pub(super) fn members(&self) -> Vec<i32> {
        let mut members = Vec::new();
        collect_members(&self.path, &mut members);
        members
    }

    pub(super) fn holds(&self, pid: i32) -> bool {
        let Ok(groups) = reserved_fds::spend(|| fs::read_to_string(format!("/proc/{pid}/cgroup")))
        else {
            return false;
        };
        let Some(own) = groups.lines().find_map(|line| line.strip_prefix("0::")) else {
            return false;
        };
        // The name contains the run's id, so it is unique. The run may have made cgroups below it.
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        own.split('/').any(|part| part == name)
    }

    /// The kernel kills all members at once; forking cannot outrun it.
    pub(super) fn kill(&self) -> bool {
        reserved_fds::spend(|| fs::write(self.path.join("cgroup.kill"), "1")).is_ok()
    }

    /// A descriptor that becomes ready (`POLLPRI`) when `populated` changes.
    pub(super) fn watch(&self) -> Option<OwnedFd> {
        let mut file = File::open(self.path.join("cgroup.events")).ok()?;
        // The kernel reports changes since the last read.
        let _ = file.read(&mut [0u8; 64]);
        Some(file.into())
    }

    /// Removes the cgroup and those the run made below it. Fails, harmlessly, while it is populated.
    pub(super) fn remove(&self) {
        if fs::remove_dir(&self.path).is_ok() {
            return;
        }
        for child in sub_groups(&self.path) {
            Leaf::at(child).remove();
        }
        let _ = fs::remove_dir(&self.path);
    }
}

/// Whether the error means that the cgroup does not exist any more.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ENODEV)
}

pub(super) fn collect_members(path: &Path, members: &mut Vec<i32>) {
    if let Ok(text) = reserved_fds::spend(|| fs::read_to_string(path.join("cgroup.procs"))) {
        members.extend(
            text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0),
        );
    }
    for child in sub_groups(path) {
        collect_members(&child, members);
    }
}

pub(super) fn sub_groups(path: &Path) -> Vec<PathBuf> {
    let list = || {
        let folders = fs::read_dir(path)?
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        Ok(folders.map(|entry| entry.path()).collect())
    };
    reserved_fds::spend(list).unwrap_or_default()
}

/// The boundaries of the live runs. Only they count: any process that may make cgroups can give one the name of a boundary.
pub trait Boundaries {
    /// Whether this cgroup is one of them, or below one.
    fn include(&self, group: &Path) -> bool;
}

/// Whether a process is in the cgroup of a live run.
pub(super) fn is_in_a_boundary(pid: i32, boundaries: &dyn Boundaries) -> bool {
    group_of(pid).is_some_and(|group| boundaries.include(&group))
}

/// The directory of a process's cgroup.
fn group_of(pid: i32) -> Option<PathBuf> {
    // The mount stays where it is while this process lives.
    static MOUNTED: OnceLock<Option<(String, PathBuf)>> = OnceLock::new();
    let (root, mount) = MOUNTED.get_or_init(|| mounted().ok()).as_ref()?;
    let groups = reserved_fds::spend(|| fs::read_to_string(format!("/proc/{pid}/cgroup"))).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(below(mount, within(root, group)))
}
