//! What the core decides.

use crate::counted;
use crate::given::{KILLED, asked, identity, nobody, now, run_id, units};
use ostler_core::patrol::{acted, decide, escalation, look};
use ostler_core::unit::Declared;
use ostler_core::{Effect, Event, ExitStatus, World};
use ostler_model::{
    Actor, HeartbeatSeen, Observation, PatrolOrders, PatrolPolicy, PatrolState, PendingSeen,
    SessionSeen, Settings, StepOutcome, WatchSpec, WatchState,
};

/// So many others are there meanwhile.
const OTHERS: u64 = 1_000;
const LIVES: u64 = 100;
const UNITS: usize = 100;
const AGENTS: usize = 50;

fn begin(world: &mut World, number: u64, unit: Option<&str>) {
    let run = run_id(number);
    world.step(Event::SpawnRequested(Box::new(asked(number, unit))), now(number));
    world.step(Event::Spawned { run, identity: identity(number) }, now(number));
}

fn end(world: &mut World, number: u64, status: ExitStatus) -> Vec<Effect> {
    let run = run_id(number);
    let exited = world.step(Event::RootExited { run, status, tree: nobody() }, now(number));
    let over = world.step(Event::OutputEnded { run }, now(number));
    let mut effects = exited.effects;
    effects.extend(over.effects);
    effects
}

/// A hundred runs from the wish to the result, one after the other, beside a thousand that live.
pub fn run_life() {
    let mut world = World::new(&Settings::default(), now(0));
    (0..OTHERS).for_each(|number| begin(&mut world, number, None));
    counted(|| {
        for number in OTHERS..OTHERS + LIVES {
            begin(&mut world, number, None);
            end(&mut world, number, ExitStatus::Code(0));
        }
    });
    assert_eq!(world.live(), OTHERS as usize);
}

/// A hundred units, each killed once and running again.
pub fn unit_respawn() {
    let mut world = World::new(&Settings::default(), now(0));
    world.step(Event::Reconciled { begin: true }, now(0));
    let declared = units(UNITS).into_iter().map(|spec| Declared {
        run_digest: spec.name.clone(),
        digest: spec.name.clone(),
        spec,
    });
    let by = Actor::Supervisor;
    let declared =
        Event::UnitsDeclared { declared: declared.collect(), gone: Vec::new(), start: true, by };
    let names: Vec<String> = launched(world.step(declared, now(0)).effects);
    assert_eq!(names.len(), UNITS);
    for (number, name) in names.iter().enumerate() {
        begin(&mut world, number as u64, Some(name));
    }
    counted(|| {
        for number in 0..UNITS as u64 {
            let mut next = launched(end(&mut world, number, KILLED));
            if next.is_empty() {
                next = launched(world.step(Event::UnitsDue, now(number)).effects);
            }
            assert_eq!(next.len(), 1);
            begin(&mut world, UNITS as u64 + number, next.first().map(String::as_str));
        }
    });
    assert_eq!(world.live(), UNITS);
}

fn launched(effects: Vec<Effect>) -> Vec<String> {
    effects
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Launch(name) => Some(name),
            _ => None,
        })
        .collect()
}

struct Agent {
    watch: WatchSpec,
    seen: Observation,
    state: WatchState,
}

/// One tick over fifty agents: some are well, some late, some gone.
pub fn patrol() {
    let policy = PatrolPolicy::default();
    let (town, orders) = (PatrolState::default(), PatrolOrders::default());
    let at_ms = crate::given::WALL_MS;
    let mut agents: Vec<Agent> = (0..AGENTS).map(agent).collect();
    counted(|| {
        for Agent { watch, seen, state } in &mut agents {
            look(state, seen, watch, &policy, &orders, at_ms);
            let decision = decide(seen, state, watch, &policy, &town, &orders, at_ms);
            escalation(state, &decision, seen, &policy, at_ms);
            acted(state, &decision, &StepOutcome::Done, seen, &policy, at_ms);
        }
    });
}

fn agent(number: usize) -> Agent {
    const MINUTE: u64 = 60_000;
    let name = format!("agent-{number:02}");
    let age_ms = [MINUTE, 7 * MINUTE, 20 * MINUTE][number % 3];
    let watch = WatchSpec {
        name: name.clone(),
        role: "witness".to_owned(),
        rig: Some("rig".to_owned()),
        session: format!("rig-{name}"),
        heartbeat: Some(format!("/town/{name}/heartbeat.json")),
        stale_ms: 5 * MINUTE,
        very_stale_ms: 15 * MINUTE,
        work: None,
        process: Vec::new(),
    };
    let seen = Observation {
        agent: name,
        at_ms: crate::given::WALL_MS,
        session: if number % 10 == 9 { SessionSeen::Dead } else { SessionSeen::Alive },
        age_ms: Some(1_440 * MINUTE),
        heartbeat: HeartbeatSeen::At { age_ms, cycle: 42, last_action: "health-scan".to_owned() },
        pending: PendingSeen::Work { mail: number as u32 % 2, nudges: 0, work: false },
        busy_until_ms: None,
        declared: None,
        output_age_ms: Some(age_ms),
        taken_age_ms: None,
        screen: Some(7),
        shows: None,
        is_begun: false,
        can_interrupt: false,
        cpu_percent: Some(0.0),
        processes: Some(3),
        tail: "> waiting for work\n".repeat(20),
        dead_age_ms: None,
        wants_again: false,
        is_wanted: true,
    };
    Agent { watch, seen, state: WatchState::default() }
}
