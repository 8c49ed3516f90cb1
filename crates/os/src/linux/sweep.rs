//! Kills every remaining descendant. A child is signalled by its pid: an unreaped child's pid cannot be reused. For a
//! process below a child, the code opens a pidfd first and checks the identity afterwards. When a child dies, its
//! children become children of this process, so every descendant becomes reachable. The sweep is complete when the
//! kernel reports that no child is left.

use super::cgroup::{Boundaries, is_in_a_boundary};
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
/// Time after SIGKILL. A process that is still alive then is stuck in the kernel.
const GIVE_UP_MS: u64 = 5_000;
/// The kernel sends no signal when a child is reparented to this process, so the sweep polls at this interval.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The result of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepOutcome {
    AllGone,
    /// So many children could not be killed.
    Left(usize),
}

/// Sends SIGTERM, waits, and sends SIGKILL. This process must be the subreaper of its descendants.
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
                // A run's reaper forwards no signal, so the processes below it are signalled one by one.
                ask_below(child, &mut description);
            }
        }
        nap(LOOK_EVERY);
    }
}

/// Signals the child, and its process group if it leads one.
#[expect(clippy::disallowed_methods, reason = "an unreaped child: its pid cannot be reused")]
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

/// Unknown live children of this process and of its guardian, with their start times: processes that this process did
/// not start. `is_known` gets the pid, process group, session and start time.
pub fn strays(
    guardian: Option<i32>,
    boundaries: &dyn Boundaries,
    is_known: impl Fn(i32, i32, i32, u64) -> bool,
) -> Vec<(i32, u64)> {
    left_to_us(guardian)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|pid| Some((pid, stat(pid).filter(|stat| !stat.dead)?)))
        .filter(|(pid, stat)| !is_known(*pid, stat.group, stat.session, stat.start_time))
        .filter(|(pid, _)| !is_engines(*pid) && !is_in_a_boundary(*pid, boundaries))
        .map(|(pid, stat)| (pid, stat.start_time))
        .collect()
}

/// Sends SIGTERM, waits, and sends SIGKILL to these processes and all their descendants. Returns how many are left.
pub fn end_strays(list: impl Fn() -> Vec<(i32, u64)>) -> usize {
    let begun = mono_ms();
    let mut description = HashSet::new();
    loop {
        // Reaps this process's zombies; the guardian reaps its own.
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
