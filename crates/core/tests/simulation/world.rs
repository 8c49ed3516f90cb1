//! One machine, one registry, two supervisors, and everything that must stay true of them.

use crate::kernel::{BOOT, Tree};
use crate::random::Random;
use crate::units;
use ostler_core::unit::UnitEvent;
use ostler_core::{
    Action, Claim, Event, ExitStatus, Hearing, NewRun, Now, Observation, Ownership, Reach, Signal,
    Survey, World, may_steal,
};
use ostler_model::{
    Actor, AdoptPolicy, Backend, Desired, Detach, Extinct, InstanceId, Limits, RunId, RunRecord,
    RunState, Settings, SpawnErrorKind, UnitRecord,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const LEASE_MS: u64 = 3_000;
const INSTANCES: usize = 2;

pub struct Simulation {
    now: Now,
    told: bool,
    /// Nothing goes wrong any more.
    is_calm: bool,
    /// A guardian holds what a supervisor leaves behind, for its own successor.
    guarded: bool,
    next: u64,
    trees: BTreeMap<RunId, Tree>,
    // The registry: what survives a crash.
    records: BTreeMap<RunId, RunRecord>,
    claims: BTreeMap<InstanceId, Claim>,
    exits: BTreeMap<RunId, u32>,
    units: BTreeMap<(InstanceId, String), UnitRecord>,
    born: BTreeMap<RunId, InstanceId>,
    /// Taken over at least once: what one guardian holds is no use to another home.
    stolen: BTreeSet<RunId>,
    supervisors: [Option<Supervisor>; INSTANCES],
}

struct Supervisor {
    instance: InstanceId,
    world: World,
    events: VecDeque<Event>,
    /// Runs whose kernel events come here.
    held: BTreeSet<RunId>,
    watched: BTreeSet<RunId>,
    adopted: BTreeSet<RunId>,
}

/// Where a supervisor is killed, in one turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crash {
    Never,
    BeforeCommit,
    AfterCommit,
    /// After this many effects.
    AfterEffects(u64),
}

fn instance(index: usize) -> InstanceId {
    InstanceId::new(1, [index as u8 + 1; 10])
}

impl Simulation {
    pub fn new(told: bool, guarded: bool) -> Self {
        Self {
            now: Now { mono_ms: 1_000, wall_ms: 1_700_000_000_000 },
            told,
            is_calm: false,
            guarded,
            next: 0,
            trees: BTreeMap::new(),
            records: BTreeMap::new(),
            claims: BTreeMap::new(),
            exits: BTreeMap::new(),
            units: BTreeMap::new(),
            born: BTreeMap::new(),
            stolen: BTreeSet::new(),
            supervisors: [None, None],
        }
    }

    #[expect(clippy::print_stdout, reason = "a replayed history is read by a person")]
    fn tell(&self, what: impl FnOnce() -> String) {
        if self.told {
            println!("{:>8} {}", self.now.mono_ms, what());
        }
    }

    pub fn something_happens(&mut self, random: &mut Random) -> Result<(), String> {
        let index = random.below(INSTANCES as u64) as usize;
        if self.supervisors[index].is_none() {
            if random.chance(60) {
                self.start(index, random)?;
            }
            return self.kernel_moves(random);
        }
        let runs: Vec<RunId> = self.supervisors[index]
            .as_ref()
            .map(|supervisor| supervisor.world.records().map(|record| record.run_id).collect())
            .unwrap_or_default();
        let event = match random.below(100) {
            0..15 => Some(self.new_run(index, random, None)),
            15..25 => Some(units::something(random)),
            25..38 => random.pick(&runs).map(|run| Event::CancelAsked {
                run,
                by: Actor::Supervisor,
                why: "sim",
            }),
            38..40 => Some(Event::ShutdownAsked { by: Actor::Supervisor }),
            40..70 => {
                self.kernel_moves(random)?;
                None
            }
            70..90 => {
                let step = [1, 30, 250, 900, 3_500][random.below(5) as usize];
                self.pass(step);
                None
            }
            90..93 => {
                // Somebody sets the clock.
                self.now.wall_ms =
                    self.now.wall_ms.wrapping_add(random.below(7_200_000)).wrapping_sub(3_600_000);
                None
            }
            93..97 => {
                // It stands still past its lease, then goes on.
                let other = (index + 1) % INSTANCES;
                self.pass(LEASE_MS + 100);
                self.turn(other, None, Crash::Never, random)?;
                None
            }
            _ => {
                self.tell(|| format!("supervisor {index} is killed"));
                self.supervisors[index] = None;
                return Ok(());
            }
        };
        let crash = match random.below(100) {
            0..4 => Crash::BeforeCommit,
            4..8 => Crash::AfterCommit,
            8..14 => Crash::AfterEffects(1 + random.below(3)),
            _ => Crash::Never,
        };
        self.turn(index, event, crash, random)
    }

    fn pass(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms;
    }

    fn new_run(&mut self, index: usize, random: &mut Random, unit: Option<&str>) -> Event {
        self.next += 1;
        let mut bits = [0u8; 10];
        bits[..8].copy_from_slice(&self.next.to_le_bytes());
        let limits = Limits {
            timeout_ms: (!self.is_calm && random.chance(30)).then(|| 100 + random.below(2_000)),
            no_output_timeout_ms: (!self.is_calm && random.chance(30))
                .then(|| 100 + random.below(1_000)),
            grace_ms: random.below(1_000),
            stop_signal: None,
        };
        let record = RunRecord {
            run_id: RunId::new(self.next, bits),
            session_id: "s".to_owned(),
            backend_id: Backend::Pipe,
            unit: unit.map(str::to_owned),
            pid: None,
            start_time: None,
            boot_id: BOOT.to_owned(),
            process_unique: None,
            process_group_id: None,
            cgroup: None,
            state: RunState::Starting,
            created_at_ms: self.now.wall_ms,
            updated_at_ms: self.now.wall_ms,
            last_output_at_ms: None,
            owner_instance_id: instance(index),
            lease_expires_at_ms: None,
            termination: None,
            exit_code: None,
            exit_signal: None,
            extinct: Extinct::No,
            scope_key: match unit {
                Some(unit) => Some(format!("unit {unit}")),
                None => random.chance(20).then(|| format!("key{}", random.below(2))),
            },
            command: String::new(),
            error: None,
            spawn_error_kind: None,
            started_at_ms: None,
            ended_at_ms: None,
            timeout_ms: limits.timeout_ms,
            no_output_timeout_ms: limits.no_output_timeout_ms,
            grace_ms: limits.grace_ms,
            stop_signal: None,
            detach_allowed: false,
            started_mono_ms: None,
            output_bytes: 0,
        };
        Event::SpawnAsked(Box::new(NewRun {
            by: Actor::Supervisor,
            record,
            limits,
            detach: Detach::Forbid,
        }))
    }

    /// Processes do what they like.
    fn kernel_moves(&mut self, random: &mut Random) -> Result<(), String> {
        let alive: Vec<RunId> =
            self.trees.iter().filter(|(_, tree)| !tree.is_extinct()).map(|(run, _)| *run).collect();
        let Some(run) = random.pick(&alive) else { return Ok(()) };
        let now = self.now;
        let Some(tree) = self.trees.get_mut(&run) else { return Ok(()) };
        match random.below(7) {
            0 | 1 => tree.exit(random.below(3) as i32),
            2 if tree.status.is_none() => tree.inside += 1,
            3 if tree.status.is_none() => tree.outside += 1,
            4 => {
                tree.inside = 0;
                tree.outside = 0;
                tree.output_open &= tree.status.is_none();
            }
            5 if tree.output_open => tree.last_output = Some(now.mono_ms),
            _ => tree.output_open &= !random.chance(20),
        }
        Ok(())
    }

    fn start(&mut self, index: usize, random: &mut Random) -> Result<(), String> {
        self.tell(|| format!("supervisor {index} starts"));
        let settings = Settings {
            lease_ms: LEASE_MS,
            adopt: if random.chance(50) { AdoptPolicy::Adopt } else { AdoptPolicy::Terminate },
            ..Settings::default()
        };
        self.renew(index);
        let mut supervisor = Supervisor {
            instance: instance(index),
            world: World::new(&settings, self.now),
            events: VecDeque::new(),
            held: BTreeSet::new(),
            watched: BTreeSet::new(),
            adopted: BTreeSet::new(),
        };
        let own = |((owner, _), record): (&(InstanceId, String), &UnitRecord)| {
            (*owner == instance(index)).then(|| record.clone())
        };
        let records = self.units.iter().filter_map(own).collect();
        supervisor.events.push_back(Event::UnitsKnown { records, boot_id: BOOT.to_owned() });
        for record in self.records.values().filter(|record| record.state != RunState::Exited) {
            let seen = self.observe(record, self.ownership(record, index), index);
            supervisor.events.push_back(Event::Observed { record: Box::new(record.clone()), seen });
        }
        supervisor.events.push_back(Event::Reconciled { begin: true });
        self.supervisors[index] = Some(supervisor);
        let crash =
            if random.chance(10) { Crash::AfterEffects(random.below(3)) } else { Crash::Never };
        self.turn(index, None, crash, random)
    }

    fn renew(&mut self, index: usize) {
        self.claims.insert(
            instance(index),
            Claim {
                boot_id: BOOT.to_owned(),
                renewed_at_ms: self.now.wall_ms,
                expires_at_ms: self.now.wall_ms + LEASE_MS,
                expires_mono_ms: self.now.mono_ms + LEASE_MS,
            },
        );
    }

    fn ownership(&self, record: &RunRecord, index: usize) -> Ownership {
        if record.owner_instance_id == instance(index) {
            return Ownership::Ours;
        }
        match self.claims.get(&record.owner_instance_id) {
            Some(claim) if !may_steal(claim, BOOT, self.now) => Ownership::Another,
            Some(_) | None => Ownership::Expired,
        }
    }

    fn is_kept(&self, run: RunId, index: usize) -> bool {
        self.guarded && self.born.get(&run) == Some(&instance(index)) && !self.stolen.contains(&run)
    }

    fn observe(&self, record: &RunRecord, ownership: Ownership, index: usize) -> Observation {
        let tree = self.trees.get(&record.run_id).filter(|_| ownership != Ownership::Another);
        Observation {
            identity: tree.filter(|tree| tree.status.is_none()).map(Tree::identity),
            why_not: "gone",
            tree: tree.map(Tree::survey).unwrap_or_default(),
            ownership,
            status: tree
                .filter(|_| self.is_kept(record.run_id, index))
                .and_then(|tree| tree.status)
                .unwrap_or(ExitStatus::Unknown),
            hearing: if self.is_kept(record.run_id, index) { Hearing::Kept } else { Hearing::Lost },
        }
    }

    /// One turn of a supervisor's loop, as the engine does it.
    fn turn(
        &mut self,
        index: usize,
        asked: Option<Event>,
        crash: Crash,
        random: &mut Random,
    ) -> Result<(), String> {
        let Some(mut supervisor) = self.supervisors[index].take() else { return Ok(()) };
        self.gather(&mut supervisor);
        supervisor.events.extend(asked);
        let mut effects_done = 0;
        for _ in 0..10_000 {
            let mut durable = Vec::new();
            let mut effects = VecDeque::new();
            while let Some(event) = supervisor.events.pop_front() {
                self.tell(|| format!("[{index}] {event:?}"));
                for action in supervisor.world.step(event, self.now) {
                    match action {
                        Action::Save(_)
                        | Action::Note(_)
                        | Action::Count(..)
                        | Action::SaveUnit(_)
                        | Action::RemoveUnit(_) => durable.push(action),
                        effect => effects.push_back(effect),
                    }
                }
            }
            if durable.is_empty() && effects.is_empty() {
                self.supervisors[index] = Some(supervisor);
                return Ok(());
            }
            if crash == Crash::BeforeCommit {
                self.tell(|| format!("[{index}] killed before commit"));
                return Ok(());
            }
            self.commit(&supervisor, durable)?;
            if crash == Crash::AfterCommit {
                self.tell(|| format!("[{index}] killed after commit"));
                return Ok(());
            }
            while let Some(effect) = effects.pop_front() {
                self.tell(|| format!("[{index}] -> {effect:?}"));
                if matches!(effect, Action::Stop) {
                    return Ok(());
                }
                self.perform(index, &mut supervisor, effect, random)?;
                effects_done += 1;
                if matches!(crash, Crash::AfterEffects(most) if effects_done >= most) {
                    self.tell(|| format!("[{index}] killed among its effects"));
                    return Ok(());
                }
            }
        }
        Err("a turn that never ends".to_owned())
    }

    fn gather(&mut self, supervisor: &mut Supervisor) {
        for run in supervisor.held.clone() {
            let Some(tree) = self.trees.get_mut(&run) else { continue };
            if let Some(status) = tree.status
                && !tree.status_told
            {
                tree.status_told = true;
                let status =
                    if supervisor.adopted.contains(&run) { ExitStatus::Unknown } else { status };
                supervisor.events.push_back(Event::RootExited { run, status, tree: tree.survey() });
            }
            if !tree.output_open && !tree.output_told && !supervisor.adopted.contains(&run) {
                tree.output_told = true;
                supervisor.events.push_back(Event::OutputEnded { run });
            }
            if tree.is_extinct() && supervisor.watched.remove(&run) {
                supervisor.events.push_back(Event::Surveyed { run, tree: Survey::default() });
            }
        }
        if supervisor.world.lease_due(self.now) {
            supervisor.events.push_back(Event::LeaseDue);
        }
        if supervisor.world.units_due(self.now) {
            supervisor.events.push_back(Event::UnitsDue);
        }
        for run in supervisor.world.due_runs(self.now) {
            let tree = self.trees.get(&run);
            supervisor.events.push_back(Event::Due {
                run,
                last_output_mono_ms: tree.and_then(|tree| tree.last_output),
                tree: tree.map(Tree::survey),
            });
        }
    }

    /// The registry refuses to overwrite another's record; and nothing terminal ever changes.
    fn commit(&mut self, supervisor: &Supervisor, durable: Vec<Action>) -> Result<(), String> {
        for action in durable {
            let record = match action {
                Action::Save(record) => record,
                Action::SaveUnit(unit) => {
                    self.units.insert((supervisor.instance, unit.spec.name.clone()), *unit);
                    continue;
                }
                Action::RemoveUnit(name) => {
                    self.units.remove(&(supervisor.instance, name));
                    continue;
                }
                _ => continue,
            };
            if let Some(known) = self.records.get(&record.run_id) {
                if known.owner_instance_id != supervisor.instance {
                    continue;
                }
                if known.state == RunState::Exited {
                    return Err(format!("run {} is written after it had exited", record.run_id));
                }
                if known.termination.is_some() && known.termination != record.termination {
                    return Err(format!(
                        "run {} changes its reason from {:?} to {:?}",
                        record.run_id, known.termination, record.termination
                    ));
                }
            }
            if record.state == RunState::Exited {
                *self.exits.entry(record.run_id).or_default() += 1;
                if record.termination.is_none() || record.lease_expires_at_ms.is_some() {
                    return Err(format!(
                        "run {} exited without a reason, or with a lease",
                        record.run_id
                    ));
                }
                if record.extinct == Extinct::Yes
                    && self.trees.get(&record.run_id).is_some_and(|tree| !tree.is_extinct())
                {
                    return Err(format!("run {} is said to be extinct and is not", record.run_id));
                }
            }
            self.records.insert(record.run_id, *record);
        }
        Ok(())
    }

    fn perform(
        &mut self,
        index: usize,
        supervisor: &mut Supervisor,
        effect: Action,
        random: &mut Random,
    ) -> Result<(), String> {
        match effect {
            Action::Save(_)
            | Action::Note(_)
            | Action::Count(..)
            | Action::SaveUnit(_)
            | Action::RemoveUnit(_)
            | Action::CheckHealth { .. }
            | Action::Tell { .. }
            | Action::EndRun { .. } => {}
            Action::Launch(unit) => {
                let event = self.new_run(index, random, Some(&unit));
                supervisor.events.push_back(event);
            }
            Action::CheckReady { unit, run } => {
                let event = if self.is_calm || random.chance(80) {
                    UnitEvent::Ready { run }
                } else {
                    UnitEvent::NotReady { run, why: "sim".to_owned() }
                };
                supervisor.events.push_back(Event::Unit { name: unit, event });
            }
            Action::Spawn(run) => self.spawn(supervisor, run, random)?,
            Action::Adopt(record) => {
                supervisor.held.insert(record.run_id);
                if self.is_kept(record.run_id, index) {
                    // Whatever the one before was told, this one is told as well.
                    if let Some(tree) = self.trees.get_mut(&record.run_id) {
                        tree.output_told = false;
                        tree.status_told = false;
                    }
                } else {
                    supervisor.adopted.insert(record.run_id);
                }
            }
            // As the engine does: nobody is signalled who came to his end later in the same turn.
            Action::Signal { run, signal, reach } => {
                if supervisor.world.record(run).is_some() {
                    self.signal(supervisor, run, signal, reach)?;
                }
            }
            Action::Watch(run) => {
                if self.trees.get(&run).is_none_or(Tree::is_extinct) {
                    supervisor.events.push_back(Event::Surveyed { run, tree: Survey::default() });
                } else {
                    supervisor.watched.insert(run);
                }
            }
            Action::Finish(record) => {
                supervisor.held.remove(&record.run_id);
                if self
                    .records
                    .get(&record.run_id)
                    .is_none_or(|known| known.state != RunState::Exited)
                {
                    return Err(format!(
                        "run {} is finished before its record says so",
                        record.run_id
                    ));
                }
            }
            Action::Abandon(run) => {
                supervisor.held.remove(&run);
                if self.records.get(&run).is_some_and(|known| {
                    known.owner_instance_id == supervisor.instance
                        && known.state != RunState::Exited
                }) {
                    return Err(format!("run {run} is abandoned by its owner"));
                }
                // As the engine does: a process that the new owner does not know of is nobody's but ours.
                let known_pid = self.records.get(&run).and_then(|known| known.pid);
                if let Some(tree) =
                    self.trees.get_mut(&run).filter(|tree| known_pid != Some(tree.pid))
                {
                    tree.kill(9);
                }
            }
            Action::Started(run) => {
                if self.records.get(&run).is_none_or(|known| known.pid.is_none()) {
                    return Err(format!("the caller is told of run {run} before its record is"));
                }
            }
            Action::Refuse { .. } | Action::LetGo(_) | Action::Stop => {}
            Action::RenewLease => {
                self.renew(index);
                let lost = supervisor
                    .world
                    .records()
                    .map(|record| record.run_id)
                    .filter(|run| {
                        self.records.get(run).is_none_or(|known| {
                            known.owner_instance_id != supervisor.instance
                                || known.state == RunState::Exited
                        })
                    })
                    .collect();
                supervisor.events.push_back(Event::LeaseRenewed { lost });
                for record in
                    self.records.values().filter(|record| record.state != RunState::Exited)
                {
                    let ownership = self.ownership(record, index);
                    if ownership == Ownership::Expired {
                        let seen = self.observe(record, ownership, index);
                        supervisor
                            .events
                            .push_back(Event::Observed { record: Box::new(record.clone()), seen });
                    }
                }
            }
            Action::Steal { record, mut seen } => {
                let ownership = self.ownership(&record, index);
                let Some(known) = self.records.get_mut(&record.run_id) else { return Ok(()) };
                if ownership == Ownership::Expired
                    && known.owner_instance_id == record.owner_instance_id
                    && known.state != RunState::Exited
                {
                    known.owner_instance_id = supervisor.instance;
                    known.unit = None;
                    self.stolen.insert(record.run_id);
                    seen.ownership = Ownership::Ours;
                    supervisor
                        .events
                        .push_back(Event::StealWon { record: Box::new(known.clone()), seen });
                }
            }
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        supervisor: &mut Supervisor,
        run: RunId,
        random: &mut Random,
    ) -> Result<(), String> {
        let Some(record) = self.records.get(&run) else {
            return Err(format!("run {run} is executed before its intent is recorded"));
        };
        if self.trees.contains_key(&run) {
            return Err(format!("run {run} is executed twice"));
        }
        if let Some(key) = &record.scope_key {
            let copy = self.records.values().find(|other| {
                other.run_id != run
                    && other.scope_key.as_ref() == Some(key)
                    && other.owner_instance_id == supervisor.instance
                    // A scope is one instance's; a run taken over from another brings its key along.
                    && self.born.get(&other.run_id) == Some(&supervisor.instance)
                    && !self.stolen.contains(&other.run_id)
                    && other.state != RunState::Exited
                    && self.trees.get(&other.run_id).is_some_and(|tree| !tree.is_extinct())
            });
            if let Some(other) = copy {
                return Err(format!("{run} is started while {} of its scope lives", other.run_id));
            }
        }
        if let Some(unit) = &record.unit {
            let copy = self.records.values().find(|other| {
                other.run_id != run
                    && other.unit.as_ref() == Some(unit)
                    && other.owner_instance_id == supervisor.instance
                    && self.born.get(&other.run_id) == Some(&supervisor.instance)
                    && !self.stolen.contains(&other.run_id)
                    && self.trees.get(&other.run_id).is_some_and(|tree| !tree.is_extinct())
                    && other.extinct != Extinct::No
            });
            if let Some(other) = copy {
                return Err(format!("unit {unit}: {run} is started while {} lives", other.run_id));
            }
        }
        if !self.is_calm && random.chance(10) {
            let error = "no".to_owned();
            supervisor.events.push_back(Event::SpawnFailed {
                run,
                kind: SpawnErrorKind::Other,
                error,
            });
            return Ok(());
        }
        self.next += 1;
        let tree = Tree::new(self.next as i32, self.now.mono_ms, random.chance(30));
        supervisor.events.push_back(Event::Spawned { run, identity: tree.identity() });
        supervisor.held.insert(run);
        self.trees.insert(run, tree);
        self.born.insert(run, supervisor.instance);
        Ok(())
    }

    /// The heart of it: who may be signalled, and when.
    fn signal(
        &mut self,
        supervisor: &mut Supervisor,
        run: RunId,
        signal: Signal,
        reach: Reach,
    ) -> Result<(), String> {
        let Some(record) = self.records.get(&run) else {
            return Err(format!("{signal:?} to {run}, which has no record"));
        };
        if record.state == RunState::Exited {
            return Err(format!("{signal:?} to {run} after it exited"));
        }
        if record.owner_instance_id != supervisor.instance {
            return Err(format!("{signal:?} to {run}, which is another's"));
        }
        let Some(tree) = self.trees.get_mut(&run) else {
            return Err(format!("{signal:?} to {run}, which was never executed"));
        };
        // Without an identity on record there may be no signal, unless only the rest of a tree is left.
        if record.pid.is_some_and(|pid| pid != tree.pid)
            || (record.pid.is_none() && tree.status.is_none())
        {
            return Err(format!("{signal:?} to {run} with an unverified identity"));
        }
        let processes = tree.survey().inside + tree.survey().outside;
        match (signal, reach) {
            (Signal::Term, _) => tree.term(),
            (Signal::Kill, Reach::Tree) => tree.kill(9),
            (Signal::Kill, Reach::Outside) => tree.outside = 0,
        }
        if signal == Signal::Kill && processes > 0 {
            supervisor.events.push_back(Event::Killed { run, mode: "pgid", processes });
        }
        Ok(())
    }

    /// Never two, never one that is not wanted, and each that is wanted and may run does.
    fn units_are_as_wanted(&self) -> Result<(), String> {
        for ((owner, name), unit) in &self.units {
            if *owner != instance(0) {
                continue;
            }
            let alive = self.records.values().filter(|record| {
                record.unit.as_ref() == Some(name)
                    && record.owner_instance_id == instance(0)
                    && self.born.get(&record.run_id) == Some(&instance(0))
                    && !self.stolen.contains(&record.run_id)
                    && self.trees.get(&record.run_id).is_some_and(|tree| tree.status.is_none())
            });
            let alive = alive.count();
            let may_run = unit.tally.opened.is_none() && unit.over.is_none();
            match (unit.desired, alive) {
                (Desired::Stopped, 0) => {}
                (Desired::Running, 1) => {}
                (Desired::Running, 0) if !may_run || !unit.spec.depends_on.is_empty() => {}
                (wanted, count) => {
                    return Err(format!("unit {name} is wanted {wanted}, {count} of it live"));
                }
            }
        }
        Ok(())
    }

    /// Everyone crashes; one comes back and is given time. What is then on record must be the truth.
    pub fn comes_to_rest(&mut self, random: &mut Random) -> Result<(), String> {
        self.supervisors = [None, None];
        self.is_calm = true;
        self.pass(LEASE_MS * 2);
        // The wall clock may have been set back: then the lease is judged by the other clock.
        self.start(0, &mut Random::new(0))?;
        if self.supervisors[0].is_none() {
            self.start(0, &mut Random::new(7))?;
        }
        for _ in 0..100 {
            self.pass(1_000);
            self.turn(0, None, Crash::Never, random)?;
        }
        self.units_are_as_wanted()?;
        for (run, count) in &self.exits {
            if *count != 1 {
                return Err(format!("run {run} exited {count} times"));
            }
        }
        for record in self.records.values() {
            let tree = self.trees.get(&record.run_id);
            match record.state {
                RunState::Exited => {
                    if tree.is_some_and(|tree| !tree.is_extinct()) && record.extinct == Extinct::Yes
                    {
                        return Err(format!("run {} is said to be gone and is not", record.run_id));
                    }
                    let is_ours = record.owner_instance_id == instance(0);
                    if is_ours
                        && self.is_kept(record.run_id, 0)
                        && let Some(tree) = tree
                    {
                        let known = match (record.exit_code, record.exit_signal) {
                            (Some(code), _) => ExitStatus::Code(code),
                            (None, Some(signal)) => ExitStatus::Signal(signal),
                            (None, None) => ExitStatus::Unknown,
                        };
                        if tree.status != Some(known) {
                            return Err(format!(
                                "run {} ended with {:?}, its record says {known:?}",
                                record.run_id, tree.status
                            ));
                        }
                    }
                }
                RunState::Running => {
                    if tree.is_none_or(|tree| tree.status.is_some()) {
                        return Err(format!("run {} is said to run and does not", record.run_id));
                    }
                }
                RunState::Starting | RunState::Exiting => {
                    return Err(format!(
                        "run {} is still {} after reconcile",
                        record.run_id, record.state
                    ));
                }
            }
        }
        for (run, tree) in &self.trees {
            let owned = self.records.get(run).is_some_and(|record| {
                record.owner_instance_id == instance(0)
                    && (record.state != RunState::Exited || record.extinct != Extinct::Yes)
            });
            if !tree.is_extinct() && !owned {
                return Err(format!("processes of {run} are left and nobody owns them"));
            }
        }
        Ok(())
    }
}
