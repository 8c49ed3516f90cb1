//! Containers that left the list of agents. They are no longer watched, and run on until `down` or `stop`. A run
//! without a unit represents each: it ends with the daemon like every run, and removes its container.
//!
//! ```text
//!   unit with a shim ──left the list──► leave note, TERM ──► note `is_left` ──► run `shim UNIT --left`
//!        ▲                                                                             │      │
//!        └────────────── back in the list: leave note, cancel ◄────────────────────────┘      └─► `down`, `stop`: cancel
//! ```

use crate::backends::container::{ENGINE_MS, beside, way_to};
use crate::supervisor::Supervisor;
use ostler_core::Event;
use ostler_model::{
    Actor, Backend, ContainerMade, ContainerOrder, Purpose, RunId, RunRecord, Termination,
};

/// If the run ends sooner by itself, no other is started: `down` and the next supervisor remove the container.
const SETTLED_MS: u64 = 10_000;

impl Supervisor {
    /// Tells the shim that is about to be ended to leave its container running.
    pub(crate) fn leave_container(&self, unit: &str) {
        if self.note_of(unit, ".made").exists() {
            let _ = std::fs::write(self.note_of(unit, ContainerOrder::LEAVE), "");
        }
    }

    /// The run of a container without a unit.
    pub(crate) fn watch_left(&mut self, unit: &str, made: ContainerMade) {
        let grace_ms = made.order.grace_ms.saturating_add(ENGINE_MS);
        let env = way_to(made);
        let run = env.and_then(|env| beside(unit, "--left", Purpose::LeftContainer, env));
        if let Some(mut run) = run {
            run.limits.grace_ms = grace_ms;
            let _ = self.new_run(run, Actor::Supervisor);
        }
    }

    /// The containers that this declaration ends: named, or of a file that `down` removes.
    pub(crate) fn left_to_end(&self, named: &[String], down: Option<&str>) -> Vec<String> {
        let left = self.all_made().into_iter().filter(|made| made.is_left);
        let is_meant = |order: &ContainerOrder| {
            named.contains(&order.unit) || (down.is_some() && order.file.as_deref() == down)
        };
        let meant = left.filter(|made| is_meant(&made.order));
        meant
            .map(|made| made.order.unit)
            .filter(|unit| self.core.world.unit(unit).is_none())
            .collect()
    }

    pub(crate) fn end_left(&mut self, unit: &str, by: &Actor) {
        let _ = std::fs::remove_file(self.note_of(unit, ContainerOrder::LEAVE));
        if let Some(run) = self.sweep_of(unit) {
            let why = "its container left the list of agents, and its file is taken down";
            self.core.events.push_back(Event::CancelRequested {
                run,
                by: by.clone(),
                why,
                said: None,
            });
        } else if let Some(env) = self.made_of(unit).and_then(way_to) {
            self.sweep_after(unit, env);
        }
    }

    /// The run of the container of a unit that left the list.
    pub(crate) fn is_left_watched(&self, unit: &str) -> bool {
        let run = self.sweep_of(unit).and_then(|run| self.core.world.record(run));
        run.is_some_and(|run| run.purpose == Purpose::LeftContainer)
    }

    /// Handles the end of such a run.
    pub(crate) fn close_left(&mut self, record: &RunRecord) {
        if record.purpose != Purpose::LeftContainer || self.life.stopping {
            return;
        }
        let Some(unit) = unit_of(record).map(str::to_owned) else { return };
        if self.is_to_run(&unit) || self.sweep_of(&unit).is_some() {
            return;
        }
        let Some(made) = self.made_of(&unit) else { return };
        let ran_ms = record.ended_at_ms.unwrap_or(0).saturating_sub(record.created_at_ms);
        match record.termination {
            // The container could not be removed in time.
            Some(Termination::ManualCancel) => {
                if let Some(env) = way_to(made) {
                    self.sweep_after(&unit, env);
                }
            }
            Some(_) | None if ran_ms >= SETTLED_MS => self.watch_left(&unit, made),
            Some(_) | None => {}
        }
    }

    /// A container is not a process of its shim: while the note says that it may exist, the run is not extinct.
    pub(crate) fn may_have_container(&self, run: RunId) -> bool {
        let Some(record) = self.core.world.record(run) else { return false };
        let unit = match (&record.unit, record.backend_id) {
            (Some(unit), Backend::Container) => Some(unit.as_str()),
            _ if record.purpose == Purpose::LeftContainer => unit_of(record),
            _ => None,
        };
        unit.is_some_and(|unit| self.note_of(unit, ".made").exists())
    }
}

/// The unit for which such a run exists.
fn unit_of(record: &RunRecord) -> Option<&str> {
    record.scope_key.as_deref()?.strip_prefix("unit ")
}
