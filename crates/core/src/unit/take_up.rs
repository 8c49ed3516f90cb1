//! A new supervisor takes up the units of the previous one: their live runs, their delays, and whether they rest.

use super::phase::{DelayCause, Ending, Phase, Then};
use super::state::Unit;
use crate::action::Step;
use crate::time::Now;
use ostler_model::{Desired, Part, RunId, RunRecord, Termination};

impl Unit {
    /// Its run was found alive.
    pub(super) fn adopted(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let run = record.run_id;
        if record.termination == Some(Termination::ManualCancel) {
            // The previous supervisor was ending it; the desired state still tells what follows.
            let then = match self.record.desired {
                Desired::Running if self.record.suspended.is_some() => Then::Sleep,
                Desired::Running => Then::StartAgain,
                Desired::Stopped => Then::StayStopped,
            };
            self.enter(Phase::Stopping(Ending { run, then }), now);
            return;
        }
        // It is live and no one is ending it, so it is not suspended.
        if self.record.suspended.take().is_some() {
            out.write(self.save(now));
        }
        self.take_up(run, now, out);
    }

    /// Goes on with a live run.
    pub(super) fn take_up(&mut self, run: RunId, now: Now, out: &mut Step) {
        self.launched(run, now, out);
        if self.phase == Phase::Unready(run) {
            self.check_again(run, now, out);
        }
    }

    /// No run of it is alive.
    pub(super) fn reconciled(&mut self, begins: bool, now: Now, out: &mut Step) {
        if self.record.spec.part == Some(Part::Daemon) {
            // Starts when a unit needs it.
            self.enter(Phase::Stopped, now);
            return;
        }
        match self.record.desired {
            Desired::Stopped => self.enter(Phase::Stopped, now),
            Desired::Running if self.record.tally.opened.is_some() => {
                self.enter(Phase::Broken, now);
            }
            Desired::Running if self.record.over.is_some() => self.enter(Phase::Over, now),
            Desired::Running if begins && !self.record.rests => self.resume(now),
            Desired::Running => {
                self.record.rests = true;
                out.write(self.save(now));
                self.enter(Phase::Stopped, now);
            }
        }
    }

    /// A person started the daemon: a unit that stopped with it starts again.
    pub(super) fn daemon_started(&mut self, now: Now, out: &mut Step) {
        if self.record.rests {
            self.record.rests = false;
            out.write(self.save(now));
            self.begin(now);
        }
    }

    /// Continues a delay that the previous supervisor began; otherwise the unit begins at once.
    pub(super) fn resume(&mut self, now: Now) {
        let left = self.record.again_at_ms.and_then(|at| at.checked_sub(now.wall_ms));
        let most = self.record.spec.restart.backoff.max_ms;
        let sleeps = self.record.suspended.is_some();
        match left.filter(|left| !sleeps && (1..=most).contains(left)) {
            Some(left) => self.delay(left, DelayCause::Restart, now),
            None => self.begin(now),
        }
    }
}
