//! Thousands of units at once: no decision about all of them may recurse per unit or be quadratic.

#[path = "common/unit_spec.rs"]
mod unit_spec;

use ostler_core::unit::{Ask, Declared};
use ostler_core::{Effect, Event, Identity, NewRun, Now, World};
use ostler_model::{
    Actor, Backend, Detach, Extinct, Fingerprint, InstanceId, Limits, RunId, RunRecord, RunState,
    Settings,
};
use unit_spec::unit_spec;

const MANY: u64 = 20_000;
const NOW: Now = Now { mono_ms: 1_000, wall_ms: 1_767_225_600_000 };
/// The stack of a supervisor thread.
const STACK: usize = 2 << 20;

fn declared(number: u64) -> Declared {
    let name = format!("u{number:05}");
    let spec = unit_spec(&name);
    Declared { spec, run_digest: name.clone(), digest: name }
}

fn asked(run_id: RunId, unit: &str) -> NewRun {
    let record = RunRecord {
        run_id,
        session_id: "s".to_owned(),
        purpose: ostler_model::Purpose::Program,
        backend_id: Backend::Pipe,
        unit: Some(unit.to_owned()),
        pid: None,
        start_time: None,
        boot_id: "boot".to_owned(),
        process_unique: None,
        process_group_id: None,
        cgroup: None,
        reaper: None,
        state: RunState::Starting,
        created_at_ms: NOW.wall_ms,
        updated_at_ms: NOW.wall_ms,
        last_output_at_ms: None,
        owner_instance_id: InstanceId::new(1, [1; 10]),
        lease_expires_at_ms: None,
        termination: None,
        exit_code: None,
        exit_signal: None,
        extinct: Extinct::No,
        scope_key: Some(format!("unit {unit}")),
        command: String::new(),
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
        escaped: Vec::new(),
        survivors: Vec::new(),
        strict: false,
        parent: None,
        keep: false,
        client: None,
        pool: None,
        ticket: None,
        why: None,
        cancel_reason: None,
    };
    NewRun { by: Actor::Supervisor, record, limits: Limits::default(), detach: Detach::Forbid }
}

/// A world with `count` running units.
fn world() -> World {
    let mut world = World::new(&Settings::default(), NOW);
    world.step(Event::Reconciled { begin: true }, NOW);
    let declared = (0..MANY).map(declared).collect();
    let by = Actor::Supervisor;
    let actions =
        world.step(Event::UnitsDeclared { declared, gone: Vec::new(), start: true, by }, NOW);
    let launched = actions.effects.into_iter().filter_map(|effect| match effect {
        Effect::Launch(unit) => Some(unit),
        _ => None,
    });
    for (number, unit) in launched.enumerate() {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&(number as u64).to_be_bytes());
        let run = RunId::new(NOW.wall_ms, random);
        world.step(Event::SpawnRequested(Box::new(asked(run, &unit))), NOW);
        let pid = number as i32 + 1;
        let fingerprint =
            Fingerprint { pid, start_time: 1, boot_id: "boot".to_owned(), unique: None };
        let identity = Identity {
            fingerprint,
            process_group_id: pid,
            cgroup: None,
            reaper: None,
            enforced: None,
        };
        world.step(Event::Spawned { run, identity }, NOW);
    }
    assert_eq!(world.live() as u64, MANY);
    world
}

fn signalled(actions: &[Effect]) -> u64 {
    actions.iter().filter(|action| matches!(action, Effect::Signal { .. })).count() as u64
}

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    thread.expect("a thread").join().expect("it ended well");
}

/// All units end in the same step, without recursion from one end into another.
#[test]
fn all_units_are_stopped_in_one_step() {
    on_a_small_stack(|| {
        let mut world = world();
        let names = (0..MANY).map(|number| format!("u{number:05}")).collect();
        let ask = Event::UnitsRequested { names, ask: Ask::Stop, by: Actor::Supervisor };
        assert_eq!(signalled(&world.step(ask, NOW).effects), MANY);
    });
}

#[test]
fn all_units_end_with_the_daemon() {
    on_a_small_stack(|| {
        let mut world = world();
        let ask = Event::ShutdownRequested { by: Actor::Supervisor };
        assert_eq!(signalled(&world.step(ask, NOW).effects), MANY);
    });
}

#[test]
fn all_units_are_withdrawn_in_one_step() {
    on_a_small_stack(|| {
        let mut world = world();
        let gone = (0..MANY).map(|number| format!("u{number:05}")).collect();
        let by = Actor::Supervisor;
        let ask = Event::UnitsDeclared { declared: Vec::new(), gone, start: false, by };
        assert_eq!(signalled(&world.step(ask, NOW).effects), MANY);
    });
}
