//! The requests of clients: start, stop, restart. The desired state is saved first.

use super::event::{Ask, Event};
use super::phase::{Ending, Phase, Then};
use super::state::Unit;
use crate::action::{EndRun, Step};
use crate::restart::clear;
use crate::time::Now;
use ostler_model::{Actor, Desired, RunId, What};
use serde_json::json;

impl Unit {
    /// Saves a client's request. Returns what it is for the state machine.
    pub(super) fn ask<'a>(
        &mut self,
        ask: Ask,
        by: &'a Actor,
        now: Now,
        out: &mut Step,
    ) -> Event<'a> {
        let (what, desired, event) = match ask {
            Ask::Start => (What::UnitStartAsked, Desired::Running, Event::Start),
            Ask::Stop => (What::UnitStopAsked, Desired::Stopped, Event::Stop),
            Ask::Restart => (What::UnitRestartAsked, Desired::Running, Event::Restart(by)),
        };
        self.record.desired = desired;
        self.record.rests = false;
        self.record.suspended = None;
        self.shortage = None;
        // A person acted, so the failure condition is known.
        self.record.trouble = None;
        if desired == Desired::Running {
            // The same holds for its failures.
            clear(&mut self.record.tally);
            self.record.over = None;
        }
        out.write(self.save(now));
        out.write(self.note(by.clone(), what, "by a client", json!({}), now));
        event
    }

    /// Its run is to end once its dependents have ended.
    pub(super) fn leave(&mut self, run: RunId, then: Then, now: Now) {
        self.enter(Phase::Leaving(Ending { run, then }), now);
    }

    /// Its run is being ended: replaces what follows.
    pub(super) fn stop_for(&mut self, run: RunId, then: Then, now: Now) {
        self.enter(Phase::Stopping(Ending { run, then }), now);
    }

    /// Ends its run now, for a new one.
    pub(super) fn restart(&mut self, run: RunId, by: &Actor, now: Now, out: &mut Step) {
        self.end(Ending { run, then: Then::StartAgain }, by, "unit restart", now, out);
    }

    /// Ends its run now.
    pub(super) fn end(
        &mut self,
        ending: Ending,
        by: &Actor,
        why: &'static str,
        now: Now,
        out: &mut Step,
    ) {
        self.enter(Phase::Stopping(ending), now);
        out.end_run(EndRun { run: ending.run, by: by.clone(), why });
    }
}
