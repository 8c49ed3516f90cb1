//! Suspends a unit with a terminal while it has nothing to do, and wakes it when there is work.

use super::machine::{Idle, Phase, Then, Unit};
use crate::action::{Effect, Step};
use crate::time::Now;
use ostler_model::{Actor, RunId, Suspend, Suspended, What};
use serde_json::json;

/// Interval of the idle checks while something keeps the unit awake.
const LOOK_AGAIN_MS: u64 = 30_000;

impl Unit {
    /// Adjusts the next idle check after a changed declaration.
    pub(crate) fn plan_idle(&mut self, now: Now) {
        let planned = self.look_idle_mono_ms;
        self.look_idle_mono_ms = self.record.spec.idle.map(|idle| {
            let latest = now.mono_ms.saturating_add(idle.after_ms);
            planned.map_or(latest, |planned| planned.min(latest))
        });
    }

    /// Runs the idle check if it is due.
    pub(crate) fn look_idle(&mut self, now: Now, out: &mut Step) {
        if self.look_idle_mono_ms.is_none_or(|at| now.mono_ms < at) {
            return;
        }
        self.look_idle_mono_ms = Some(now.mono_ms.saturating_add(LOOK_AGAIN_MS));
        if let Phase::Ready { run } = self.phase {
            out.effect(Effect::LookIdle { unit: self.name().to_owned(), run });
        }
    }

    /// Handles the result of the idle check.
    pub(crate) fn idle(&mut self, run: RunId, idle: &Idle, now: Now, out: &mut Step) {
        let Some(spec) = self.record.spec.idle.filter(|_| self.phase == (Phase::Ready { run }))
        else {
            return;
        };
        let Idle::Since { mono_ms } = idle else {
            let soon = LOOK_AGAIN_MS.min(spec.after_ms);
            self.look_idle_mono_ms = Some(now.mono_ms.saturating_add(soon));
            return;
        };
        let due = mono_ms.saturating_add(spec.after_ms);
        if now.mono_ms < due {
            self.look_idle_mono_ms = Some(due);
            return;
        }
        let idle_ms = now.mono_ms.saturating_sub(*mono_ms);
        let why = format!("idle for {} without work", span(idle_ms));
        self.record.suspended = Some(Suspended { since_ms: now.wall_ms, why: why.clone() });
        out.write(self.save(now));
        let evidence = json!({ "idleMs": idle_ms });
        out.write(self.note(Actor::Supervisor, What::UnitSuspended, &why, evidence, now));
        match spec.suspend {
            Suspend::Stop => {
                self.end(run, Then::Sleep, &Actor::Supervisor, "idle", now, out);
            }
        }
    }

    /// There is work for the unit. A unit that does not sleep is not changed.
    pub(crate) fn wake(&mut self, by: &Actor, why: &str, now: Now, out: &mut Step) {
        match self.phase.clone() {
            Phase::Suspended => self.enter(Phase::Waiting, now),
            // It starts again as soon as its run has ended.
            Phase::Stopping { run, then: Then::Sleep } => {
                self.enter(Phase::Stopping { run, then: Then::Again }, now);
            }
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Unready { .. }
            | Phase::Ready { .. }
            | Phase::Leaving { .. }
            | Phase::Stopping { .. }
            | Phase::Backoff { .. }
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled => return,
        }
        let slept_ms = self.record.suspended.take();
        let slept_ms = slept_ms.map(|since| now.wall_ms.saturating_sub(since.since_ms));
        out.write(self.save(now));
        let evidence = json!({ "sleptMs": slept_ms });
        out.write(self.note(by.clone(), What::UnitWoken, why, evidence, now));
    }
}

/// `45 s`, `30 min`, `2 h`.
fn span(ms: u64) -> String {
    match ms / 1_000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}
