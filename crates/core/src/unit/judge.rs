//! What the restart policy makes of an end: restart, no restart, or an open breaker. The counters are saved with it.

use super::journal::ran_ms;
use super::launch::KEEPS_SLOT_MS;
use super::phase::{DelayCause, Phase};
use super::state::Unit;
use super::why::ALWAYS_RESTARTED;
use crate::action::{Effect, Step};
use crate::duration::seconds;
use crate::restart::{Cause, Death, ExitClass, RestartRequests, Verdict, after_with, rule};
use crate::run::exceeded;
use crate::time::Now;
use ostler_model::{Actor, Condition, Desired, Over, RestartPolicy, RunRecord, Termination, What};
use serde_json::{Value, json};

/// A pool member keeps its slot for up to this many failures in a row. After that it queues behind the others, so
/// that a crash loop does not block the pool.
const KEEPS_SLOT_TIMES: u32 = 3;

impl Unit {
    pub(super) fn judge(&mut self, run: &RunRecord, death: Death, now: Now, out: &mut Step) {
        let ended_at_ms = run.ended_at_ms.unwrap_or(now.wall_ms);
        let ran_ms = ran_ms(run, ended_at_ms);
        let message = self.message_of(run, death, ran_ms);
        let description = format!("{}{message}", death.description());
        self.add_end(run, ended_at_ms, (&description, ""), now);
        if self.record.desired == Desired::Stopped || self.record.spec.schedule.is_some() {
            let then = match self.record.desired {
                Desired::Stopped => "stays stopped",
                Desired::Running => "waits for its schedule",
            };
            self.set_consequence(then.to_owned());
            self.start_again_or_stay_stopped(now);
            out.write(self.save(now));
            return;
        }
        let policy = self.policy_for(death);
        if is_crash(&policy, death) {
            let unit = self.record.spec.name.clone();
            let (run, description) = (Box::new(run.clone()), description.clone());
            out.effect(Effect::Crashed { unit, run, ran_ms, description });
        }
        let requests = match self.record.spec.part {
            Some(_) => RestartRequests::Unlimited,
            None => RestartRequests::Limited,
        };
        let tally = &mut self.record.tally;
        let mut verdict = after_with(tally, &policy, requests, death, ran_ms, now.wall_ms);
        if let (Verdict::Broken { why }, Some(opened)) =
            (&mut verdict, &mut self.record.tally.opened)
        {
            why.push_str(&message);
            opened.why.clone_from(why);
        }
        self.report_end(&verdict, rule(&policy).class(death), death, &description, out);
        self.set_consequence(self.consequence(&verdict));
        self.keeps_slot = self.may_keep_slot(&verdict, death);
        self.follow(verdict, run, death, description, now, out);
        out.write(self.save(now));
    }

    /// Why it ended, in the words of the check, the timeout, the spawn error or the caller. Continues the description
    /// of the end.
    fn message_of(&mut self, run: &RunRecord, death: Death, ran_ms: u64) -> String {
        let of_check = self.check_message.take();
        let message = match death.cause {
            Cause::NotReady | Cause::Unhealthy => of_check,
            Cause::NotSpawned => run.error.clone(),
            Cause::Itself => run.cancel_reason.as_ref().map(|said| format!("cancelled: {said}")),
            Cause::TimedOut => {
                let timeout = run.termination.and_then(Termination::timeout);
                let reason = timeout.map(|kind| format!(": {}", exceeded(run, kind)));
                return format!(" after {}{}", seconds(ran_ms), reason.unwrap_or_default());
            }
            Cause::OutOfMemory => None,
        };
        message.map(|message| format!(": {message}")).unwrap_or_default()
    }

    fn policy_for(&self, death: Death) -> RestartPolicy {
        let mut policy = self.record.spec.restart;
        if death.cause == Cause::Unhealthy
            && let Some(backoff) = self.record.spec.liveness_backoff
        {
            policy.backoff = backoff;
            policy.immediate_after_ms = None;
        }
        policy
    }

    /// Calls the hooks if this end begins a failure condition.
    fn report_end(
        &mut self,
        verdict: &Verdict,
        class: ExitClass,
        death: Death,
        description: &str,
        out: &mut Step,
    ) {
        match verdict {
            Verdict::Broken { why } => self.report_trouble(Condition::Breaker, why, out),
            // It completed its work or was asked to end: no crash, even if the policy restarts it.
            Verdict::Restart { .. } | Verdict::Over { .. }
                if matches!(class, ExitClass::Clean | ExitClass::Asked) => {}
            Verdict::Restart { wait_ms: 0 } if death.requests_restart() => {}
            Verdict::Restart { .. } | Verdict::Over { .. } => {
                self.report_trouble(Condition::Crash, description, out);
            }
        }
    }

    /// What follows, for the list of ends.
    fn consequence(&self, verdict: &Verdict) -> String {
        let always = self.always_restarted();
        match verdict {
            Verdict::Restart { wait_ms: 0 } => format!("restarted at once{always}"),
            Verdict::Restart { wait_ms } => format!("restarted after {wait_ms} ms{always}"),
            Verdict::Over { .. } => "not restarted".to_owned(),
            Verdict::Broken { why } => why.clone(),
        }
    }

    fn always_restarted(&self) -> String {
        let always = self.record.spec.part.map(|_| format!(" ({ALWAYS_RESTARTED})"));
        always.unwrap_or_default()
    }

    fn may_keep_slot(&self, verdict: &Verdict, death: Death) -> bool {
        match verdict {
            Verdict::Restart { wait_ms: 0 } if death.requests_restart() => true,
            Verdict::Restart { wait_ms } => {
                let tally = &self.record.tally;
                let in_a_row = tally.steps.max(tally.restart_requests);
                *wait_ms <= KEEPS_SLOT_MS && in_a_row <= KEEPS_SLOT_TIMES
            }
            Verdict::Over { .. } | Verdict::Broken { .. } => false,
        }
    }

    /// Enters the phase that follows, and writes the journal.
    fn follow(
        &mut self,
        verdict: Verdict,
        run: &RunRecord,
        death: Death,
        description: String,
        now: Now,
        out: &mut Step,
    ) {
        let (what, why, evidence): (What, String, Value) = match verdict {
            Verdict::Restart { wait_ms: 0 } => {
                if !self.keeps_slot {
                    self.record.ticket = None;
                }
                self.enter(Phase::Waiting, now);
                (What::UnitAgain, format!("{description}{}", self.always_restarted()), json!({}))
            }
            Verdict::Restart { wait_ms } => {
                self.record.again_at_ms = Some(now.wall_ms.saturating_add(wait_ms));
                self.delay(wait_ms, DelayCause::Restart, now);
                let tally = &self.record.tally;
                let in_a_row =
                    if death.requests_restart() { tally.restart_requests } else { tally.steps };
                let evidence = json!({ "waitMs": wait_ms, "inARow": in_a_row });
                (What::UnitAgain, format!("{description}{}", self.always_restarted()), evidence)
            }
            Verdict::Over { class } => {
                let is_clean = matches!(class, ExitClass::Clean | ExitClass::Asked);
                let boot_id = run.boot_id.clone();
                self.record.over =
                    Some(Over { is_clean, description: description.clone(), boot_id });
                self.enter(Phase::Over, now);
                (What::UnitOver, description, json!({ "class": class }))
            }
            Verdict::Broken { why } => {
                self.enter(Phase::Broken, now);
                (What::BreakerOpened, why, json!({}))
            }
        };
        out.write(self.note(Actor::Supervisor, what, &why, evidence, now));
    }
}

/// Whether the end was a failure.
fn is_crash(policy: &RestartPolicy, death: Death) -> bool {
    match rule(policy).class(death) {
        ExitClass::Clean | ExitClass::Asked | ExitClass::Temporary => false,
        ExitClass::Config
        | ExitClass::Fatal
        | ExitClass::Signal
        | ExitClass::OutOfMemory
        | ExitClass::Unhealthy
        | ExitClass::TimedOut
        | ExitClass::NotSpawned
        | ExitClass::Failure => true,
    }
}
