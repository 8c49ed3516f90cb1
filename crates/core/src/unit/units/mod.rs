//! All units, and what goes from one to the others: the order of starts and stops, pools, and reloads.

mod events;
mod order;
mod pools;
mod reload;
mod settled;
mod spread;

use super::event::Event;
use super::machine::Existence;
use super::phase::Phase;
use super::state::Unit;
use crate::action::Step;
use crate::time::Now;
use ostler_model::{OsText, UnitRecord, UnitSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct Units {
    units: BTreeMap<String, Box<Unit>>,
    /// The dependents of each unit, by the name of the needed unit. May contain names of removed units.
    dependents: BTreeMap<String, BTreeSet<String>>,
    /// The members of each pool.
    pooled: BTreeMap<String, BTreeSet<String>>,
}

impl Units {
    pub(crate) fn get(&self, name: &str) -> Option<&Unit> {
        self.units.get(name).map(Box::as_ref)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Unit> {
        self.units.get_mut(name).map(Box::as_mut)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Unit> {
        self.units.values().map(Box::as_ref)
    }

    pub(crate) fn next_due(&self) -> Option<u64> {
        self.iter().filter_map(Unit::next_due).min()
    }

    /// Loads the units of the registry. Comes before the runs are reconciled.
    pub(crate) fn known(&mut self, records: Vec<UnitRecord>, boot_id: &str, now: Now) {
        let mut shared = Shared::default();
        for mut record in records {
            shared.share(&mut record.spec);
            // After a reboot, a unit that was over starts again.
            if record.over.as_ref().is_some_and(|over| over.boot_id != boot_id) {
                record.over = None;
            }
            let name = record.spec.name.clone();
            self.units.insert(name, Box::new(Unit::new(record, Phase::Reconciling, now)));
        }
        self.index();
    }

    fn index(&mut self) {
        self.dependents.clear();
        self.pooled.clear();
        for unit in self.units.values() {
            if let Some(pool) = &unit.record.spec.pool {
                self.pooled.entry(pool.clone()).or_default().insert(unit.name().to_owned());
            }
            for needed in &unit.record.spec.depends_on {
                let dependents = self.dependents.entry(needed.clone()).or_default();
                dependents.insert(unit.name().to_owned());
            }
        }
    }

    /// Passes one event to one unit. An event for an unknown unit changes nothing.
    fn step(&mut self, name: &str, event: Event<'_>, now: Now, out: &mut Step) {
        if let Some(unit) = self.units.get_mut(name)
            && unit.step(event, now, out) == Existence::Removed
        {
            self.units.remove(name);
        }
    }

    /// Passes one event to every unit.
    fn step_all(&mut self, event: Event<'_>, now: Now, out: &mut Step) {
        self.units.retain(|_, unit| unit.step(event, now, out) == Existence::Stays);
    }
}

/// Shares equal values between the units of one file, to save memory.
#[derive(Default)]
struct Shared {
    inherited: Option<Arc<[OsText]>>,
}

impl Shared {
    fn share(&mut self, spec: &mut UnitSpec) {
        match &self.inherited {
            Some(known) if *known == spec.inherited => spec.inherited = Arc::clone(known),
            _ => self.inherited = Some(Arc::clone(&spec.inherited)),
        }
    }
}
