//! A world with one pool, on a simulated machine where every process starts at once and ends when signalled.

#![allow(dead_code, reason = "two tests share it, and neither needs all of it")]

use crate::unit_spec::unit_spec;
use ostler_core::unit::{Ask, Declared, Idle, UnitEvent};
use ostler_core::{
    Effect, Event, ExitStatus, Identity, MachineMemory, NewRun, Now, Observation, Ownership,
    Signal, Survey, World, Write,
};
use ostler_core::{Gone, Streams};
use ostler_model::{
    Actor, Backend, Detach, Extinct, Fingerprint, InstanceId, Limits, PoolSpec, RestartPolicy,
    RunId, RunRecord, RunState, Settings, UnitRecord, UnitSpec, UnitState, What, When,
};
use std::collections::{BTreeMap, VecDeque};

pub const FILE: &str = "/ostler.toml";
const PLENTY: MachineMemory = MachineMemory { free_bytes: Some(1 << 40), pressure: Some(0) };

pub fn pool(max: u32) -> PoolSpec {
    PoolSpec {
        name: "p".to_owned(),
        max: Some(max),
        min_free_memory_bytes: None,
        max_pressure: Some(PoolSpec::USUAL_MAX_PRESSURE),
        file: Some(FILE.to_owned()),
    }
}

pub struct Town {
    pub world: World,
    pub now: Now,
    pub memory: MachineMemory,
    /// Live members by run: the unit's name, or the number of the run.
    pub alive: BTreeMap<RunId, String>,
    /// In the order in which they were executed.
    pub started: Vec<String>,
    /// The content of the registry.
    pub units: BTreeMap<String, UnitRecord>,
    pub records: BTreeMap<RunId, RunRecord>,
    pub pools: BTreeMap<String, PoolSpec>,
    /// The idle state that the agents report.
    pub idle: Idle,
    /// A process takes its time to end.
    pub ends_slowly: bool,
    /// The journal: what happened to which unit.
    pub journal: Vec<(What, String)>,
    number: u64,
}

impl Town {
    pub fn new(max: u32) -> Self {
        let now = Now { mono_ms: 1_000_000, wall_ms: 1_767_225_600_000 };
        let mut town = Self {
            world: World::new(&Settings::default(), now),
            now,
            memory: PLENTY,
            alive: BTreeMap::new(),
            started: Vec::new(),
            units: BTreeMap::new(),
            records: BTreeMap::new(),
            pools: BTreeMap::new(),
            idle: Idle::No,
            ends_slowly: false,
            journal: Vec::new(),
            number: 0,
        };
        town.step(Event::Reconciled { begin: true });
        town.declare_pool(pool(max));
        town
    }

    pub fn declare_pool(&mut self, spec: PoolSpec) {
        self.step(Event::PoolsDeclared { pools: vec![spec], file: FILE.to_owned() });
    }

    pub fn declare(&mut self, names: &[&str]) {
        let declared = names.iter().map(|name| declared(name)).collect();
        let by = Actor::Supervisor;
        self.step(Event::UnitsDeclared { declared, gone: Vec::new(), start: true, by });
    }

    pub fn ask(&mut self, name: &str, ask: Ask) {
        let names = vec![name.to_owned()];
        self.step(Event::UnitsRequested { names, ask, by: Actor::Supervisor });
    }

    /// Requests a run outside any unit. Returns its name in this test.
    pub fn run(&mut self, scope: Option<&str>) -> (RunId, String) {
        let event = self.asked(None, scope);
        let run = match &event {
            Event::SpawnRequested(new) => new.record.run_id,
            other => unreachable!("{other:?}"),
        };
        self.step(event);
        (run, format!("run {}", self.number))
    }

    /// The process ends by itself.
    pub fn end(&mut self, name: &str, code: i32) {
        let run = self.run_of(name);
        self.gone(run, ExitStatus::Code(code));
    }

    pub fn run_of(&self, name: &str) -> RunId {
        let found = self.alive.iter().find(|(_, known)| *known == name);
        *found.unwrap_or_else(|| panic!("{name} does not live: {:?}", self.alive)).0
    }

    /// A signalled process has ended.
    pub fn finish(&mut self, run: RunId) {
        self.gone(run, ExitStatus::Signal(15));
    }

    fn gone(&mut self, run: RunId, status: ExitStatus) {
        if self.alive.remove(&run).is_some() {
            self.step(Event::RootExited { run, status, tree: Survey::default() });
            self.step(Event::OutputEnded { run });
        }
    }

    pub fn pass(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms;
        if self.world.lease_due(self.now) {
            self.step(Event::LeaseRenewed { lost: Vec::new() });
        }
        if self.world.units_due(self.now) {
            self.step(Event::UnitsDue);
        }
        for run in self.world.due_runs(self.now) {
            self.step(Event::Due { run, last_output_mono_ms: None, tree: None });
        }
    }

    pub fn live(&self) -> Vec<&str> {
        let mut live: Vec<&str> = self.alive.values().map(String::as_str).collect();
        live.sort_unstable();
        live
    }

    pub fn state(&self, name: &str) -> UnitState {
        self.view(name).state
    }

    pub fn why(&self, name: &str) -> String {
        self.view(name).why
    }

    fn view(&self, name: &str) -> ostler_model::UnitView {
        let views = self.world.unit_views(self.now);
        views.into_iter().find(|view| view.name == name).expect("a unit")
    }

    /// The supervisor is killed, and the next one takes over.
    pub fn crash(&mut self) {
        self.crash_with(true);
    }

    /// The same; the guardian has kept the queued runs, or not.
    pub fn crash_with(&mut self, is_kept: bool) {
        self.world = World::new(&Settings::default(), self.now);
        let records = self.units.values().cloned().collect();
        let pools = self.pools.values().cloned().collect();
        self.step(Event::UnitsKnown { records, pools, boot_id: "boot".to_owned() });
        let left = self.records.values().filter(|record| record.state != RunState::Exited);
        for record in left.cloned().collect::<Vec<_>>() {
            if is_kept && record.state == RunState::Queued {
                let (by, limits, detach) = (Actor::Supervisor, Limits::default(), Detach::Forbid);
                let new = NewRun { by, record, limits, detach };
                self.step(Event::Requeued(Box::new(new)));
                continue;
            }
            let lives = self.alive.contains_key(&record.run_id);
            let seen = Observation {
                identity: lives.then(|| identity(record.pid.unwrap_or(1))),
                gone: Gone::NeverStarted,
                tree: Survey { inside: usize::from(lives), ..Survey::default() },
                ownership: Ownership::Ours,
                status: ExitStatus::Unknown,
                streams: Streams::Lost,
            };
            self.step(Event::Observed { record: Box::new(record), seen });
        }
        self.step(Event::Reconciled { begin: true });
    }

    pub fn step(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let step = self.world.step(event, self.now);
            step.writes.into_iter().for_each(|write| self.save(write));
            for effect in step.effects {
                self.carry_out(effect, &mut events);
            }
        }
    }

    fn save(&mut self, write: Write) {
        match write {
            Write::Count(..) => {}
            Write::Note(entry) => {
                let unit = entry.evidence.get("unit").and_then(|unit| unit.as_str());
                self.journal.push((entry.what, unit.unwrap_or_default().to_owned()));
            }
            Write::SaveUnit(unit) => {
                self.units.insert(unit.spec.name.clone(), *unit);
            }
            Write::RemoveUnit(name) => {
                self.units.remove(&name);
            }
            Write::Save(record) => {
                self.records.insert(record.run_id, *record);
            }
            Write::SavePool(spec) => {
                self.pools.insert(spec.name.clone(), *spec);
            }
            Write::RemovePool(name) => {
                self.pools.remove(&name);
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, events: &mut VecDeque<Event>) {
        match effect {
            Effect::Launch(unit) => {
                let asked = self.asked(Some(&unit), None);
                events.push_back(asked);
            }
            Effect::Spawn(run) => {
                let record = &self.records[&run];
                let name = record.unit.clone().unwrap_or_else(|| record.command.clone());
                self.started.push(name.clone());
                self.alive.insert(run, name);
                events.push_back(Event::Spawned { run, identity: identity(1) });
            }
            Effect::Signal { run, signal: Signal::Term, .. } => self.terminated(run, events),
            Effect::LookIdle { unit, run } => {
                let event = UnitEvent::Idle { run, idle: self.idle.clone() };
                events.push_back(Event::Unit { name: unit, event });
            }
            Effect::LookAtMemory => events.push_back(Event::MemoryLookedAt(self.memory)),
            _ => {}
        }
    }

    fn terminated(&mut self, run: RunId, events: &mut VecDeque<Event>) {
        if !self.ends_slowly && self.alive.remove(&run).is_some() {
            let (status, tree) = (ExitStatus::Signal(15), Survey::default());
            events.push_back(Event::RootExited { run, status, tree });
            events.push_back(Event::OutputEnded { run });
        }
    }

    fn asked(&mut self, unit: Option<&str>, scope: Option<&str>) -> Event {
        self.number += 1;
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.number.to_be_bytes());
        let unit = unit.map(str::to_owned);
        let record = RunRecord {
            escaped: Vec::new(),
            survivors: Vec::new(),
            strict: false,
            parent: None,
            keep: false,
            client: None,
            run_id: RunId::new(self.now.wall_ms, random),
            session_id: "s".to_owned(),
            purpose: ostler_model::Purpose::Program,
            backend_id: Backend::Pipe,
            pid: None,
            start_time: None,
            boot_id: "boot".to_owned(),
            process_unique: None,
            process_group_id: None,
            cgroup: None,
            reaper: None,
            state: RunState::Starting,
            created_at_ms: self.now.wall_ms,
            updated_at_ms: self.now.wall_ms,
            last_output_at_ms: None,
            owner_instance_id: InstanceId::new(1, [1; 10]),
            lease_expires_at_ms: None,
            termination: None,
            exit_code: None,
            exit_signal: None,
            extinct: Extinct::No,
            scope_key: unit.as_deref().or(scope).map(str::to_owned),
            command: format!("run {}", self.number),
            error: None,
            spawn_error_kind: None,
            started_at_ms: None,
            ended_at_ms: None,
            timeout_ms: None,
            no_output_timeout_ms: None,
            grace_ms: 500,
            stop_signal: None,
            detach_allowed: false,
            started_mono_ms: None,
            output_bytes: 0,
            enforced: None,
            out_of_memory: false,
            memory_kills: 0,
            pool: unit.is_none().then(|| "p".to_owned()),
            ticket: None,
            why: None,
            cancel_reason: None,
            unit,
        };
        let (by, limits, detach) = (Actor::Supervisor, Limits::default(), Detach::Forbid);
        Event::SpawnRequested(Box::new(NewRun { by, record, limits, detach }))
    }
}

fn identity(pid: i32) -> Identity {
    let fingerprint = Fingerprint { pid, start_time: 1, boot_id: "boot".to_owned(), unique: None };
    Identity { fingerprint, process_group_id: pid, cgroup: None, reaper: None, enforced: None }
}

pub fn declared(name: &str) -> Declared {
    let spec = UnitSpec {
        restart: RestartPolicy { when: When::OnFailure, limit: None, ..RestartPolicy::default() },
        pool: Some("p".to_owned()),
        file: Some(FILE.to_owned()),
        ..unit_spec(name)
    };
    Declared { spec, run_digest: name.to_owned(), digest: name.to_owned() }
}
