//! What is written for a unit: its record, its journal entries, and the calls of its hooks.

use super::state::Unit;
use crate::action::{Effect, Step, Write};
use crate::time::Now;
use ostler_model::{Actor, Condition, Entry, RunId, RunRecord, UnitEnd, What};
use serde_json::{Map, Value, json};

/// The number of ends kept in the record.
const ENDS_MOST: usize = 10;

impl Unit {
    pub(crate) fn save(&mut self, now: Now) -> Write {
        self.record.updated_at_ms = now.wall_ms;
        Write::SaveUnit(Box::new(self.record.clone()))
    }

    pub(crate) fn note(
        &self,
        who: Actor,
        what: What,
        why: &str,
        evidence: Value,
        now: Now,
    ) -> Write {
        let mut evidence = match evidence {
            Value::Object(map) => map,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        evidence.insert("unit".to_owned(), json!(self.name()));
        Write::Note(Entry {
            seq: 0,
            at_ms: now.wall_ms,
            who,
            what,
            run_id: self.run(),
            why: why.to_owned(),
            evidence,
        })
    }

    /// An entry that another part of the supervisor wants in the unit's journal.
    pub(super) fn noted(
        &self,
        run: RunId,
        (what, why, evidence): (What, &str, &Value),
        now: Now,
        out: &mut Step,
    ) {
        if self.run() == Some(run) {
            out.write(self.note(Actor::Supervisor, what, why, evidence.clone(), now));
        }
    }

    /// Adds an end to the record, newest first.
    pub(super) fn add_end(
        &mut self,
        run: &RunRecord,
        ended_at_ms: u64,
        end: (&str, &str),
        now: Now,
    ) {
        let (description, then) = end;
        self.record.ends.insert(
            0,
            UnitEnd {
                run_id: run.run_id,
                at_ms: now.wall_ms,
                ran_ms: ran_ms(run, ended_at_ms),
                description: description.to_owned(),
                then: then.to_owned(),
            },
        );
        self.record.ends.truncate(ENDS_MOST);
    }

    /// Records what follows from its last end.
    pub(super) fn set_consequence(&mut self, then: String) {
        if let Some(end) = self.record.ends.first_mut() {
            end.then = then;
        }
    }

    /// Reports the begin of a failure condition: once, until the unit has recovered.
    pub(super) fn report_trouble(&mut self, condition: Condition, why: &str, out: &mut Step) {
        let is_new = match (self.record.trouble, condition) {
            (None, _) | (Some(Condition::Crash), Condition::Breaker) => true,
            (Some(_), _) => false,
        };
        if is_new {
            self.record.trouble = Some(condition);
            let unit = self.name().to_owned();
            out.effect(Effect::CallHook { unit, condition, why: why.to_owned() });
        }
    }

    /// Reports that the failure condition is over, once the unit has been ready for long enough.
    pub(super) fn report_recovery(&mut self, now: Now, out: &mut Step) {
        if self.recovers_at_mono_ms.is_some_and(|at| now.mono_ms >= at) {
            self.recovers_at_mono_ms = None;
            self.record.trouble = None;
            out.write(self.save(now));
            let why = "stayed ready long enough";
            out.write(self.note(Actor::Supervisor, What::UnitRecovered, why, json!({}), now));
            out.effect(Effect::CallHook {
                unit: self.name().to_owned(),
                condition: Condition::Recovery,
                why: why.to_owned(),
            });
        }
    }
}

/// How long the run lived.
pub(super) fn ran_ms(run: &RunRecord, ended_at_ms: u64) -> u64 {
    run.started_at_ms.map_or(0, |started| ended_at_ms.saturating_sub(started))
}
