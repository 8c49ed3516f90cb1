//! The end of a unit's run: whether it was asked for, seen, or is to be judged by the restart policy.

use super::machine::Existence;
use super::phase::{Ending, Phase, Then};
use super::state::Unit;
use crate::ExitStatus;
use crate::action::Step;
use crate::restart::{Cause, Death};
use crate::time::Now;
use ostler_model::{Actor, Condition, Desired, Over, RunRecord, SpawnErrorKind, Termination, What};
use serde_json::json;

impl Unit {
    /// The run that was being ended has ended.
    pub(super) fn ended_as_planned(
        &mut self,
        ending: Ending,
        record: &RunRecord,
        now: Now,
        out: &mut Step,
    ) -> Existence {
        match ending.then {
            Then::StayStopped => self.enter(Phase::Stopped, now),
            Then::StartAgain => {
                self.record.tally.restarts += 1;
                out.write(self.save(now));
                self.keeps_slot = true;
                self.enter(Phase::Waiting, now);
            }
            Then::Sleep => self.enter(Phase::Suspended, now),
            Then::Judge(cause) => self.judge(record, death(record, cause), now, out),
            Then::Remove => return Existence::Removed,
        }
        Existence::Stays
    }

    /// The run has ended, and nothing of ours was ending it.
    pub(super) fn ended(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let cause = match record.termination {
            Some(Termination::OverallTimeout | Termination::NoOutputTimeout) => Cause::TimedOut,
            Some(Termination::SpawnError) => Cause::NotSpawned,
            // Also if no supervisor ran at the end: the kernel counted the OOM kill.
            Some(
                Termination::Exit
                | Termination::Signal
                | Termination::OwnershipEscape
                | Termination::ReconciledStale,
            ) if record.out_of_memory => Cause::OutOfMemory,
            // No supervisor saw the end: no failure of the unit.
            Some(Termination::ReconciledStale | Termination::LeaseLost) => {
                self.start_again_or_stay_stopped(now);
                return;
            }
            Some(
                Termination::Exit
                | Termination::Signal
                | Termination::ManualCancel
                | Termination::OwnershipEscape,
            )
            | None => Cause::Itself,
        };
        self.judge(record, death(record, cause), now, out);
    }

    /// The run ended while no supervisor ran.
    pub(super) fn ended_before(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        match record.termination {
            // The previous supervisor was ending it: no failure of the unit.
            Some(Termination::ManualCancel) => self.start_again_or_stay_stopped(now),
            Some(
                Termination::Exit
                | Termination::Signal
                | Termination::OverallTimeout
                | Termination::NoOutputTimeout
                | Termination::SpawnError
                | Termination::OwnershipEscape
                | Termination::ReconciledStale
                | Termination::LeaseLost,
            )
            | None => self.ended(record, now, out),
        }
    }

    /// Its program could not be executed.
    pub(super) fn refused(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        if record.spawn_error_kind.is_some_and(SpawnErrorKind::is_shortage) {
            self.wait_for_resources(record, now, out);
        } else {
            self.judge(record, death(record, Cause::NotSpawned), now, out);
        }
    }

    /// Processes of its run could not be ended. Two copies must never run, so the unit stays down until a person
    /// starts it.
    pub(super) fn survived(&mut self, run: &RunRecord, now: Now, out: &mut Step) {
        let description = run.error.clone().unwrap_or_else(|| "not ended".to_owned());
        let then = "not restarted while those processes live";
        self.add_end(run, now.wall_ms, (&description, then), now);
        self.report_trouble(Condition::Crash, &description, out);
        let boot_id = run.boot_id.clone();
        self.record.over =
            Some(Over { is_clean: false, description: description.clone(), boot_id });
        self.enter(Phase::Over, now);
        out.write(self.note(Actor::Supervisor, What::UnitOver, &description, json!({}), now));
        out.write(self.save(now));
    }

    /// Its run has ended because the daemon stops. The unit starts again with the daemon, ahead of members that held
    /// no slot.
    pub(super) fn ended_with_daemon(&mut self, now: Now) {
        let ticket = self.record.ticket;
        self.enter(Phase::Stopped, now);
        self.record.ticket = ticket;
    }

    /// An end that is no failure: it starts again if it is wanted.
    pub(super) fn start_again_or_stay_stopped(&mut self, now: Now) {
        match self.record.desired {
            Desired::Running if std::mem::take(&mut self.is_due_again) => {
                self.enter(Phase::Waiting, now);
            }
            Desired::Running => self.begin(now),
            Desired::Stopped => self.enter(Phase::Stopped, now),
        }
    }
}

fn death(record: &RunRecord, cause: Cause) -> Death {
    let status = match (record.exit_code, record.exit_signal) {
        (Some(code), _) => ExitStatus::Code(code),
        (None, Some(signal)) => ExitStatus::Signal(signal),
        (None, None) => ExitStatus::Unknown,
    };
    Death { status, cause }
}
