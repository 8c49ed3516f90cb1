//! Ending whatever is still our descendant. Only our own children are signalled: as long as we have not
//! reaped one, its number is nobody else's. When one dies, its children become ours, so that nobody is
//! out of reach; that there is none left is a fact when the kernel says we have no child.

use super::clock::mono_ms;
use super::pipe::nap;
use super::reaper::next_ended;
use rustix::process::{Pid, Signal};
use std::time::Duration;

const GRACE_MS: u64 = 3_000;
/// After KILL. What is still there then is stuck in the kernel.
const GIVE_UP_MS: u64 = 5_000;
/// A child that comes to us by its parent's death makes no signal; it is looked for this often.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What became of our children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    AllGone,
    /// So many could not be ended.
    Left(usize),
}

/// TERM, some time, KILL. We must be the reaper of our descendants.
pub fn sweep() -> Swept {
    let begun = mono_ms();
    let mut told = Vec::new();
    loop {
        while let Some(reaped) = next_ended() {
            told.retain(|other| *other != reaped.pid);
        }
        let children = children();
        if children.is_empty() {
            return Swept::AllGone;
        }
        let passed = mono_ms() - begun;
        if passed > GRACE_MS + GIVE_UP_MS {
            return Swept::Left(children.len());
        }
        for child in children {
            if passed > GRACE_MS {
                end(child, Signal::KILL);
            } else if !told.contains(&child) {
                end(child, Signal::TERM);
                end(child, Signal::CONT);
                told.push(child);
            }
        }
        nap(LOOK_EVERY);
    }
}

/// The child, and its group if it leads one.
#[expect(clippy::disallowed_methods, reason = "an unreaped child of ours: its number is its own")]
fn end(child: i32, signal: Signal) {
    let Some(pid) = Pid::from_raw(child) else { return };
    let _ = rustix::process::kill_process_group(pid, signal);
    let _ = rustix::process::kill_process(pid, signal);
}

/// From the kernel's list where it keeps one, else from everybody's parent.
fn children() -> Vec<i32> {
    let own = std::process::id();
    if let Ok(list) = std::fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        return list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    }
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| parent_of(*pid) == Some(own))
        .collect()
}

fn parent_of(pid: i32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
