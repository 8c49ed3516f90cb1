//! Everything that one supervisor decides about. The only entry point is `step`.
//!
//! Each event goes to the run or unit that it is about (`step`). The world itself decides three things: whether new runs are accepted,
//! which run holds a scope, and whether our lease still allows actions. After the lease has lapsed (the process was
//! stopped or starved), every event waits until the registry has said which runs are still ours. Otherwise a
//! supervisor that resumes late could signal another supervisor's run.

mod queries;
mod runs;
mod scopes;
mod shutdown;
mod step;
mod take_up;

use crate::agent::Agents;
use crate::children::Children;
use crate::event::Event;
use crate::lease::Lease;
use crate::pool::Pools;
use crate::run::Run;
use crate::time::Now;
use crate::unit::Units;
use ostler_model::{AdoptPolicy, RunId, Settings};
use scopes::digest;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub struct World {
    adopt: AdoptPolicy,
    lease: Lease,
    /// Boxed, because a map node reserves space for eleven entries and is seldom full.
    pub(crate) runs: BTreeMap<RunId, Box<Run>>,
    due: BTreeSet<(u64, RunId)>,
    /// The runs that hold or want a scope, by a digest of the scope key. Every unit's run has one.
    scoped: BTreeSet<(u64, RunId)>,
    pub(crate) serving: Serving,
    /// All runs are reconciled: which of them are alive is known.
    pub(crate) is_reconciled: bool,
    pub(crate) units: Units,
    pub(crate) pools: Pools,
    /// Pool members that belong to no unit.
    pub(crate) pooled: BTreeSet<(String, RunId)>,
    pub(crate) agents: Agents,
    pub(crate) children: Children,
    /// Events that came in while the lease was in doubt.
    deferred: Vec<Event>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    Open,
    Stopping,
    Stopped,
}

impl World {
    /// For a supervisor that has just taken its lease.
    pub fn new(settings: &Settings, now: Now) -> Self {
        Self {
            adopt: settings.adopt,
            lease: Lease::new(settings.lease_ms, now),
            runs: BTreeMap::new(),
            due: BTreeSet::new(),
            scoped: BTreeSet::new(),
            serving: Serving::Open,
            is_reconciled: false,
            units: Units::default(),
            agents: Agents::default(),
            children: Children::default(),
            pools: Pools::default(),
            pooled: BTreeSet::new(),
            deferred: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, run: Run) {
        let id = run.id();
        if let Some(key) = &run.record.scope_key {
            self.scoped.insert((digest(key), id));
        }
        self.children.add(&run.record);
        if let Some(pool) = run.record.pool.clone().filter(|_| run.record.unit.is_none()) {
            self.pools.drawn(run.record.ticket);
            self.pooled.insert((pool, id));
        }
        self.runs.insert(id, Box::new(run));
    }

    fn remove(&mut self, id: RunId) -> Option<Box<Run>> {
        let run = self.runs.remove(&id)?;
        self.agents.forget(id);
        if let Some(due) = run.listed_due {
            self.due.remove(&(due, id));
        }
        if let Some(key) = &run.record.scope_key {
            self.scoped.remove(&(digest(key), id));
        }
        self.children.remove(&run.record);
        if let Some(pool) = run.record.pool.clone() {
            self.pooled.remove(&(pool, id));
        }
        Some(run)
    }
}
