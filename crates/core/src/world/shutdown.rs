//! The stop of the supervisor: units end in dependency order, all other runs at once.

use super::{Serving, World};
use crate::action::{Step, Write};
use crate::run::RunEvent;
use crate::time::Now;
use crate::unit::Unit;
use ostler_model::{Actor, Entry, RunId, Termination, What};
use serde_json::Map;
use std::collections::BTreeSet;

impl World {
    pub(super) fn shutdown(&mut self, by: Actor, now: Now, out: &mut Step) {
        if self.serving != Serving::Open {
            return;
        }
        self.serving = Serving::Stopping;
        let by_units = by.clone();
        out.write(Write::Note(Entry {
            seq: 0,
            at_ms: now.wall_ms,
            who: by,
            what: What::SupervisorStopping,
            run_id: None,
            why: format!("{} live runs end first", self.runs.len()),
            evidence: Map::new(),
        }));
        // Units end in dependency order; all other runs end at once.
        self.units.leave_all(&by_units, now, out);
        let in_order: BTreeSet<RunId> = self.units.iter().filter_map(Unit::run).collect();
        let live: Vec<RunId> =
            self.runs.keys().copied().filter(|run| !in_order.contains(run)).collect();
        for run in live {
            let reason = Termination::ManualCancel;
            let why = "the supervisor is stopping";
            self.notify(
                run,
                RunEvent::Cancel { reason, by: Actor::Supervisor, why, said: None },
                now,
                out,
            );
        }
    }
}
