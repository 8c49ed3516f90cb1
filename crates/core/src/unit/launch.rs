//! The start of a unit: from the decision to the executed program.

use super::pace::STARTS_MOST;
use super::phase::{Delay, DelayCause, Ending, Phase, Then};
use super::state::Unit;
use crate::action::{Effect, Step};
use crate::time::Now;
use ostler_model::{Actor, Desired, RunId, RunRecord, What};
use serde_json::json;

/// A pool member keeps its slot during a delay up to this long.
pub(super) const KEEPS_SLOT_MS: u64 = 10_000;
/// The longest delay while the supervisor lacks resources for a start.
const SHORTAGE_WAIT_MOST_MS: u64 = 30_000;
/// The delay after a run that could not be requested or recorded.
const RETRY_MS: u64 = 1_000;

/// A lack of the supervisor's own resources, for which a unit waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(super) description: String,
    tries: u32,
}

impl Unit {
    /// It is wanted: it starts as soon as its dependencies are ready.
    pub(super) fn begin(&mut self, now: Now) {
        let phase = if self.record.suspended.is_some() {
            Phase::Suspended
        } else if self.record.spec.schedule.is_some() {
            Phase::Scheduled
        } else {
            Phase::Waiting
        };
        self.enter(phase, now);
        if let Some(suspended) = self.record.suspended.as_ref() {
            self.since_ms = suspended.since_ms;
        }
    }

    /// Its dependencies are ready. The pool gives the slots at the end of the step.
    pub(super) fn queue_or_launch(&mut self, now: Now, out: &mut Step) {
        if self.record.spec.pool.is_some() && !self.keeps_slot {
            self.enter(Phase::Queued, now);
        } else {
            self.launch(false, now, out);
        }
    }

    /// It got a slot in its pool. A wait that the journal knows of ends in the record as well.
    pub(super) fn launch_queued(&mut self, now: Now, out: &mut Step) {
        let must_save = !self.is_queue_reported;
        self.launch(must_save, now, out);
    }

    /// A dependency is no longer ready: it waits for that first, without a slot.
    pub(super) fn leave_queue(&mut self, now: Now) {
        self.keeps_slot = false;
        self.enter(Phase::Waiting, now);
    }

    /// Every start passes here.
    fn launch(&mut self, must_save: bool, now: Now, out: &mut Step) {
        if let Some(until_mono_ms) = self.pace.not_before(now.mono_ms) {
            let wait_ms = until_mono_ms - now.mono_ms;
            self.keeps_slot = true;
            let why = DelayCause::StartRate;
            self.enter(Phase::Backoff(Delay { until_mono_ms, wait_ms, why }), now);
            let why = format!("start rate limit: {STARTS_MOST} starts within 1 s");
            let evidence = json!({ "waitMs": wait_ms });
            out.write(self.note(Actor::Supervisor, What::UnitAgain, &why, evidence, now));
            return;
        }
        self.pace.started(now.mono_ms);
        self.enter(Phase::Launching, now);
        let is_new = self.record.started_with.as_ref() != Some(&self.record.run_digest);
        if is_new {
            self.record.started_with = Some(self.record.run_digest.clone());
        }
        if is_new || must_save {
            out.write(self.save(now));
        }
        out.effect(Effect::Launch(self.name().to_owned()));
    }

    /// Its run exists, or is being spawned.
    pub(super) fn launched(&mut self, run: RunId, now: Now, out: &mut Step) {
        match self.record.desired {
            Desired::Running => self.enter(Phase::Unready(run), now),
            Desired::Stopped => self.end_if_unwanted(run, now, out),
        }
    }

    /// It was stopped during the launch.
    pub(super) fn end_if_unwanted(&mut self, run: RunId, now: Now, out: &mut Step) {
        if self.record.desired == Desired::Stopped {
            let ending = Ending { run, then: Then::StayStopped };
            self.end(ending, &Actor::Supervisor, "unit stopped", now, out);
        }
    }

    /// Tries the launch again after a second, and keeps its slot in its pool.
    pub(super) fn retry_launch(&mut self, now: Now) {
        self.keeps_slot = true;
        self.delay(RETRY_MS, DelayCause::NotLaunched, now);
    }

    /// A lack of our own resources is no failure of the unit: it is tried again, whatever its policy is, and not
    /// counted.
    pub(super) fn wait_for_resources(&mut self, run: &RunRecord, now: Now, out: &mut Step) {
        if self.record.desired == Desired::Stopped {
            self.enter(Phase::Stopped, now);
            return;
        }
        let tries = self.shortage.take().map_or(0, |shortage| shortage.tries);
        let wait_ms = (1_000 << tries.min(8)).min(SHORTAGE_WAIT_MOST_MS);
        let description = run
            .error
            .clone()
            .unwrap_or_else(|| "not enough system resources to start it".to_owned());
        self.keeps_slot = wait_ms <= KEEPS_SLOT_MS;
        self.record.again_at_ms = Some(now.wall_ms.saturating_add(wait_ms));
        self.delay(wait_ms, DelayCause::Shortage, now);
        let evidence = json!({ "waitMs": wait_ms, "counted": false });
        out.write(self.note(Actor::Supervisor, What::UnitAgain, &description, evidence, now));
        self.shortage = Some(Shortage { description, tries: tries.saturating_add(1) });
        out.write(self.save(now));
    }

    pub(super) fn delay(&mut self, wait_ms: u64, why: DelayCause, now: Now) {
        let until_mono_ms = now.mono_ms.saturating_add(wait_ms);
        self.enter(Phase::Backoff(Delay { until_mono_ms, wait_ms, why }), now);
    }
}
