//! The schedule of a unit: what a scheduled time does, also while the last run is still live.

use super::phase::{Ending, Then};
use super::state::Unit;
use crate::action::Step;
use crate::time::Now;
use ostler_model::{Actor, Desired, Overlap, RunId, What};
use serde_json::json;

impl Unit {
    /// Saves that its scheduled time has come, so that the time is not made up for later. Returns whether the time
    /// counts.
    pub(super) fn takes_scheduled_time(&mut self, now: Now, out: &mut Step) -> bool {
        let is_wanted = self.record.desired == Desired::Running && !self.record.rests;
        let counts = is_wanted && self.record.spec.schedule.is_some();
        if counts {
            self.record.fired_at_ms = Some(now.wall_ms);
            out.write(self.save(now));
        }
        counts
    }

    /// Its last run is live.
    pub(super) fn overlap(&mut self, run: RunId, now: Now, out: &mut Step) {
        match self.overlap_rule() {
            Some(Overlap::Replace) => {
                let why = "its next scheduled time has come";
                let ending = Ending { run, then: Then::StartAgain };
                self.end(ending, &Actor::Supervisor, why, now, out);
            }
            Some(Overlap::Queue | Overlap::Skip) | None => self.skip_time(now, out),
        }
    }

    /// It cannot start now: the scheduled time is skipped, or made up for when its run has ended.
    pub(super) fn skip_time(&mut self, now: Now, out: &mut Step) {
        match self.overlap_rule() {
            Some(Overlap::Queue) => self.is_due_again = true,
            Some(Overlap::Skip | Overlap::Replace) => {
                let why = "the previous run is still live";
                out.write(self.note(Actor::Supervisor, What::UnitSkipped, why, json!({}), now));
            }
            None => {}
        }
    }

    fn overlap_rule(&self) -> Option<Overlap> {
        self.record.spec.schedule.as_ref().map(|spec| spec.overlap)
    }
}
