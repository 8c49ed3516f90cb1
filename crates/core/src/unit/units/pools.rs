//! The members of pools among the units: which wait for a slot, and which got one.

use super::super::event::Event;
use super::super::phase::Phase;
use super::super::state::Unit;
use super::Units;
use crate::action::Step;
use crate::time::Now;
use std::collections::BTreeSet;

impl Units {
    /// The units that name this pool.
    pub(crate) fn of_pool(&self, pool: &str) -> impl Iterator<Item = &Unit> {
        self.pooled.get(pool).into_iter().flatten().filter_map(|name| self.get(name))
    }

    /// Every pool that a unit names.
    pub(crate) fn pools(&self) -> impl Iterator<Item = &String> {
        let is_there = |names: &BTreeSet<String>| names.iter().any(|name| self.get(name).is_some());
        self.pooled.iter().filter(move |(_, names)| is_there(names)).map(|(pool, _)| pool)
    }

    /// It got a slot in its pool.
    pub(crate) fn admit(&mut self, name: &str, now: Now, out: &mut Step) {
        self.step(name, Event::SlotFree, now, out);
    }

    /// The pool members that wait for a slot. A member with a missing dependency leaves the queue.
    pub(crate) fn queue_of(&mut self, pool: &str, now: Now, out: &mut Step) -> Vec<String> {
        let mut queue = Vec::new();
        let mut blocked = Vec::new();
        for unit in self.of_pool(pool) {
            let is_queued = unit.phase == Phase::Queued;
            let holds_slot = unit.phase == Phase::Waiting && unit.has_slot();
            let is_blocked = !self.missing(unit).is_empty();
            let name = unit.name().to_owned();
            if is_blocked && (is_queued || holds_slot) {
                blocked.push(name);
            } else if is_queued {
                queue.push(name);
            }
        }
        for name in blocked {
            self.step(&name, Event::DependencyLost, now, out);
        }
        queue
    }
}
