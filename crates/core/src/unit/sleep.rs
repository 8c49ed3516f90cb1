//! Suspends a unit with a terminal while it has nothing to do, and wakes it when there is work.

use super::event::Idle;
use super::phase::{Ending, Phase, Then};
use super::state::Unit;
use crate::action::{Effect, Step};
use crate::time::Now;
use ostler_model::{Actor, RunId, Suspend, Suspended, What};
use serde_json::json;

/// Interval of the idle checks while something keeps the unit awake.
const LOOK_AGAIN_MS: u64 = 30_000;

impl Unit {
    /// Adjusts the next idle check after a changed declaration.
    pub(super) fn plan_idle(&mut self, now: Now) {
        let planned = self.look_idle_mono_ms;
        self.look_idle_mono_ms = self.record.spec.idle.map(|idle| {
            let latest = now.mono_ms.saturating_add(idle.after_ms);
            planned.map_or(latest, |planned| planned.min(latest))
        });
    }

    /// Runs the idle check if it is due.
    pub(super) fn look_idle(&mut self, run: RunId, now: Now, out: &mut Step) {
        if self.look_idle_mono_ms.is_none_or(|at| now.mono_ms < at) {
            return;
        }
        self.look_idle_mono_ms = Some(now.mono_ms.saturating_add(LOOK_AGAIN_MS));
        out.effect(Effect::LookIdle { unit: self.name().to_owned(), run });
    }

    /// Handles the result of the idle check.
    pub(super) fn idle_checked(&mut self, run: RunId, idle: &Idle, now: Now, out: &mut Step) {
        let Some(spec) = self.record.spec.idle else { return };
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
                let ending = Ending { run, then: Then::Sleep };
                self.end(ending, &Actor::Supervisor, "idle", now, out);
            }
        }
    }

    /// There is work for the sleeping unit.
    pub(super) fn wake(&mut self, by: &Actor, why: &str, now: Now, out: &mut Step) {
        self.enter(Phase::Waiting, now);
        self.report_woken(by, why, now, out);
    }

    /// There is work for the unit that is about to sleep: it starts again as soon as its run has ended.
    pub(super) fn wake_early(
        &mut self,
        run: RunId,
        by: &Actor,
        why: &str,
        now: Now,
        out: &mut Step,
    ) {
        self.stop_for(run, Then::StartAgain, now);
        self.report_woken(by, why, now, out);
    }

    fn report_woken(&mut self, by: &Actor, why: &str, now: Now, out: &mut Step) {
        let slept_ms = self.record.suspended.take();
        let slept_ms = slept_ms.map(|since| now.wall_ms.saturating_sub(since.since_ms));
        out.write(self.save(now));
        let evidence = json!({ "sleptMs": slept_ms });
        out.write(self.note(by.clone(), What::UnitWoken, why, evidence, now));
    }

    /// Suspension was removed from the declaration of the sleeping unit.
    pub(super) fn wake_for_change(&mut self, now: Now) {
        self.record.suspended = None;
        self.begin(now);
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
