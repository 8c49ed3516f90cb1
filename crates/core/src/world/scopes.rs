//! Two copies of one scope never run at the same time: the newer run waits for the end of the older one.

use super::World;
use crate::action::Step;
use crate::run::{Phase, RunEvent};
use crate::time::Now;
use ostler_model::RunId;
use std::hash::{DefaultHasher, Hash, Hasher};

impl World {
    /// The runs that hold or want a scope, oldest first.
    pub(super) fn of_scope(&self, key: &str) -> Vec<RunId> {
        let digest = digest(key);
        let ends = (digest, RunId::from_bytes([0; 16]))..=(digest, RunId::from_bytes([0xff; 16]));
        self.scoped
            .range(ends)
            .filter_map(|(_, run)| self.runs.get(run))
            .filter(|run| run.record.scope_key.as_deref() == Some(key))
            .map(|run| run.id())
            .collect()
    }

    /// Starts the newest run that waits for a free scope. It takes over the slot of the run before it, if both are in
    /// the same pool.
    pub(super) fn unblock(&mut self, key: &str, slot: Option<&str>, now: Now, out: &mut Step) {
        let wanting = self.of_scope(key);
        let is_held = wanting.iter().any(|id| {
            self.runs.get(id).is_some_and(|run| !matches!(run.phase, Phase::WaitingForScope))
        });
        let Some(newest) = wanting.last().copied().filter(|_| !is_held) else { return };
        if let Some(run) = self.runs.get_mut(&newest)
            && run.record.unit.is_none()
            && run.record.pool.is_some()
            && run.record.pool.as_deref() != slot
        {
            run.phase = Phase::WaitingForSlot;
            run.record.ticket = Some(self.pools.draw());
            return;
        }
        self.notify(newest, RunEvent::Unblocked, now, out);
    }
}

/// Stable across processes, so that a seed reproduces a history.
pub(super) fn digest(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
