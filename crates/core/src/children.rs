//! Runs that a process of another run requested. They end with that run.
//!
//! The record holds the parent, so the tie survives a crash of the supervisor. Runs that are kept (`keep`) are not
//! listed here.

use crate::action::{EndRun, Step};
use ostler_model::{Actor, RunId, RunRecord};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct Children {
    of: BTreeMap<RunId, BTreeSet<RunId>>,
    /// Runs that another supervisor owns: whether they have ended is unknown.
    elsewhere: BTreeSet<RunId>,
}

impl Children {
    pub(crate) fn add(&mut self, child: &RunRecord) {
        if let Some(parent) = child.parent.filter(|_| !child.keep) {
            self.of.entry(parent).or_default().insert(child.run_id);
        }
    }

    pub(crate) fn remove(&mut self, child: &RunRecord) {
        let Some(parent) = child.parent else { return };
        if let Some(children) = self.of.get_mut(&parent) {
            children.remove(&child.run_id);
            if children.is_empty() {
                self.of.remove(&parent);
            }
        }
    }

    pub(crate) fn is_elsewhere(&mut self, run: RunId) {
        self.elsewhere.insert(run);
    }

    pub(crate) fn is_here(&mut self, run: RunId) {
        self.elsewhere.remove(&run);
    }

    /// Parents whose end this supervisor would see.
    pub(crate) fn parents(&self) -> Vec<RunId> {
        self.of.keys().copied().filter(|parent| !self.elsewhere.contains(parent)).collect()
    }

    /// All descendants: children, their children, and so on.
    pub(crate) fn below(&self, run: RunId) -> Vec<RunId> {
        let mut found = vec![run];
        let mut next = 0;
        while let Some(parent) = found.get(next) {
            found.extend(self.of.get(parent).into_iter().flatten());
            next += 1;
        }
        found.split_off(1)
    }

    /// The parent ends, so its children end too, in the same way as every run. Happens once.
    pub(crate) fn end_of(&mut self, parent: RunId, out: &mut Step) {
        for child in self.of.remove(&parent).unwrap_or_default() {
            self.end(child, out);
        }
    }

    pub(crate) fn end(&self, child: RunId, out: &mut Step) {
        let why = "its parent run ended";
        out.end_run(EndRun { run: child, by: Actor::Supervisor, why });
    }
}
