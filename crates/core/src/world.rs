//! Everything that one supervisor decides about. The only entry point is `step`.
//!
//! Each event goes to the run that it is about. The world itself decides three things: whether new runs are accepted,
//! which run holds a scope, and whether our lease still allows actions. After the lease has lapsed (the process was
//! stopped or starved), every event waits until the registry has said which runs are still ours. Otherwise a
//! supervisor that resumes late could signal another supervisor's run.

use crate::action::Refusal;
use crate::action::{Effect, EndRun, Step, Write};
use crate::agent::{AgentEvent, Agents};
use crate::children::Children;
use crate::event::{Event, Hearing, NewRun, Observation};
use crate::lease::Lease;
use crate::pool::Pools;
use crate::reconcile::{Decision, decide};
use crate::run::{Phase, Run, RunEvent};
use crate::time::Now;
use crate::unit::{Unit, Units};
use ostler_model::{
    Actor, AdoptPolicy, AgentKnown, Counter, Detach, Entry, Limits, RunId, RunRecord, RunState,
    Settings, Termination, UnitRecord, UnitView, What,
};
use serde_json::{Map, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

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

    pub fn records(&self) -> impl Iterator<Item = &RunRecord> {
        self.runs.values().map(|run| &run.record)
    }

    pub fn record(&self, run: RunId) -> Option<&RunRecord> {
        self.runs.get(&run).map(|run| &run.record)
    }

    /// Live runs that end with this one.
    pub fn descendants(&self, run: RunId) -> Vec<RunId> {
        self.children.below(run)
    }

    pub fn live(&self) -> usize {
        self.runs.len()
    }

    /// The next deadline. The lease always has one.
    pub fn next_due(&self) -> u64 {
        let lease = self.lease.due_mono_ms();
        let units = self.units_next_due().unwrap_or(u64::MAX);
        self.due.first().map_or(lease, |(due, _)| lease.min(*due)).min(units)
    }

    /// Whether we may act without asking the registry again which runs are ours.
    pub fn holds_lease(&self, now: Now) -> bool {
        self.lease.holds(now)
    }

    pub fn lease_due(&self, now: Now) -> bool {
        now.mono_ms >= self.lease.due_mono_ms()
    }

    pub fn units_due(&self, now: Now) -> bool {
        self.units_next_due().is_some_and(|due| now.mono_ms >= due)
    }

    fn units_next_due(&self) -> Option<u64> {
        self.units.next_due().into_iter().chain(self.pools.next_due()).min()
    }

    /// The unit's current run.
    pub fn unit_run(&self, name: &str) -> Option<RunId> {
        self.units.get(name).and_then(|unit| unit.run())
    }

    /// Whether nothing about this unit changes without outside input.
    pub fn is_unit_settled(&self, name: &str) -> bool {
        self.units.is_settled(name)
    }

    /// Whether it is stopped or unknown.
    pub fn is_unit_stopped(&self, name: &str) -> bool {
        self.units.is_stopped(name)
    }

    /// Whether it is ready or completed its work.
    pub fn is_unit_there(&self, name: &str) -> bool {
        self.units.get(name).is_some_and(|unit| unit.is_there())
    }

    /// The longest chain of units that must end one after the other.
    pub fn stop_depth(&self) -> u64 {
        self.units.depth_of_all() as u64
    }

    pub fn unit_records(&self) -> impl Iterator<Item = &UnitRecord> {
        self.units.iter().map(|unit| &unit.record)
    }

    pub fn unit(&self, name: &str) -> Option<&UnitRecord> {
        self.units.get(name).map(|unit| &unit.record)
    }

    /// All units in their current state.
    pub fn unit_views(&self, now: Now) -> Vec<UnitView> {
        let view = |unit: &Unit| {
            let view = self.units.view(unit, now);
            let agent = view.run_id.and_then(|run| self.agents.view(run));
            UnitView { agent: agent.cloned().map(Box::new), ..view }
        };
        let mut views: Vec<UnitView> = self.units.iter().map(view).collect();
        self.report_queued(&mut views, now);
        views
    }

    /// What is known of the agent on a run's terminal.
    pub fn agent(&self, run: RunId) -> AgentKnown {
        self.agents.known(run)
    }

    pub fn due_runs(&self, now: Now) -> Vec<RunId> {
        self.due.iter().take_while(|(due, _)| *due <= now.mono_ms).map(|(_, run)| *run).collect()
    }

    pub fn step(&mut self, event: Event, now: Now) -> Step {
        let mut out = Step::default();
        match event {
            Event::LeaseRenewed { lost } => {
                self.lease.renewed(now);
                self.abandon(lost, now, &mut out);
                for event in std::mem::take(&mut self.deferred) {
                    self.act(event, now, &mut out);
                }
                self.end_orphans(&mut out);
            }
            event if !self.lease.holds(now) => {
                self.deferred.push(event);
                if self.lease.ask() {
                    out.effect(Effect::RenewLease);
                }
            }
            event => self.act(event, now, &mut out),
        }
        self.end_runs(now, &mut out);
        self.admit(now, &mut out);
        if self.serving == Serving::Stopping && self.runs.is_empty() {
            self.serving = Serving::Stopped;
            out.effect(Effect::Stop);
        }
        out
    }

    fn act(&mut self, event: Event, now: Now, out: &mut Step) {
        match event {
            Event::SpawnAsked(new) => self.spawn_asked(*new, now, out),
            Event::Requeued(new) => self.requeued(*new, now, out),
            Event::IntentLost { run } => self.forget(run, now, out),
            Event::Spawned { run, identity } => {
                self.notify(run, RunEvent::Spawned(identity), now, out);
            }
            Event::SpawnFailed { run, kind, error } => {
                self.notify(run, RunEvent::SpawnFailed { kind, error }, now, out);
            }
            Event::CancelAsked { run, by, why, said } => {
                let reason = Termination::ManualCancel;
                self.notify(run, RunEvent::Cancel { reason, by, why, said }, now, out);
            }
            Event::ClientGone { run } => {
                let (reason, by) = (Termination::ManualCancel, Actor::Kernel);
                let why = "the foreground client ended";
                self.notify(run, RunEvent::Cancel { reason, by, why, said: None }, now, out);
            }
            Event::ClientLeft { run, by } => self.client_left(run, by, now, out),
            Event::Due { run, last_output_mono_ms, tree } => {
                self.notify(run, RunEvent::Due { last_output_mono_ms, tree }, now, out);
            }
            Event::RootExited { run, status, tree } => {
                self.notify(run, RunEvent::RootExited { status, tree }, now, out);
            }
            Event::OutputEnded { run } => self.notify(run, RunEvent::OutputEnded, now, out),
            Event::Surveyed { run, tree } => self.notify(run, RunEvent::Surveyed(tree), now, out),
            Event::Killed { run, mode, processes } => {
                self.notify(run, RunEvent::Killed { mode, processes }, now, out);
            }
            Event::DetachDone { run, child } => self.detached(run, *child, now, out),
            Event::ShutdownAsked { by } => self.shutdown(by, now, out),
            Event::LeaseDue => {
                if self.lease.ask() {
                    out.effect(Effect::RenewLease);
                }
            }
            Event::LeaseRenewed { .. } => {}
            Event::UnitsKnown { records, pools, boot_id } => {
                self.pools_known(pools, &records);
                self.units.known(records, &boot_id, now);
            }
            Event::PoolsDeclared { pools, file } => self.declare_pools(pools, &file, out),
            Event::MemoryLookedAt(memory) => self.pools.saw(memory, now),
            Event::Reconciled { begin } => {
                self.is_reconciled = true;
                self.units.reconciled(begin, now, out);
                self.end_orphans(out);
            }
            Event::UnitsWoken => self.units.wake(now, out),
            Event::UnitsDeclared { declared, gone, start, by } => {
                self.units.declare(declared, &gone, start, &by, now, out);
            }
            Event::UnitsAsked { names, ask, by } => self.units.ask(&names, ask, &by, now, out),
            Event::Unit { name, event } => self.units.notify(&name, event, now, out),
            Event::UnitsDue => self.units.due(now, out),
            Event::Agent { run, event } => self.agent_moves(run, event, now, out),
            Event::NotLaunched { unit } => self.units.not_launched(&unit, now),
            Event::Observed { record, seen } => self.observed(record, seen, false, now, out),
            Event::StealWon { record, seen } => self.observed(record, seen, true, now, out),
        }
    }

    /// Passes one event to one run. An event for an ended run changes nothing.
    pub(crate) fn notify(&mut self, id: RunId, event: RunEvent, now: Now, out: &mut Step) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let is_start = matches!(event, RunEvent::Spawned(_));
        run.step(event, now, out);
        if is_start && let Some(unit) = run.record.unit.clone() {
            self.units.started(&unit, id, now, out);
        }
        self.settle(id, now, out);
    }

    /// The operator is notified once of a question, even across supervisors, so the unit's record keeps what was
    /// notified.
    fn agent_moves(&mut self, id: RunId, event: AgentEvent, now: Now, out: &mut Step) {
        let Some(run) = self.runs.get(&id) else { return };
        if run.record.state == RunState::Exiting {
            return;
        }
        let unit = run.record.unit.as_deref();
        let description = unit.and_then(|unit| self.units.get(unit)?.record.asked.clone());
        let news = self.agents.step(
            id,
            description.filter(|description| description.run == id),
            event,
            now,
        );
        let Some(news) = news else { return };
        out.write(run.note(Actor::Supervisor, news.what, news.why, news.evidence, now));
        let Some(unit) = unit else { return };
        self.units.asked(unit, news.description, now, out);
        if let Some(condition) = news.condition {
            out.effect(Effect::CallHook { unit: unit.to_owned(), condition, why: news.message });
        }
    }

    /// Ends the runs that units want ended. What other units want as a result is ended in the next round; recursion
    /// would be too deep for thousands of units.
    fn end_runs(&mut self, now: Now, out: &mut Step) {
        while !out.ends.is_empty() {
            for EndRun { run, by, why } in std::mem::take(&mut out.ends) {
                let reason = Termination::ManualCancel;
                self.notify(run, RunEvent::Cancel { reason, by, why, said: None }, now, out);
            }
        }
    }

    /// Updates the list of deadlines, and removes a run that is over.
    fn settle(&mut self, id: RunId, now: Now, out: &mut Step) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if run.is_ending() {
            self.children.end_of(id, out);
        }
        if matches!(run.phase, Phase::Exited) {
            self.forget(id, now, out);
            return;
        }
        let due = run.due();
        if run.listed_due != due {
            if let Some(old) = run.listed_due {
                self.due.remove(&(old, id));
            }
            if let Some(new) = due {
                self.due.insert((new, id));
            }
            run.listed_due = due;
        }
    }

    fn forget(&mut self, id: RunId, now: Now, out: &mut Step) {
        let Some(run) = self.remove(id) else { return };
        match (self.serving, run.record.state, &run.record.unit) {
            (Serving::Open, RunState::Exited, _) => self.units.ended(&run.record, now, out),
            (Serving::Open, _, Some(_)) => self.units.intent_lost(&run.record, now, out),
            (Serving::Stopping, _, _) => self.units.left(&run.record, now, out),
            (Serving::Open | Serving::Stopped, _, _) => {}
        }
        if let Some(key) = run.record.scope_key {
            let place = run.record.pool.filter(|_| run.has_place);
            self.unblock(&key, place.as_deref(), now, out);
        }
    }

    /// The runs that hold or want a scope, oldest first.
    fn of_scope(&self, key: &str) -> Vec<RunId> {
        let digest = digest(key);
        let ends = (digest, RunId::from_bytes([0; 16]))..=(digest, RunId::from_bytes([0xff; 16]));
        self.scoped
            .range(ends)
            .filter_map(|(_, run)| self.runs.get(run))
            .filter(|run| run.record.scope_key.as_deref() == Some(key))
            .map(|run| run.id())
            .collect()
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

    /// The run continues in the background, also after a crash.
    fn client_left(&mut self, id: RunId, by: Actor, now: Now, out: &mut Step) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if let Some(client) = run.record.client.take() {
            let why = "continues in the background";
            out.write(run.note(by, What::ClientLeft, why, json!({ "pid": client.pid }), now));
            out.write(run.save(run.record.state, now));
        }
    }

    /// Ends runs whose parent ended while no supervisor ran.
    fn end_orphans(&mut self, out: &mut Step) {
        for parent in self.children.parents() {
            if !self.runs.contains_key(&parent) {
                self.children.end_of(parent, out);
            }
        }
    }

    /// Whether its parent run is alive and not ending.
    fn has_parent(&self, record: &RunRecord) -> bool {
        let Some(parent) = record.parent.filter(|_| !record.keep) else { return true };
        self.runs.get(&parent).is_some_and(|parent| !parent.is_ending())
    }

    /// Starts the newest run that waits for a free scope. It takes over the slot of the run before it, if both are in
    /// the same pool.
    fn unblock(&mut self, key: &str, place: Option<&str>, now: Now, out: &mut Step) {
        let wanting = self.of_scope(key);
        let is_held = wanting
            .iter()
            .any(|id| self.runs.get(id).is_some_and(|run| !matches!(run.phase, Phase::Queued)));
        let Some(newest) = wanting.last().copied().filter(|_| !is_held) else { return };
        if let Some(run) = self.runs.get_mut(&newest)
            && run.record.unit.is_none()
            && run.record.pool.is_some()
            && run.record.pool.as_deref() != place
        {
            run.phase = Phase::InLine;
            run.record.ticket = Some(self.pools.draw());
            return;
        }
        self.notify(newest, RunEvent::Unblocked, now, out);
    }

    fn spawn_asked(&mut self, new: NewRun, now: Now, out: &mut Step) {
        if self.serving != Serving::Open {
            let run = new.record.run_id;
            out.effect(Effect::Refuse { run, refusal: Refusal::ShuttingDown });
            return;
        }
        let id = new.record.run_id;
        let mut run =
            Run::new(new.record, new.limits, new.detach, Phase::Starting { cancel: None });
        out.write(run.save(RunState::Starting, now));
        out.write(run.note(
            new.by.clone(),
            What::Intent,
            run.record.command.clone(),
            json!({
                "sessionId": run.record.session_id,
                "scopeKey": run.record.scope_key,
                "timeoutMs": run.limits.timeout_ms,
                "noOutputTimeoutMs": run.limits.no_output_timeout_ms,
                "graceMs": run.limits.grace_ms,
                "parent": run.record.parent,
            }),
            now,
        ));
        if !self.has_parent(&run.record) {
            run.phase = Phase::Queued;
            self.add(run);
            self.children.end(id, out);
            return;
        }
        let older =
            run.record.scope_key.as_deref().map(|key| self.of_scope(key)).unwrap_or_default();
        for older in older {
            if let Some(older_run) = self.runs.get(&older) {
                out.write(older_run.note(
                    new.by.clone(),
                    What::Replaced,
                    format!("by run {id}"),
                    json!({ "by": id }),
                    now,
                ));
            }
            let why = "replaced by a newer run of its scope";
            let reason = Termination::ManualCancel;
            self.notify(
                older,
                RunEvent::Cancel { reason, by: new.by.clone(), why, said: None },
                now,
                out,
            );
        }
        // Two copies of one scope never run at the same time: the newer one waits.
        let is_held =
            run.record.scope_key.as_deref().is_some_and(|key| !self.of_scope(key).is_empty());
        // A unit has its slot before its run exists.
        let is_pooled = run.record.pool.is_some() && run.record.unit.is_none();
        if is_held {
            run.phase = Phase::Queued;
            run.has_place = false;
        } else if is_pooled {
            run.phase = Phase::InLine;
            run.has_place = false;
            run.record.ticket = Some(self.pools.draw());
        } else {
            out.effect(Effect::Spawn(id));
        }
        let unit = run.record.unit.clone();
        self.add(run);
        if let Some(unit) = unit {
            self.units.launched(&unit, id, now, out);
        }
    }

    fn shutdown(&mut self, by: Actor, now: Now, out: &mut Step) {
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

    /// Another instance owns these runs now. They are not signalled and their records are not written.
    fn abandon(&mut self, lost: Vec<RunId>, now: Now, out: &mut Step) {
        let mut keys = BTreeSet::new();
        for id in lost {
            let Some(run) = self.remove(id) else { continue };
            self.children.is_elsewhere(id);
            out.write(run.note(
                Actor::Supervisor,
                What::LeaseLost,
                "our lease expired and another supervisor took the run over",
                json!({}),
                now,
            ));
            out.effect(Effect::Abandon(id));
            keys.extend(run.record.scope_key);
        }
        // A run that waits for a scope of another supervisor would be a second copy.
        for key in keys {
            for id in self.of_scope(&key) {
                if self.runs.get(&id).is_some_and(|run| matches!(run.phase, Phase::Queued)) {
                    let why = "another supervisor took over the run that it was to replace";
                    let reason = Termination::LeaseLost;
                    self.notify(
                        id,
                        RunEvent::Cancel { reason, by: Actor::Supervisor, why, said: None },
                        now,
                        out,
                    );
                }
            }
        }
    }

    fn detached(&mut self, parent: RunId, child: RunRecord, now: Now, out: &mut Step) {
        let phase = Phase::Running { overall_due: None, silence_due: None };
        let mut run = Run::new(child, Limits::default(), Detach::Allow, phase);
        out.write(run.save(RunState::Running, now));
        out.write(run.note(
            Actor::Supervisor,
            What::Detached,
            format!("run {parent} allows detached descendants"),
            json!({ "from": parent, "pid": run.record.pid }),
            now,
        ));
        out.write(Write::Count(Counter::Spawn, 1));
        self.add(run);
    }

    fn observed(
        &mut self,
        record: Box<RunRecord>,
        seen: Observation,
        stolen: bool,
        now: Now,
        out: &mut Step,
    ) {
        let decision = decide(&seen, self.adopt, stolen);
        let id = record.run_id;
        if matches!(decision, Decision::LeaveAlone | Decision::Steal) {
            self.children.is_elsewhere(id);
        } else {
            self.children.is_here(id);
        }
        if decision == Decision::LeaveAlone {
            out.write(Write::Note(Entry {
                seq: 0,
                at_ms: now.wall_ms,
                who: Actor::Supervisor,
                what: What::LeftAlone,
                run_id: Some(id),
                why: "another supervisor holds the lease".to_owned(),
                evidence: Map::from_iter([("owner".to_owned(), json!(record.owner_instance_id))]),
            }));
            return;
        }
        if decision == Decision::Steal {
            out.effect(Effect::Steal { record, seen });
            return;
        }
        let mut run = Run::taken_up(*record, &seen);
        if stolen {
            out.write(Write::Count(Counter::LeaseSteal, 1));
            out.write(run.note(
                Actor::Supervisor,
                What::LeaseStolen,
                "its owner's lease expired",
                json!({ "policy": self.adopt }),
                now,
            ));
        }
        match decision {
            Decision::LeaveAlone | Decision::Steal => {}
            Decision::MarkStale => {
                if seen.hearing == Hearing::Kept {
                    out.effect(Effect::Adopt(Box::new(run.record.clone())));
                }
                run.found_gone(&seen, now, out);
            }
            Decision::TakeEnd | Decision::EndRest | Decision::Resume | Decision::Terminate => {
                out.write(Write::Count(Counter::ReconcileOrphans, 1));
                out.effect(Effect::Adopt(Box::new(run.record.clone())));
                run.resume(decision, &seen, now, out);
            }
        }
        if matches!(run.phase, Phase::Exited) {
            self.units.ended(&run.record, now, out);
            return;
        }
        self.units.adopted(&run.record, now, out);
        self.add(run);
        self.settle(id, now, out);
    }
}

/// Stable across processes, so that a seed reproduces a history.
fn digest(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
