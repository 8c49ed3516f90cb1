//! The order of starts and stops: a unit starts when its dependencies are ready, and ends when its dependents have
//! ended.

use super::super::event::Event;
use super::super::phase::Phase;
use super::super::state::Unit;
use super::Units;
use crate::action::Step;
use crate::time::Now;
use ostler_model::{Actor, Part};
use std::collections::BTreeSet;

impl Units {
    fn dependents(&self, name: &str) -> impl Iterator<Item = &Unit> {
        self.dependents.get(name).into_iter().flatten().filter_map(|name| self.get(name))
    }

    /// The names of its dependencies.
    pub(super) fn needed_by(&self, name: &str) -> Vec<String> {
        self.get(name).map(|unit| unit.record.spec.depends_on.clone()).unwrap_or_default()
    }

    /// The dependencies that are not ready.
    pub(crate) fn missing(&self, unit: &Unit) -> Vec<String> {
        let is_missing = |name: &&String| !self.get(name).is_some_and(Unit::is_there);
        unit.record.spec.depends_on.iter().filter(is_missing).cloned().collect()
    }

    /// Ends the leaving units that have no live dependents.
    pub(super) fn leave(&mut self, by: &Actor, now: Now, out: &mut Step) {
        let free: Vec<String> = self
            .iter()
            .filter(|unit| self.may_leave(unit))
            .map(|unit| unit.name().to_owned())
            .collect();
        self.end_all(free, by, now, out);
    }

    /// The same after one end: only the dependencies of that unit can have changed.
    pub(super) fn leave_after(&mut self, needed: &[String], now: Now, out: &mut Step) {
        let free = needed
            .iter()
            .filter(|name| self.get(name).is_some_and(|unit| self.may_leave(unit)))
            .cloned()
            .collect();
        self.end_all(free, &Actor::Supervisor, now, out);
    }

    fn may_leave(&self, unit: &Unit) -> bool {
        matches!(unit.phase, Phase::Leaving(_))
            && !self.dependents(unit.name()).any(|dependent| dependent.phase.is_ending())
    }

    fn end_all(&mut self, names: Vec<String>, by: &Actor, now: Now, out: &mut Step) {
        for name in names {
            self.step(&name, Event::DependentsEnded(by), now, out);
        }
    }

    /// The longest chain of units that must end one after the other.
    pub(crate) fn depth_of_all(&self) -> usize {
        let depths = self.units.keys().map(|name| self.depth(name, &mut BTreeSet::new()));
        depths.max().unwrap_or(0)
    }

    fn depth(&self, name: &str, seen: &mut BTreeSet<String>) -> usize {
        if !seen.insert(name.to_owned()) {
            return 0;
        }
        let needed = self.get(name).map(|unit| unit.record.spec.depends_on.as_slice());
        let deepest =
            needed.unwrap_or_default().iter().map(|name| self.depth(name, seen) + 1).max();
        deepest.unwrap_or(0)
    }

    /// Launches every waiting unit whose dependencies are ready.
    pub(super) fn launch_ready(&mut self, now: Now, out: &mut Step) {
        let needed = self.iter().flat_map(|unit| self.stopped_parts(unit)).collect();
        self.begin_parts(needed, now, out);
        let free: Vec<String> = self
            .iter()
            .filter(|unit| self.may_launch(unit))
            .map(|unit| unit.name().to_owned())
            .collect();
        self.launch_all(free, now, out);
    }

    /// The same after one change: only this unit, its dependents and its daemon parts.
    pub(super) fn launch_after(&mut self, name: &str, now: Now, out: &mut Step) {
        let Some(unit) = self.get(name) else { return };
        let stopped: BTreeSet<String> = self.stopped_parts(unit).collect();
        self.begin_parts(stopped, now, out);
        let Some(unit) = self.get(name) else { return };
        let needed = unit.record.spec.depends_on.iter().filter_map(|needed| self.get(needed));
        let near = std::iter::once(unit).chain(self.dependents(name)).chain(needed);
        let free: BTreeSet<String> =
            near.filter(|unit| self.may_launch(unit)).map(|unit| unit.name().to_owned()).collect();
        self.launch_all(free, now, out);
    }

    fn may_launch(&self, unit: &Unit) -> bool {
        unit.phase == Phase::Waiting && self.missing(unit).is_empty()
    }

    fn launch_all(&mut self, names: impl IntoIterator<Item = String>, now: Now, out: &mut Step) {
        for name in names {
            self.step(&name, Event::DependenciesReady, now, out);
        }
    }

    /// Daemon parts that this unit needs now and that are stopped.
    fn stopped_parts<'a>(&'a self, unit: &'a Unit) -> impl Iterator<Item = String> + 'a {
        let is_active = unit.phase.needs_dependencies();
        let is_part = |part: &&Unit| {
            part.record.spec.part == Some(Part::Daemon) && part.phase == Phase::Stopped
        };
        let needed = unit.record.spec.depends_on.iter().filter(move |_| is_active);
        needed.filter_map(|name| self.get(name)).filter(is_part).map(|part| part.name().to_owned())
    }

    fn begin_parts(&mut self, names: BTreeSet<String>, now: Now, out: &mut Step) {
        for name in names {
            self.step(&name, Event::Wanted, now, out);
        }
    }
}
