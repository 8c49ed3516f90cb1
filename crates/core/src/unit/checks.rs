//! What the checks of a live unit mean: ready, not ready in time, unhealthy, heartbeats missing, heartbeats arriving
//! again.

use super::phase::{Ending, Phase, Then};
use super::state::Unit;
use crate::action::{Effect, Step};
use crate::restart::Cause;
use crate::time::Now;
use ostler_model::{Actor, Check, RunId, UnitSpec, What};
use serde_json::json;

impl Unit {
    /// The program is executed: from now on its checks count.
    pub(super) fn spawned(&mut self, run: RunId, now: Now, out: &mut Step) {
        self.shortage = None;
        match &self.record.spec.ready {
            None => self.ready(run, now, out),
            Some(_) => {
                out.effect(Effect::CheckReady { unit: self.name().to_owned(), run });
                self.check_container(run, out);
            }
        }
    }

    /// A container is checked for liveness from its start, because one that never becomes ready may be stuck.
    fn check_container(&self, run: RunId, out: &mut Step) {
        if self.record.spec.container.is_some() && self.record.spec.health.is_some() {
            out.effect(Effect::CheckHealth { unit: self.name().to_owned(), run });
        }
    }

    /// Its run is an adopted one. A check that can be repeated is repeated.
    pub(super) fn check_again(&mut self, run: RunId, now: Now, out: &mut Step) {
        let can_repeat = self.record.spec.ready.as_ref().is_some_and(|ready| match ready.check {
            Check::Http(_) | Check::HttpHealthy(_) | Check::Tcp(_) | Check::Exec(_) => true,
            Check::Line(_) | Check::Notify | Check::App | Check::Delay(_) => false,
        });
        let was_ready = self.record.ready_run == Some(run) || self.record.spec.ready.is_none();
        self.check_container(run, out);
        if can_repeat || !was_ready {
            out.effect(Effect::CheckReady { unit: self.name().to_owned(), run });
        } else {
            self.ready(run, now, out);
        }
    }

    pub(super) fn ready(&mut self, run: RunId, now: Now, out: &mut Step) {
        self.enter(Phase::Ready(run), now);
        self.record.ready_run = Some(run);
        out.write(self.save(now));
        let why = match self.record.spec.ready.as_ref().map(|ready| &ready.check) {
            None => "running",
            Some(Check::App) => "app.ready called",
            Some(Check::Notify) => "READY=1 received",
            Some(Check::Delay(_)) => "start delay elapsed",
            Some(Check::Line(_)) => "expected line found in its output",
            Some(Check::Http(_) | Check::HttpHealthy(_) | Check::Tcp(_) | Check::Exec(_)) => {
                "check passed"
            }
        };
        out.write(self.note(Actor::Supervisor, What::UnitReady, why, json!({}), now));
        let UnitSpec { health, heartbeat, container, .. } = &self.record.spec;
        if (health.is_some() && container.is_none()) || heartbeat.is_some() {
            out.effect(Effect::CheckHealth { unit: self.name().to_owned(), run });
        }
    }

    pub(super) fn not_ready(&mut self, run: RunId, why: &str, now: Now, out: &mut Step) {
        self.check_failed(run, (What::UnitNotReady, Cause::NotReady), why, now, out);
    }

    pub(super) fn unhealthy(&mut self, run: RunId, why: &str, now: Now, out: &mut Step) {
        self.check_failed(run, (What::UnitUnhealthy, Cause::Unhealthy), why, now, out);
    }

    /// A check failed: the run is ended, and that end is judged.
    fn check_failed(
        &mut self,
        run: RunId,
        (what, cause): (What, Cause),
        why: &str,
        now: Now,
        out: &mut Step,
    ) {
        out.write(self.note(Actor::Supervisor, what, why, json!({}), now));
        self.check_message = Some(why.to_owned());
        let ending = Ending { run, then: Then::Judge(cause) };
        self.end(ending, &Actor::Supervisor, "check failed", now, out);
    }

    /// Its heartbeats are late, or its readiness check fails. Only the journal and the view change.
    pub(super) fn degrade(&mut self, why: &str, now: Now, out: &mut Step) {
        if self.degraded.is_none() {
            out.write(self.note(Actor::Supervisor, What::UnitUnhealthy, why, json!({}), now));
            self.degraded = Some(why.to_owned());
        }
    }

    pub(super) fn recover(&mut self, now: Now, out: &mut Step) {
        if let Some(was) = self.degraded.take() {
            let why = format!("recovered from: {was}");
            out.write(self.note(Actor::Supervisor, What::UnitRecovered, &why, json!({}), now));
        }
    }
}
