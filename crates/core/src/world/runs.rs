//! The life of a run in the world: asked for, followed by its deadline, forgotten.

use super::{Serving, World};
use crate::action::{Effect, Refusal, Step, Write};
use crate::agent::AgentEvent;
use crate::event::NewRun;
use crate::run::{Phase, Run, RunEvent};
use crate::time::Now;
use ostler_model::{Actor, Counter, Detach, Limits, RunId, RunRecord, RunState, Termination, What};
use serde_json::json;

impl World {
    pub(super) fn spawn_asked(&mut self, new: NewRun, now: Now, out: &mut Step) {
        if self.serving != Serving::Open {
            let run = new.record.run_id;
            out.effect(Effect::Refuse { run, refusal: Refusal::ShuttingDown });
            return;
        }
        let id = new.record.run_id;
        let mut run =
            Run::new(new.record, new.limits, new.detach, Phase::Starting { cancel: None });
        out.write(run.save(RunState::Starting, now));
        out.write(run.note(
            new.by.clone(),
            What::Intent,
            run.record.command.clone(),
            json!({
                "sessionId": run.record.session_id,
                "scopeKey": run.record.scope_key,
                "timeoutMs": run.limits.timeout_ms,
                "noOutputTimeoutMs": run.limits.no_output_timeout_ms,
                "graceMs": run.limits.grace_ms,
                "parent": run.record.parent,
            }),
            now,
        ));
        if !self.has_parent(&run.record) {
            run.phase = Phase::WaitingForScope;
            self.add(run);
            self.children.end(id, out);
            return;
        }
        let older =
            run.record.scope_key.as_deref().map(|key| self.of_scope(key)).unwrap_or_default();
        for older in older {
            if let Some(older_run) = self.runs.get(&older) {
                out.write(older_run.note(
                    new.by.clone(),
                    What::Replaced,
                    format!("by run {id}"),
                    json!({ "by": id }),
                    now,
                ));
            }
            let why = "replaced by a newer run of its scope";
            let reason = Termination::ManualCancel;
            self.notify(
                older,
                RunEvent::Cancel { reason, by: new.by.clone(), why, said: None },
                now,
                out,
            );
        }
        // Two copies of one scope never run at the same time: the newer one waits.
        let is_held =
            run.record.scope_key.as_deref().is_some_and(|key| !self.of_scope(key).is_empty());
        // A unit has its slot before its run exists.
        let is_pooled = run.record.pool.is_some() && run.record.unit.is_none();
        if is_held {
            run.phase = Phase::WaitingForScope;
            run.has_slot = false;
        } else if is_pooled {
            run.phase = Phase::WaitingForSlot;
            run.has_slot = false;
            run.record.ticket = Some(self.pools.draw());
        } else {
            out.effect(Effect::Spawn(id));
        }
        let unit = run.record.unit.clone();
        self.add(run);
        if let Some(unit) = unit {
            self.units.launched(&unit, id, now, out);
        }
    }

    /// Updates the list of deadlines, and removes a run that is over.
    pub(super) fn settle(&mut self, id: RunId, now: Now, out: &mut Step) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if run.is_ending() {
            self.children.end_of(id, out);
        }
        if matches!(run.phase, Phase::Exited) {
            self.forget(id, now, out);
            return;
        }
        let due = run.due();
        if run.listed_due != due {
            if let Some(old) = run.listed_due {
                self.due.remove(&(old, id));
            }
            if let Some(new) = due {
                self.due.insert((new, id));
            }
            run.listed_due = due;
        }
    }

    pub(super) fn forget(&mut self, id: RunId, now: Now, out: &mut Step) {
        let Some(run) = self.remove(id) else { return };
        match (self.serving, run.record.state, &run.record.unit) {
            (Serving::Open, RunState::Exited, _) => self.units.ended(&run.record, now, out),
            (Serving::Open, _, Some(_)) => self.units.intent_lost(&run.record, now, out),
            (Serving::Stopping, _, _) => self.units.left(&run.record, now, out),
            (Serving::Open | Serving::Stopped, _, _) => {}
        }
        if let Some(key) = run.record.scope_key {
            let slot = run.record.pool.filter(|_| run.has_slot);
            self.unblock(&key, slot.as_deref(), now, out);
        }
    }

    /// The operator is notified once of a question, even across supervisors, so the unit's record keeps what was
    /// notified.
    pub(super) fn agent_moves(&mut self, id: RunId, event: AgentEvent, now: Now, out: &mut Step) {
        let Some(run) = self.runs.get(&id) else { return };
        if run.record.state == RunState::Exiting {
            return;
        }
        let unit = run.record.unit.as_deref();
        let description = unit.and_then(|unit| self.units.get(unit)?.record.asked.clone());
        let news = self.agents.step(
            id,
            description.filter(|description| description.run == id),
            event,
            now,
        );
        let Some(news) = news else { return };
        out.write(run.note(Actor::Supervisor, news.what, news.why, news.evidence, now));
        let Some(unit) = unit else { return };
        self.units.asked(unit, news.description, now, out);
        if let Some(condition) = news.condition {
            out.effect(Effect::CallHook { unit: unit.to_owned(), condition, why: news.message });
        }
    }

    /// The run continues in the background, also after a crash.
    pub(super) fn client_left(&mut self, id: RunId, by: Actor, now: Now, out: &mut Step) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if let Some(client) = run.record.client.take() {
            let why = "continues in the background";
            out.write(run.note(by, What::ClientLeft, why, json!({ "pid": client.pid }), now));
            out.write(run.save(run.record.state, now));
        }
    }

    pub(super) fn detached(&mut self, parent: RunId, child: RunRecord, now: Now, out: &mut Step) {
        let phase = Phase::Running { overall_due: None, silence_due: None };
        let mut run = Run::new(child, Limits::default(), Detach::Allow, phase);
        out.write(run.save(RunState::Running, now));
        out.write(run.note(
            Actor::Supervisor,
            What::Detached,
            format!("run {parent} allows detached descendants"),
            json!({ "from": parent, "pid": run.record.pid }),
            now,
        ));
        out.write(Write::Count(Counter::Spawn, 1));
        self.add(run);
    }

    /// Whether its parent run is alive and not ending.
    pub(super) fn has_parent(&self, record: &RunRecord) -> bool {
        let Some(parent) = record.parent.filter(|_| !record.keep) else { return true };
        self.runs.get(&parent).is_some_and(|parent| !parent.is_ending())
    }
}
