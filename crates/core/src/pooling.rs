//! The queue of each pool: which members hold a slot, which wait, and which is next. Units and runs queue together.

use crate::action::{Effect, Step, Write};
use crate::event::NewRun;
use crate::pool::Verdict;
use crate::run::{Phase as RunPhase, Run, RunEvent};
use crate::time::Now;
use crate::world::{Serving, World};
use ostler_model::{
    Actor, PoolSpec, PoolView, RunId, RunState, UnitRecord, UnitState, UnitView, What,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// A member that waits for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Waiter {
    Unit(String),
    Run(RunId),
}

impl World {
    pub(crate) fn pools_known(&mut self, pools: Vec<PoolSpec>, units: &[UnitRecord]) {
        for spec in pools {
            self.pools.set(spec);
        }
        for unit in units {
            self.pools.drawn(unit.ticket);
        }
    }

    /// A pool that the file no longer declares stays while a unit or run names it.
    pub(crate) fn declare_pools(&mut self, pools: Vec<PoolSpec>, file: &str, out: &mut Step) {
        let dropped: Vec<PoolSpec> = self
            .pools
            .specs()
            .filter(|known| known.file.as_deref() == Some(file))
            .filter(|known| !pools.iter().any(|new| new.name == known.name))
            .cloned()
            .collect();
        let dropped = dropped.into_iter().map(|known| PoolSpec { file: None, ..known });
        for spec in pools.into_iter().chain(dropped) {
            if self.pools.set(spec.clone()) {
                out.write(Write::SavePool(Box::new(spec)));
            }
        }
    }

    /// The run keeps its ticket.
    pub(crate) fn requeued(&mut self, new: NewRun, now: Now, out: &mut Step) {
        let mut run = Run::new(new.record, new.limits, new.detach, RunPhase::WaitingForSlot);
        run.has_slot = false;
        run.is_queue_reported = true;
        let (why, evidence) =
            ("still waiting after a restart of the supervisor", json!({ "pool": run.record.pool }));
        out.write(run.note(Actor::Supervisor, What::Adopted, why, evidence, now));
        self.add(run);
    }

    /// All known pools.
    pub fn pool_specs(&self) -> impl Iterator<Item = &PoolSpec> {
        self.pools.specs()
    }

    pub fn pool_views(&self, now: Now) -> Vec<PoolView> {
        let view = |spec: &PoolSpec| {
            let running = self.members(&spec.name);
            let queued: Vec<String> = self.queue(&spec.name).into_iter().map(description).collect();
            let why = self.pools.why(&spec.name, &running, now).filter(|_| !queued.is_empty());
            PoolView {
                name: spec.name.clone(),
                max: spec.max,
                min_free_memory_bytes: spec.min_free_memory_bytes,
                max_pressure: spec.max_pressure,
                file: spec.file.clone(),
                running,
                queued,
                why: why.unwrap_or_default(),
            }
        };
        self.pools.specs().map(view).collect()
    }

    /// The members that hold a slot, by the names that people use.
    fn members(&self, pool: &str) -> Vec<String> {
        let units = self.units.of_pool(pool).filter(|unit| unit.has_slot());
        let units = units.map(|unit| unit.name().to_owned());
        let runs = self.runs_of_pool(pool).filter(|run| run.has_slot);
        units.chain(runs.map(|run| short(run.id()))).collect()
    }

    fn runs_of_pool(&self, pool: &str) -> impl Iterator<Item = &Run> {
        let ends = (pool.to_owned(), RunId::from_bytes([0; 16]))
            ..=(pool.to_owned(), RunId::from_bytes([0xff; 16]));
        self.pooled.range(ends).filter_map(|(_, run)| self.runs.get(run)).map(Box::as_ref)
    }

    /// The members that wait and have a ticket, next one first.
    fn queue(&self, pool: &str) -> Vec<Waiter> {
        let units = self.units.of_pool(pool).filter(|unit| unit.waits_for_slot());
        let units = units
            .filter_map(|unit| Some((unit.record.ticket?, Waiter::Unit(unit.name().to_owned()))));
        let runs =
            self.runs_of_pool(pool).filter(|run| matches!(run.phase, RunPhase::WaitingForSlot));
        let runs = runs.filter_map(|run| Some((run.record.ticket?, Waiter::Run(run.id()))));
        let by_ticket: BTreeMap<u64, Waiter> = units.chain(runs).collect();
        by_ticket.into_values().collect()
    }

    /// Starts the next member of every pool with a free slot. Runs at the end of a step, so that a member that
    /// restarts in the same step has not lost its slot to another.
    pub(crate) fn admit(&mut self, now: Now, out: &mut Step) {
        if self.serving != Serving::Open || !self.is_reconciled {
            return self.pools.at_rest();
        }
        let mut named: BTreeSet<String> = self.units.pools().cloned().collect();
        named.extend(self.pooled.iter().map(|(pool, _)| pool.clone()));
        self.drop_unused(&named, out);
        let mut must_look = false;
        for pool in &named {
            must_look |= self.admit_to(pool, now, out);
        }
        if must_look {
            out.effect(Effect::LookAtMemory);
        }
    }

    /// Returns whether a memory sample is needed first.
    fn admit_to(&mut self, pool: &str, now: Now, out: &mut Step) -> bool {
        for name in self.units.queue_of(pool, now, out) {
            let Some(unit) = self.units.get_mut(&name) else { continue };
            if unit.record.ticket.is_none() {
                unit.record.ticket = Some(self.pools.draw());
            }
        }
        let queue = self.queue(pool);
        if queue.is_empty() {
            self.pools.rests(pool);
            return false;
        }
        let mut must_look = false;
        let mut waiting = queue.into_iter().peekable();
        while waiting.peek().is_some() {
            match self.pools.decide(pool, self.members(pool).len(), now) {
                Verdict::Start => {}
                Verdict::Look => {
                    must_look = true;
                    break;
                }
                Verdict::Wait(_) => break,
            }
            match waiting.next() {
                Some(Waiter::Unit(name)) => {
                    self.note_admitted(&name, now, out);
                    self.units.admit(&name, now, out);
                }
                Some(Waiter::Run(run)) => self.notify(run, RunEvent::Unblocked, now, out),
                None => {}
            }
            self.pools.started(pool, now);
        }
        // A member that starts as soon as the memory sample is there is not reported as waiting.
        if !must_look {
            for waiter in waiting {
                self.note_queued(&waiter, pool, now, out);
            }
        }
        must_look
    }

    fn note_admitted(&mut self, name: &str, now: Now, out: &mut Step) {
        let Some(unit) = self.units.get(name).filter(|unit| unit.is_queue_reported) else { return };
        let waited_ms = now.wall_ms.saturating_sub(unit.since_ms);
        let evidence = json!({ "pool": unit.record.spec.pool, "waitedMs": waited_ms });
        let why = "next in the queue";
        out.write(unit.note(Actor::Supervisor, What::Admitted, why, evidence, now));
    }

    /// Once per wait: the record keeps the ticket, the journal gets the reason, and the caller gets its answer.
    fn note_queued(&mut self, waiter: &Waiter, pool: &str, now: Now, out: &mut Step) {
        let members = self.members(pool);
        let why = self.pools.why(pool, &members, now).unwrap_or_default();
        let evidence = json!({ "pool": pool });
        match waiter {
            Waiter::Unit(name) => {
                let Some(unit) = self.units.get_mut(name) else { return };
                if !std::mem::replace(&mut unit.is_queue_reported, true) {
                    out.write(unit.save(now));
                    out.write(unit.note(Actor::Supervisor, What::Queued, &why, evidence, now));
                }
            }
            Waiter::Run(run) => {
                let Some(run) = self.runs.get_mut(run) else { return };
                if !std::mem::replace(&mut run.is_queue_reported, true) {
                    out.write(run.save(RunState::Queued, now));
                    out.write(run.note(Actor::Supervisor, What::Queued, why, evidence, now));
                    out.effect(Effect::Queued(run.id()));
                }
            }
        }
    }

    /// A pool that no file declares is removed with its last member.
    fn drop_unused(&mut self, used: &BTreeSet<String>, out: &mut Step) {
        let is_unused = |spec: &&PoolSpec| spec.file.is_none() && !used.contains(&spec.name);
        let unused: Vec<String> =
            self.pools.specs().filter(is_unused).map(|spec| spec.name.clone()).collect();
        for name in unused {
            self.pools.remove(&name);
            out.write(Write::RemovePool(name));
        }
    }

    /// Fills in why each queued unit waits, and how many members are ahead of it.
    pub(crate) fn report_queued(&self, views: &mut [UnitView], now: Now) {
        let mut known: BTreeMap<String, (Option<String>, Vec<Waiter>)> = BTreeMap::new();
        for view in views.iter_mut().filter(|view| view.state == UnitState::Queued) {
            let Some(pool) = view.pool.clone() else { continue };
            let (why, queue) = known.entry(pool.clone()).or_insert_with(|| {
                (self.pools.why(&pool, &self.members(&pool), now), self.queue(&pool))
            });
            view.why = queue_reason(why.as_deref(), queue, &Waiter::Unit(view.name.clone()));
        }
    }

    /// The same text for a run.
    pub fn why_queued(&self, run: RunId, now: Now) -> Option<String> {
        let waiting = self.runs.get(&run)?;
        let pool = waiting.record.pool.as_deref()?;
        if !matches!(waiting.phase, RunPhase::WaitingForSlot) {
            return None;
        }
        let why = self.pools.why(pool, &self.members(pool), now);
        Some(queue_reason(why.as_deref(), &self.queue(pool), &Waiter::Run(run)))
    }
}

fn description(waiter: Waiter) -> String {
    match waiter {
        Waiter::Unit(name) => name,
        Waiter::Run(run) => short(run),
    }
}

/// The last part of the id, as `ostler runs` shows it.
fn short(run: RunId) -> String {
    let id = run.to_string();
    id.rsplit('-').next().unwrap_or_default().to_owned()
}

fn queue_reason(why: Option<&str>, queue: &[Waiter], own: &Waiter) -> String {
    let before = queue.iter().take_while(|waiter| *waiter != own).count();
    let why = why.unwrap_or("about to start");
    match before {
        0 => why.to_owned(),
        1 => format!("{why}; 1 ahead in the queue"),
        before => format!("{why}; {before} ahead in the queue"),
    }
}
