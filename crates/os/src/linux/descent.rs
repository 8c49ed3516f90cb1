//! Children and descendants of processes.

use super::identity::{is_taken, stat};
use super::reserved_fds;
use ostler_model::RunSpec;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::OnceLock;

/// The children of a process; empty if they cannot be read.
pub(super) fn children_of(pid: i32) -> Vec<i32> {
    try_children_of(pid).unwrap_or_default()
}

/// The children of a process. If the kernel keeps no such list, every process's parent is read. An error means that the
/// list could not be read (no descriptor is free); a process that is gone has no children.
fn try_children_of(pid: i32) -> io::Result<Vec<i32>> {
    static IS_LISTED: OnceLock<bool> = OnceLock::new();
    let own = std::process::id();
    let is_listed = || fs::metadata(format!("/proc/{own}/task/{own}/children")).is_ok();
    if *IS_LISTED.get_or_init(is_listed) {
        return listed_children(pid);
    }
    Ok(all_pids().filter(|other| stat(*other).is_some_and(|stat| stat.parent == pid)).collect())
}

fn listed_children(pid: i32) -> io::Result<Vec<i32>> {
    let folder = format!("/proc/{pid}/task");
    let mut children = Vec::new();
    for task in absent_is_empty(numbers_in(&folder))? {
        let path = format!("{folder}/{task}/children");
        let list = absent_is_empty(reserved_fds::spend(|| fs::read_to_string(&path)))?;
        children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Ok(children)
}

/// The entries of a directory whose names are numbers. Uses a reserved descriptor if no other is free.
fn numbers_in(folder: &str) -> io::Result<Vec<i32>> {
    reserved_fds::spend(|| {
        let entries = fs::read_dir(folder)?.flatten();
        Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
    })
}

/// Any error other than a lack of descriptors means that the process has ended.
fn absent_is_empty<T: Default>(read: io::Result<T>) -> io::Result<T> {
    match read {
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
            Ok(T::default())
        }
        read => read,
    }
}

/// All processes of the machine.
pub(super) fn all_pids() -> impl Iterator<Item = i32> {
    numbers_in("/proc").unwrap_or_default().into_iter()
}

/// Whether the process is the container engine's monitor (conmon) of a container of ours: it belongs to the engine,
/// like the container. The program must be root's and have the mark that Ostler sets; the mark alone is not evidence.
pub(super) fn is_engines(pid: i32) -> bool {
    let path = format!("/proc/{pid}/exe");
    let is_program = || fs::read_link(&path).is_ok_and(|path| path.ends_with("conmon"));
    let is_roots = || fs::metadata(&path).is_ok_and(|program| program.uid() == 0);
    let is_marked = || {
        let mark = format!("{}={}", RunSpec::RUN_ID_VARIABLE, RunSpec::OF_ENGINE);
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|text| text.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()))
    };
    is_program() && is_roots() && is_marked()
}

/// How often a search is repeated because a process ended during it.
pub(super) const LOOKS_MOST: usize = 100;

/// All descendants of a subreaper, without itself. Children are listed one process after the other, and a process that
/// ends in between leaves its children to the subreaper unnoticed. So a pass that finds a newly dead process is
/// repeated. An error means that the children could not be read.
pub(super) fn below(reaper: i32) -> io::Result<Vec<i32>> {
    let (mut found, mut dead) = (Vec::new(), HashSet::new());
    for _ in 0..LOOKS_MOST {
        let known_dead = dead.len();
        found.clear();
        for child in try_children_of(reaper)?.into_iter().filter(|child| !is_engines(*child)) {
            with_descendants(child, &mut found, &mut dead);
        }
        if dead.len() == known_dead {
            break;
        }
    }
    Ok(found)
}

/// Children of this process that it did not start. The kernel reparents an orphan to the first live thread and keeps a
/// child on the list of the thread that created it. If runs are started by another thread (`beside_first_thread`), only
/// the main thread's list must be read, not thousands of runs.
pub(super) fn orphans() -> Option<Vec<i32>> {
    let pid = rustix::process::getpid().as_raw_pid();
    let own = rustix::thread::gettid().as_raw_pid();
    if own != pid
        && let Some(children) = first_threads_children(pid)
    {
        return Some(children);
    }
    let mut children = Vec::new();
    let mut is_reported = false;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let is_own = task.file_name().to_str() == Some(&own.to_string());
        if is_own && own != pid {
            continue;
        }
        if let Ok(list) = fs::read_to_string(task.path().join("children")) {
            is_reported = true;
            children
                .extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    is_reported.then_some(children)
}

/// The main thread lives as long as the process, so all orphans are reparented to it. The file is held open because it
/// is read at each end of a run. `None` if the kernel has no such file.
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

pub(super) fn with_descendants(pid: i32, found: &mut Vec<i32>, dead: &mut HashSet<i32>) {
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        // A process whose stat line cannot be read for lack of a descriptor is not dead.
        if stat(pid).map_or(!is_taken(pid), |stat| stat.dead) {
            dead.insert(pid);
            continue;
        }
        found.push(pid);
        open.extend(children_of(pid));
    }
}
