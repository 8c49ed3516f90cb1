//! Runs of another supervisor: those of the previous one are taken up, those that another took over are let go.

use super::World;
use crate::action::{Effect, Step, Write};
use crate::event::{Observation, Streams};
use crate::reconcile::{Decision, decide};
use crate::run::{Phase, Run, RunEvent};
use crate::time::Now;
use ostler_model::{Actor, Counter, Entry, RunId, RunRecord, Termination, What};
use serde_json::{Map, json};
use std::collections::BTreeSet;

impl World {
    pub(super) fn observed(
        &mut self,
        record: Box<RunRecord>,
        seen: Observation,
        stolen: bool,
        now: Now,
        out: &mut Step,
    ) {
        let decision = decide(&seen, self.adopt, stolen);
        let id = record.run_id;
        if matches!(decision, Decision::LeaveAlone | Decision::Steal) {
            self.children.is_elsewhere(id);
        } else {
            self.children.is_here(id);
        }
        if decision == Decision::LeaveAlone {
            out.write(Write::Note(Entry {
                seq: 0,
                at_ms: now.wall_ms,
                who: Actor::Supervisor,
                what: What::LeftAlone,
                run_id: Some(id),
                why: "another supervisor holds the lease".to_owned(),
                evidence: Map::from_iter([("owner".to_owned(), json!(record.owner_instance_id))]),
            }));
            return;
        }
        if decision == Decision::Steal {
            out.effect(Effect::Steal { record, seen });
            return;
        }
        let mut run = Run::taken_up(*record, &seen);
        if stolen {
            out.write(Write::Count(Counter::LeaseSteal, 1));
            out.write(run.note(
                Actor::Supervisor,
                What::LeaseStolen,
                "its owner's lease expired",
                json!({ "policy": self.adopt }),
                now,
            ));
        }
        match decision {
            Decision::LeaveAlone | Decision::Steal => {}
            Decision::MarkStale => {
                if seen.streams == Streams::Kept {
                    out.effect(Effect::Adopt(Box::new(run.record.clone())));
                }
                run.found_gone(&seen, now, out);
            }
            Decision::TakeEnd | Decision::EndRest | Decision::Resume | Decision::Terminate => {
                out.write(Write::Count(Counter::ReconcileOrphans, 1));
                out.effect(Effect::Adopt(Box::new(run.record.clone())));
                run.resume(decision, &seen, now, out);
            }
        }
        if matches!(run.phase, Phase::Exited) {
            self.units.ended(&run.record, now, out);
            return;
        }
        self.units.adopted(&run.record, now, out);
        self.add(run);
        self.settle(id, now, out);
    }

    /// Another instance owns these runs now. They are not signalled and their records are not written.
    pub(super) fn abandon(&mut self, lost: Vec<RunId>, now: Now, out: &mut Step) {
        let mut keys = BTreeSet::new();
        for id in lost {
            let Some(run) = self.remove(id) else { continue };
            self.children.is_elsewhere(id);
            out.write(run.note(
                Actor::Supervisor,
                What::LeaseLost,
                "our lease expired and another supervisor took the run over",
                json!({}),
                now,
            ));
            out.effect(Effect::Abandon(id));
            keys.extend(run.record.scope_key);
        }
        // A run that waits for a scope of another supervisor would be a second copy.
        for key in keys {
            for id in self.of_scope(&key) {
                if self.runs.get(&id).is_some_and(|run| matches!(run.phase, Phase::WaitingForScope))
                {
                    let why = "another supervisor took over the run that it was to replace";
                    let reason = Termination::LeaseLost;
                    self.notify(
                        id,
                        RunEvent::Cancel { reason, by: Actor::Supervisor, why, said: None },
                        now,
                        out,
                    );
                }
            }
        }
    }

    /// Ends runs whose parent ended while no supervisor ran.
    pub(super) fn end_orphans(&mut self, out: &mut Step) {
        for parent in self.children.parents() {
            if !self.runs.contains_key(&parent) {
                self.children.end_of(parent, out);
            }
        }
    }
}
