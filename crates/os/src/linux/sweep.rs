//! Ending whatever is still our descendant. A child of ours is signalled by its number: as long as we have not reaped it,
//! that is nobody else's. What is below our children is opened first and checked afterwards. When one dies, its children
//! become ours, so that nobody is out of reach; that there is none left is a fact when the kernel says we have no child.

use super::cgroup::is_in_some_leaf;
use super::clock::mono_ms;
use super::descent::{below, children_of, is_engines, with_descendants};
use super::identity::stat;
use super::members::{is_untouchable, left_to_us};
use super::pipe::nap;
use super::process::signal_checked;
use super::reaper::next_ended;
use super::run_reaper::is_run_reaper;
use rustix::process::{Pid, Signal};
use std::collections::HashSet;
use std::time::Duration;

const GRACE_MS: u64 = 3_000;
/// After KILL. What is still there then is stuck in the kernel.
const GIVE_UP_MS: u64 = 5_000;
/// A child that comes to us by its parent's death makes no signal; it is looked for this often.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What became of our children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepOutcome {
    AllGone,
    /// So many could not be ended.
    Left(usize),
}

/// TERM, some time, KILL. We must be the reaper of our descendants.
pub fn sweep() -> SweepOutcome {
    let begun = mono_ms();
    let mut description = Vec::new();
    loop {
        while let Some(reaped) = next_ended() {
            description.retain(|other| *other != reaped.pid);
        }
        let children = children();
        if children.is_empty() {
            return SweepOutcome::AllGone;
        }
        let passed = mono_ms() - begun;
        if passed > GRACE_MS + GIVE_UP_MS {
            return SweepOutcome::Left(children.len());
        }
        for child in children {
            if passed > GRACE_MS {
                end(child, Signal::KILL);
            } else if !description.contains(&child) {
                end(child, Signal::TERM);
                end(child, Signal::CONT);
                description.push(child);
            }
            if passed <= GRACE_MS && is_run_reaper(child) {
                // It passes nothing on: its run is asked one by one.
                ask_below(child, &mut description);
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

fn ask_below(child: i32, description: &mut Vec<i32>) {
    for pid in below(child).unwrap_or_default() {
        if description.contains(&pid) {
            continue;
        }
        description.push(pid);
        let known = stat(pid).map(|stat| (stat.parent, stat.start_time));
        let is_meant = || stat(pid).map(|stat| (stat.parent, stat.start_time)) == known;
        for signal in [super::process::Signal::Term, super::process::Signal::Continue] {
            signal_checked(pid, signal, is_meant);
        }
    }
}

/// Children of ours that nobody here has made, and those of our guardian, that live and are not known: with their start
/// times. `is_known` is told pid, group, session and start time.
pub fn strays(
    guardian: Option<i32>,
    is_known: impl Fn(i32, i32, i32, u64) -> bool,
) -> Vec<(i32, u64)> {
    left_to_us(guardian)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|pid| Some((pid, stat(pid).filter(|stat| !stat.dead)?)))
        .filter(|(pid, stat)| !is_known(*pid, stat.group, stat.session, stat.start_time))
        .filter(|(pid, _)| !is_engines(*pid) && !is_in_some_leaf(*pid))
        .map(|(pid, stat)| (pid, stat.start_time))
        .collect()
}

/// TERM, some time, KILL, to these and to all that descends from them. How many are left.
pub fn end_strays(list: impl Fn() -> Vec<(i32, u64)>) -> usize {
    let begun = mono_ms();
    let mut description = HashSet::new();
    loop {
        // Our own corpses; our guardian clears away its.
        while next_ended().is_some() {}
        let (mut found, mut dead) = (Vec::new(), HashSet::new());
        let strays = list();
        for (pid, _) in &strays {
            with_descendants(*pid, &mut found, &mut dead);
        }
        found.retain(|pid| !is_untouchable(*pid));
        let passed = mono_ms() - begun;
        if found.is_empty() || passed > GRACE_MS + GIVE_UP_MS {
            return strays.len();
        }
        for pid in found {
            let known = stat(pid).map(|stat| (stat.parent, stat.start_time));
            let is_meant = || stat(pid).map(|stat| (stat.parent, stat.start_time)) == known;
            if passed > GRACE_MS {
                signal_checked(pid, super::process::Signal::Kill, is_meant);
            } else if description.insert((pid, known)) {
                signal_checked(pid, super::process::Signal::Term, is_meant);
                signal_checked(pid, super::process::Signal::Continue, is_meant);
            }
        }
        nap(LOOK_EVERY);
    }
}

fn children() -> Vec<i32> {
    children_of(std::process::id() as i32)
}
