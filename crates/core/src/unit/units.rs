//! All units, and the dependencies between them: start order and stop order.

use super::machine::{Ask, Declared, Phase, Then, Unit, UnitEvent};
use super::pace::STARTS_MOST;
use crate::action::{Effect, EndRun, Step, Write};
use crate::restart::clear;
use crate::time::Now;
use ostler_model::{
    Actor, AgentNotified, Desired, Extinct, OsText, Part, RunId, RunRecord, Tally, Termination,
    UnitRecord, UnitSpec, What,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Unit> {
        self.units.values().map(Box::as_ref)
    }

    pub(crate) fn next_due(&self) -> Option<u64> {
        let due = |unit: &Unit| match unit.phase {
            Phase::Backoff { until_mono_ms, .. } => Some(until_mono_ms),
            _ => unit.well_at_mono_ms.into_iter().chain(unit.look_idle_mono_ms).min(),
        };
        self.iter().filter_map(due).min()
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

    fn dependents(&self, name: &str) -> impl Iterator<Item = &Unit> {
        self.dependents.get(name).into_iter().flatten().filter_map(|name| self.get(name))
    }

    /// The units that name this pool.
    pub(crate) fn of_pool(&self, pool: &str) -> impl Iterator<Item = &Unit> {
        self.pooled.get(pool).into_iter().flatten().filter_map(|name| self.get(name))
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Unit> {
        self.units.get_mut(name).map(Box::as_mut)
    }

    /// Every pool that a unit names.
    pub(crate) fn pools(&self) -> impl Iterator<Item = &String> {
        let is_there = |names: &BTreeSet<String>| names.iter().any(|name| self.get(name).is_some());
        self.pooled.iter().filter(move |(_, names)| is_there(names)).map(|(pool, _)| pool)
    }

    /// The runs are reconciled: a unit without a run starts now, or waits for a start of the daemon.
    pub(crate) fn reconciled(&mut self, begin: bool, now: Now, out: &mut Step) {
        for unit in self.units.values_mut().filter(|unit| unit.phase == Phase::Reconciling) {
            if unit.record.spec.part == Some(Part::Daemon) {
                // Starts when a unit needs it.
                unit.enter(Phase::Stopped, now);
                continue;
            }
            match unit.record.desired {
                Desired::Stopped => unit.enter(Phase::Stopped, now),
                Desired::Running if unit.record.tally.opened.is_some() => {
                    unit.enter(Phase::Broken, now);
                }
                Desired::Running if unit.record.over.is_some() => unit.enter(Phase::Over, now),
                Desired::Running if begin && !unit.record.rests => unit.resume_wait(now),
                Desired::Running => {
                    unit.record.rests = true;
                    out.write(unit.save(now));
                    unit.enter(Phase::Stopped, now);
                }
            }
        }
        self.launch_ready(now, out);
    }

    /// Starts the units that stopped with the daemon.
    pub(crate) fn wake(&mut self, now: Now, out: &mut Step) {
        for unit in self.units.values_mut() {
            if unit.record.rests {
                unit.record.rests = false;
                out.write(unit.save(now));
                unit.begin(now);
            }
        }
        self.launch_ready(now, out);
    }

    /// Takes the declared units and removes those in `gone`. Unchanged units are not touched.
    pub(crate) fn declare(
        &mut self,
        declared: Vec<Declared>,
        gone: &[String],
        start: bool,
        by: &Actor,
        now: Now,
        out: &mut Step,
    ) {
        let mut shared = Shared::default();
        for mut new in declared {
            shared.share(&mut new.spec);
            let name = new.spec.name.clone();
            match self.units.get_mut(&name) {
                None => {
                    let record = UnitRecord {
                        spec: new.spec,
                        run_digest: new.run_digest,
                        digest: new.digest,
                        started_with: None,
                        desired: Desired::Running,
                        tally: Tally::default(),
                        rests: false,
                        fired_at_ms: None,
                        trouble: None,
                        asked: None,
                        ready_run: None,
                        ticket: None,
                        suspended: None,
                        again_at_ms: None,
                        over: None,
                        ends: Vec::new(),
                        created_at_ms: now.wall_ms,
                        updated_at_ms: now.wall_ms,
                    };
                    let mut unit = Unit::new(record, Phase::Stopped, now);
                    let why = match unit.record.spec.part {
                        Some(Part::Daemon) => "needed by units",
                        Some(Part::File) | None => {
                            unit.begin(now);
                            "new unit"
                        }
                    };
                    out.write(unit.save(now));
                    out.write(unit.note(by.clone(), What::UnitDeclared, why, json!({}), now));
                    self.units.insert(name, Box::new(unit));
                }
                Some(unit) if new.spec.part == Some(Part::Daemon) => renew(unit, new, now, out),
                Some(unit) => redeclare(unit, new, start, by, now, out),
            }
        }
        for name in gone {
            self.withdraw(name, by, now, out);
        }
        self.index();
        self.leave(by, now, out);
        self.launch_ready(now, out);
    }

    fn withdraw(&mut self, name: &str, by: &Actor, now: Now, out: &mut Step) {
        let Some(unit) = self.units.get_mut(name) else { return };
        unit.record.desired = Desired::Stopped;
        out.write(unit.note(by.clone(), What::UnitWithdrawn, "removed", json!({}), now));
        out.write(Write::RemoveUnit(name.to_owned()));
        match unit.phase.clone() {
            Phase::Unready { run } | Phase::Ready { run } | Phase::Leaving { run, .. } => {
                unit.enter(Phase::Leaving { run, then: Then::Vanish }, now);
            }
            Phase::Stopping { run, .. } => {
                unit.enter(Phase::Stopping { run, then: Then::Vanish }, now);
            }
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Backoff { .. }
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => {
                self.units.remove(name);
            }
        }
    }

    pub(crate) fn ask(&mut self, names: &[String], ask: Ask, by: &Actor, now: Now, out: &mut Step) {
        for name in names {
            if let Some(unit) = self.units.get_mut(name) {
                unit.ask(ask, by, now, out);
            }
        }
        self.leave(by, now, out);
        self.launch_ready(now, out);
    }

    /// The supervisor stops: ends every unit, but keeps the desired states.
    pub(crate) fn leave_all(&mut self, by: &Actor, now: Now, out: &mut Step) {
        for unit in self.units.values_mut() {
            if let Phase::Unready { run } | Phase::Ready { run } = unit.phase {
                unit.enter(Phase::Leaving { run, then: Then::Stay }, now);
            }
        }
        self.leave(by, now, out);
    }

    /// Ends the leaving units that have no live dependents.
    pub(crate) fn leave(&mut self, by: &Actor, now: Now, out: &mut Step) {
        let free: Vec<String> = self
            .iter()
            .filter(|unit| self.may_leave(unit))
            .map(|unit| unit.name().to_owned())
            .collect();
        self.end_all(free, by, now, out);
    }

    /// The same after one end: only the dependencies of that unit can have changed.
    fn leave_after(&mut self, needed: &[String], now: Now, out: &mut Step) {
        let free = needed
            .iter()
            .filter(|name| self.get(name).is_some_and(|unit| self.may_leave(unit)))
            .cloned()
            .collect();
        self.end_all(free, &Actor::Supervisor, now, out);
    }

    fn may_leave(&self, unit: &Unit) -> bool {
        let is_going =
            |unit: &Unit| matches!(unit.phase, Phase::Leaving { .. } | Phase::Stopping { .. });
        matches!(unit.phase, Phase::Leaving { .. }) && !self.dependents(unit.name()).any(is_going)
    }

    fn end_all(&mut self, names: Vec<String>, by: &Actor, now: Now, out: &mut Step) {
        for name in names {
            if let Some(unit) = self.units.get_mut(&name)
                && let Phase::Leaving { run, then } = unit.phase.clone()
            {
                unit.end(run, then, by, "unit stopped", now, out);
            }
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
        let needed = self.units.get(name).map(|unit| unit.record.spec.depends_on.as_slice());
        let deepest =
            needed.unwrap_or_default().iter().map(|name| self.depth(name, seen) + 1).max();
        deepest.unwrap_or(0)
    }

    /// The dependencies that are not ready.
    pub(crate) fn missing(&self, unit: &Unit) -> Vec<String> {
        let is_missing = |name: &&String| !self.get(name).is_some_and(Unit::is_there);
        unit.record.spec.depends_on.iter().filter(is_missing).cloned().collect()
    }

    /// Whether nothing changes without outside input: the unit is ready, has failed, or waits for one that has
    /// failed.
    pub(crate) fn is_settled(&self, name: &str) -> bool {
        self.settles(name, &mut BTreeSet::new())
    }

    fn settles(&self, name: &str, seen: &mut BTreeSet<String>) -> bool {
        let Some(unit) = self.units.get(name) else { return true };
        match &unit.phase {
            Phase::Ready { .. }
            | Phase::Stopped
            | Phase::Queued
            | Phase::Backoff { .. }
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => true,
            Phase::Waiting => {
                seen.insert(name.to_owned())
                    && self.missing(unit).iter().all(|needed| self.settles(needed, seen))
            }
            Phase::Reconciling
            | Phase::Launching
            | Phase::Unready { .. }
            | Phase::Leaving { .. }
            | Phase::Stopping { .. } => false,
        }
    }

    pub(crate) fn is_stopped(&self, name: &str) -> bool {
        self.units.get(name).is_none_or(|unit| match unit.phase {
            Phase::Stopped => true,
            // It was to be stopped, but some of its processes could not be ended.
            Phase::Over => unit.record.desired == Desired::Stopped,
            _ => false,
        })
    }

    /// Launches every waiting unit whose dependencies are ready.
    pub(crate) fn launch_ready(&mut self, now: Now, out: &mut Step) {
        let needed = self.iter().flat_map(|unit| self.needed_parts(unit)).collect();
        self.begin_parts(needed, now);
        let free: Vec<String> = self
            .iter()
            .filter(|unit| self.may_launch(unit))
            .map(|unit| unit.name().to_owned())
            .collect();
        self.launch_all(free, now, out);
    }

    /// The same after one change: only this unit, its dependents and its daemon parts.
    fn launch_after(&mut self, name: &str, now: Now, out: &mut Step) {
        let needed = self.get(name).into_iter().flat_map(|unit| self.needed_parts(unit)).collect();
        self.begin_parts(needed, now);
        let parts = self.get(name).map(|unit| unit.record.spec.depends_on.as_slice());
        let parts = parts.unwrap_or_default().iter().filter_map(|needed| self.get(needed));
        let near = self.get(name).into_iter().chain(self.dependents(name)).chain(parts);
        let free: BTreeSet<String> =
            near.filter(|unit| self.may_launch(unit)).map(|unit| unit.name().to_owned()).collect();
        self.launch_all(free, now, out);
    }

    /// Daemon parts that this unit needs now and that are stopped.
    fn needed_parts<'a>(&'a self, unit: &'a Unit) -> impl Iterator<Item = String> + 'a {
        let is_active = match unit.phase {
            Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Unready { .. }
            | Phase::Ready { .. }
            | Phase::Backoff { .. } => true,
            Phase::Stopped
            | Phase::Suspended
            | Phase::Reconciling
            | Phase::Leaving { .. }
            | Phase::Stopping { .. }
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled => false,
        };
        let is_part = |part: &&Unit| {
            part.record.spec.part == Some(Part::Daemon) && part.phase == Phase::Stopped
        };
        let needed = unit.record.spec.depends_on.iter().filter(move |_| is_active);
        needed.filter_map(|name| self.get(name)).filter(is_part).map(|part| part.name().to_owned())
    }

    fn begin_parts(&mut self, names: BTreeSet<String>, now: Now) {
        for name in names {
            if let Some(part) = self.units.get_mut(&name) {
                part.resume_wait(now);
            }
        }
    }

    fn may_launch(&self, unit: &Unit) -> bool {
        unit.phase == Phase::Waiting && self.missing(unit).is_empty()
    }

    fn launch_all(&mut self, names: impl IntoIterator<Item = String>, now: Now, out: &mut Step) {
        for name in names {
            if let Some(unit) = self.units.get_mut(&name) {
                // The pool gives the slots at the end of the step.
                if unit.record.spec.pool.is_some() && !unit.keeps_place {
                    unit.enter(Phase::Queued, now);
                } else {
                    launch(unit, false, now, out);
                }
            }
        }
    }

    /// It got a slot in its pool.
    pub(crate) fn admit(&mut self, name: &str, now: Now, out: &mut Step) {
        if let Some(unit) = self.units.get_mut(name) {
            let is_saved = unit.is_queue_reported;
            launch(unit, !is_saved, now, out);
        }
    }

    /// The pool members that wait for a slot. A member with a missing dependency leaves the queue.
    pub(crate) fn line_of(&mut self, pool: &str, now: Now) -> Vec<String> {
        let waits = |unit: &&Unit| match unit.phase {
            Phase::Queued => true,
            Phase::Waiting => unit.keeps_place,
            _ => false,
        };
        let names: Vec<String> =
            self.of_pool(pool).filter(waits).map(|unit| unit.name().to_owned()).collect();
        let mut line = Vec::new();
        for name in names {
            let misses = self.get(&name).is_some_and(|unit| !self.missing(unit).is_empty());
            let Some(unit) = self.units.get_mut(&name) else { continue };
            match (&unit.phase, misses) {
                (Phase::Queued, false) => line.push(name),
                (_, true) => {
                    unit.keeps_place = false;
                    unit.enter(Phase::Waiting, now);
                }
                (_, false) => {}
            }
        }
        line
    }

    pub(crate) fn due(&mut self, now: Now, out: &mut Step) {
        for unit in self.units.values_mut() {
            unit.recover(now, out);
            unit.look_idle(now, out);
            if let Phase::Backoff { until_mono_ms, .. } = unit.phase
                && now.mono_ms >= until_mono_ms
            {
                unit.enter(Phase::Waiting, now);
            }
        }
        self.launch_ready(now, out);
    }

    pub(crate) fn launched(&mut self, name: &str, run: RunId, now: Now, out: &mut Step) {
        if let Some(unit) = self.units.get_mut(name) {
            unit.launched(run, now, out);
        }
    }

    /// The launch could not even be tried.
    pub(crate) fn not_launched(&mut self, name: &str, now: Now) {
        if let Some(unit) = self.units.get_mut(name)
            && unit.phase == Phase::Launching
        {
            retry_launch(unit, now);
        }
    }

    /// The intent of the unit's run could not be recorded, so the run never existed.
    pub(crate) fn intent_lost(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let Some(name) = record.unit.as_deref() else { return };
        let Some(unit) = self.units.get_mut(name) else { return };
        let own = record.run_id;
        match unit.phase {
            Phase::Launching => retry_launch(unit, now),
            Phase::Unready { run } | Phase::Ready { run } if run == own => retry_launch(unit, now),
            Phase::Leaving { run, .. } | Phase::Stopping { run, .. } if run == own => {
                let record = RunRecord { extinct: Extinct::Yes, ..record.clone() };
                self.ended(&record, now, out);
            }
            Phase::Unready { .. }
            | Phase::Ready { .. }
            | Phase::Leaving { .. }
            | Phase::Stopping { .. }
            | Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Backoff { .. }
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => {}
        }
    }

    pub(crate) fn started(&mut self, name: &str, run: RunId, now: Now, out: &mut Step) {
        if let Some(unit) = self.units.get_mut(name) {
            unit.started(run, now, out);
        }
        self.launch_after(name, now, out);
    }

    pub(crate) fn adopted(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let Some(name) = record.unit.as_deref() else { return };
        let Some(unit) = self.units.get_mut(name) else {
            // The unit was removed, and the supervisor that was ending the run died.
            let why = "unit no longer declared";
            out.end_run(EndRun { run: record.run_id, by: Actor::Supervisor, why });
            return;
        };
        if unit.phase != Phase::Reconciling {
            return;
        }
        if record.termination == Some(Termination::ManualCancel) {
            // The previous supervisor was ending it; the desired state still tells what follows.
            let then = match unit.record.desired {
                Desired::Running if unit.record.suspended.is_some() => Then::Sleep,
                Desired::Running => Then::Again,
                Desired::Stopped => Then::Stay,
            };
            unit.enter(Phase::Stopping { run: record.run_id, then }, now);
        } else {
            // It is live and no one is ending it, so it is not suspended.
            if unit.record.suspended.take().is_some() {
                out.write(unit.save(now));
            }
            unit.adopted(record.run_id, now, out);
        }
    }

    pub(crate) fn ended(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let Some(name) = record.unit.as_deref() else { return };
        let Some(unit) = self.units.get_mut(name) else { return };
        let is_own = unit.run().is_none_or(|run| run == record.run_id);
        let needed = unit.record.spec.depends_on.clone();
        if is_own && unit.ended(record, now, out) {
            self.units.remove(name);
        }
        self.spread(name);
        self.leave_after(&needed, now, out);
        self.launch_after(name, now, out);
    }

    /// Spreads restarts that are due at the same moment, to avoid a load spike.
    fn spread(&mut self, name: &str) {
        const NEAR_MS: u64 = 250;
        const NEAR_MOST: usize = 3;
        const STEP_MS: u64 = 50;
        let until = |unit: &Unit| match unit.phase {
            Phase::Backoff { until_mono_ms, .. } => Some(until_mono_ms),
            _ => None,
        };
        let Some(own) = self.get(name).and_then(until) else { return };
        let near = |other: &Unit| until(other).is_some_and(|at| at.abs_diff(own) < NEAR_MS);
        let near_count = self.iter().filter(|other| near(other)).count();
        if near_count > NEAR_MOST
            && let Some(unit) = self.units.get_mut(name)
            && let Phase::Backoff { until_mono_ms, wait_ms } = &mut unit.phase
        {
            let later = STEP_MS * (near_count - NEAR_MOST) as u64;
            *until_mono_ms += later.min(*wait_ms / 2);
        }
    }

    /// Its run ended with the supervisor's stop. Its dependencies may end now.
    pub(crate) fn left(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let Some(name) = record.unit.as_deref() else { return };
        let Some(unit) = self.units.get_mut(name) else { return };
        // It starts again with the daemon, ahead of members that held no slot.
        let ticket = unit.record.ticket;
        unit.enter(Phase::Stopped, now);
        unit.record.ticket = ticket;
        let needed = unit.record.spec.depends_on.clone();
        self.leave_after(&needed, now, out);
    }

    /// Saves what the operator was notified of, or that it is over.
    pub(crate) fn asked(
        &mut self,
        name: &str,
        description: Option<AgentNotified>,
        now: Now,
        out: &mut Step,
    ) {
        if let Some(unit) = self.units.get_mut(name)
            && unit.record.asked != description
        {
            unit.record.asked = description;
            out.write(unit.save(now));
        }
    }

    pub(crate) fn notify(&mut self, name: &str, event: UnitEvent, now: Now, out: &mut Step) {
        let Some(unit) = self.units.get_mut(name) else { return };
        match event {
            UnitEvent::Ready { run } => unit.ready(run, now, out),
            UnitEvent::NotReady { run, why } => {
                unit.failed(run, What::UnitNotReady, &why, now, out)
            }
            UnitEvent::Unhealthy { run, why } => {
                unit.failed(run, What::UnitUnhealthy, &why, now, out);
            }
            UnitEvent::Ailing { run, why } => unit.check_error(run, Some(why), now, out),
            UnitEvent::Well { run } => unit.check_error(run, None, now, out),
            UnitEvent::Noted { run, what, why, evidence } => {
                if unit.run() == Some(run) {
                    out.write(unit.note(Actor::Supervisor, what, &why, evidence, now));
                }
            }
            UnitEvent::ScheduleDue => unit.fire(now, out),
            UnitEvent::Idle { run, idle } => unit.idle(run, &idle, now, out),
            UnitEvent::Wake { by, why } => unit.wake(&by, &why, now, out),
        }
        self.launch_after(name, now, out);
    }
}

/// A daemon part: a new declaration takes effect at its next start. A running part is not changed.
fn renew(unit: &mut Unit, new: Declared, now: Now, out: &mut Step) {
    if unit.record.spec != new.spec {
        unit.record.spec = new.spec;
        unit.record.digest = new.digest;
        unit.record.run_digest = new.run_digest;
        out.write(unit.save(now));
    }
}

/// Every start passes here.
fn launch(unit: &mut Unit, must_save: bool, now: Now, out: &mut Step) {
    if let Some(until_mono_ms) = unit.pace.not_before(now.mono_ms) {
        let wait_ms = until_mono_ms - now.mono_ms;
        unit.keeps_place = true;
        unit.enter(Phase::Backoff { until_mono_ms, wait_ms }, now);
        let why = format!("start rate limit: {STARTS_MOST} starts within 1 s");
        let evidence = json!({ "waitMs": wait_ms });
        out.write(unit.note(Actor::Supervisor, What::UnitAgain, &why, evidence, now));
        return;
    }
    unit.pace.started(now.mono_ms);
    unit.enter(Phase::Launching, now);
    let is_new = unit.record.started_with.as_ref() != Some(&unit.record.run_digest);
    if is_new {
        unit.record.started_with = Some(unit.record.run_digest.clone());
    }
    if is_new || must_save {
        out.write(unit.save(now));
    }
    out.effect(Effect::Launch(unit.name().to_owned()));
}

fn redeclare(unit: &mut Unit, new: Declared, start: bool, by: &Actor, now: Now, out: &mut Step) {
    let is_changed = unit.record.digest != new.digest;
    let must_restart = unit.record.run_digest != new.run_digest;
    let is_moved = unit.record.spec.pool != new.spec.pool;
    // The inherited environment is replaced in any case: the next launch uses it.
    unit.record.spec = new.spec;
    unit.record.digest = new.digest;
    unit.record.run_digest = new.run_digest;
    if is_changed {
        // The declaration changed, so earlier failures do not count.
        clear(&mut unit.record.tally);
        unit.record.over = None;
        out.write(unit.note(by.clone(), What::UnitDeclared, "changed", json!({}), now));
    }
    out.write(unit.save(now));
    let vanishes = matches!(
        unit.phase,
        Phase::Leaving { then: Then::Vanish, .. } | Phase::Stopping { then: Then::Vanish, .. }
    );
    let is_woken = vanishes || (start && unit.record.desired == Desired::Stopped);
    if is_woken || (start && unit.record.rests) {
        unit.record.desired = Desired::Running;
        unit.record.rests = false;
        clear(&mut unit.record.tally);
        unit.record.over = None;
        out.write(unit.save(now));
    }
    if is_moved {
        // The ticket belongs to the old pool.
        unit.record.ticket = None;
    }
    match unit.phase.clone() {
        Phase::Queued if is_moved => unit.enter(Phase::Waiting, now),
        // Suspension was removed from the declaration.
        Phase::Suspended if unit.record.spec.idle.is_none() => {
            unit.record.suspended = None;
            unit.begin(now);
        }
        Phase::Ready { .. } if !must_restart => unit.plan_idle(now),
        Phase::Unready { run } | Phase::Ready { run } if must_restart => {
            unit.end(run, Then::Again, by, "declaration changed", now, out);
        }
        Phase::Leaving { run, .. } if is_woken && must_restart => {
            unit.end(run, Then::Again, by, "declaration changed", now, out);
        }
        // It was to be ended, but nothing has been sent to it yet.
        Phase::Leaving { run, .. } if is_woken => {
            unit.enter(Phase::Waiting, now);
            unit.adopted(run, now, out);
        }
        Phase::Stopping { run, .. } if is_woken => {
            unit.enter(Phase::Stopping { run, then: Then::Again }, now);
        }
        Phase::Broken | Phase::Over | Phase::Backoff { .. }
            if is_changed && unit.record.desired == Desired::Running =>
        {
            unit.begin(now);
        }
        Phase::Stopped if start => unit.begin(now),
        Phase::Stopped
        | Phase::Reconciling
        | Phase::Waiting
        | Phase::Queued
        | Phase::Launching
        | Phase::Unready { .. }
        | Phase::Ready { .. }
        | Phase::Leaving { .. }
        | Phase::Stopping { .. }
        | Phase::Backoff { .. }
        | Phase::Over
        | Phase::Broken
        | Phase::Scheduled
        | Phase::Suspended => {}
    }
}

/// Tries the launch again after a second, and keeps the unit's slot in its pool.
fn retry_launch(unit: &mut Unit, now: Now) {
    const RETRY_MS: u64 = 1_000;
    let until_mono_ms = now.mono_ms + RETRY_MS;
    unit.keeps_place = true;
    unit.enter(Phase::Backoff { until_mono_ms, wait_ms: RETRY_MS }, now);
}
