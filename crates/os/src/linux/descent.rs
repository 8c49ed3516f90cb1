//! Who descends from whom, and what a process carries of where it comes from.

use super::identity::stat;
use ostler_model::RunSpec;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

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
pub(super) fn orphans() -> Option<Vec<i32>> {
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

pub(super) fn with_descendants(pid: i32, found: &mut Vec<i32>, dead: &mut HashSet<i32>) {
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
