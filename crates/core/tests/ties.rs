//! R21, R22: what a run ends with: its parent run, and its foreground client.

mod common;

use common::{asked, identity, run_id};
use ostler_core::{
    Effect, Event, ExitStatus, Gone, NewRun, Now, Observation, Ownership, Signal, Step, Streams,
    Survey, World, Write,
};
use ostler_model::{Actor, Fingerprint, RunId, RunState, Settings};

const NOW: Now = Now { mono_ms: 1_000, wall_ms: 1_767_225_600_000 };

fn world() -> World {
    let mut world = World::new(&Settings::default(), NOW);
    world.step(Event::Reconciled { begin: true }, NOW);
    world
}

fn child(number: u64, parent: u64) -> NewRun {
    let mut new = asked(run_id(number), None);
    new.record.parent = Some(run_id(parent));
    new
}

fn spawn(world: &mut World, new: NewRun) {
    let run = new.record.run_id;
    world.step(Event::SpawnRequested(Box::new(new)), NOW);
    let identity = identity(world.live() as i32 + 1);
    world.step(Event::Spawned { run, identity }, NOW);
}

/// The runs that TERM goes to.
fn asked_to_end(step: &Step) -> Vec<RunId> {
    let term = |effect: &Effect| match effect {
        Effect::Signal { run, signal: Signal::Term } => Some(*run),
        _ => None,
    };
    step.effects.iter().filter_map(term).collect()
}

fn cancel(run: RunId) -> Event {
    Event::CancelRequested { run, by: Actor::Supervisor, why: "test", said: None }
}

#[test]
fn children_are_asked_to_end_with_their_parent_in_the_same_step() {
    let mut world = world();
    spawn(&mut world, asked(run_id(1), None));
    spawn(&mut world, child(2, 1));
    spawn(&mut world, child(3, 2));
    let mut kept = child(4, 1);
    kept.record.keep = true;
    spawn(&mut world, kept);
    assert_eq!(world.descendants(run_id(1)), [run_id(2), run_id(3)]);
    let ended = asked_to_end(&world.step(cancel(run_id(1)), NOW));
    assert_eq!(ended, [run_id(1), run_id(2), run_id(3)]);
}

#[test]
fn children_are_asked_to_end_when_their_parent_has_ended_by_itself() {
    let mut world = world();
    spawn(&mut world, asked(run_id(1), None));
    spawn(&mut world, child(2, 1));
    let (run, status, tree) = (run_id(1), ExitStatus::Code(0), Survey::default());
    let begun = world.step(Event::RootExited { run, status, tree }, NOW);
    assert!(asked_to_end(&begun).is_empty(), "its output may still come");
    let ended = world.step(Event::OutputEnded { run }, NOW);
    assert_eq!(asked_to_end(&ended), [run_id(2)]);
}

#[test]
fn nothing_begins_in_a_run_that_ends_or_has_ended() {
    let mut world = world();
    spawn(&mut world, asked(run_id(1), None));
    world.step(cancel(run_id(1)), NOW);
    for new in [child(2, 1), child(3, 9)] {
        let run = new.record.run_id;
        let effects = world.step(Event::SpawnRequested(Box::new(new)), NOW).effects;
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Spawn(_))), "{effects:?}");
        assert!(world.record(run).is_none(), "it is over");
    }
}

#[test]
fn a_run_ends_with_its_client_unless_that_left() {
    let mut world = world();
    for number in [1, 2] {
        let mut new = asked(run_id(number), None);
        let boot_id = "boot".to_owned();
        new.record.client =
            Some(Box::new(Fingerprint { pid: 7, start_time: 1, boot_id, unique: None }));
        spawn(&mut world, new);
    }
    let left = Event::ClientLeft { run: run_id(1), by: Actor::Supervisor };
    let writes = world.step(left, NOW).writes;
    let is_saved = |write: &Write| match write {
        Write::Save(record) => record.client.is_none() && record.state == RunState::Running,
        _ => false,
    };
    assert!(writes.iter().any(is_saved), "{writes:?}");
    let ended = world.step(Event::ClientGone { run: run_id(2) }, NOW);
    assert_eq!(asked_to_end(&ended), [run_id(2)]);
    assert!(world.record(run_id(1)).is_some_and(|record| record.state == RunState::Running));
}

/// A run that an earlier supervisor started, as the next one finds it.
fn found(number: u64, parent: Option<u64>, ownership: Ownership) -> Event {
    let mut earlier = world();
    let new = parent.map_or_else(|| asked(run_id(number), None), |parent| child(number, parent));
    // A child is accepted only while its parent lives.
    if let Some(parent) = parent {
        spawn(&mut earlier, asked(run_id(parent), None));
    }
    spawn(&mut earlier, new);
    let record = earlier.record(run_id(number)).expect("a live run").clone();
    let seen = Observation {
        identity: Some(identity(number as i32)),
        gone: Gone::NotLookedAt,
        tree: Survey::default(),
        ownership,
        status: ExitStatus::Unknown,
        streams: Streams::Kept,
    };
    Event::Observed { record: Box::new(record), seen }
}

/// The runs that end when the records of these have been compared with the kernel.
fn ended_at_start(events: Vec<Event>) -> Vec<RunId> {
    let mut world = World::new(&Settings::default(), NOW);
    let reconciled = Event::Reconciled { begin: true };
    let steps = events.into_iter().chain([reconciled]).map(|event| world.step(event, NOW));
    steps.flat_map(|step| asked_to_end(&step)).collect()
}

#[test]
fn a_child_whose_parent_ended_while_no_supervisor_ran_is_ended() {
    assert_eq!(ended_at_start(vec![found(2, Some(1), Ownership::Ours)]), [run_id(2)]);
    let both = vec![found(1, None, Ownership::Ours), found(2, Some(1), Ownership::Ours)];
    assert_eq!(ended_at_start(both), [], "its parent lives");
}

#[test]
fn a_child_whose_parent_another_supervisor_owns_is_left_alone() {
    let elsewhere = || found(1, None, Ownership::Another);
    let child = || found(2, Some(1), Ownership::Ours);
    assert_eq!(ended_at_start(vec![elsewhere(), child()]), []);
    // The parent became ours, and had ended.
    let Event::Observed { record, mut seen } = found(1, None, Ownership::Ours) else { return };
    (seen.identity, seen.gone) = (None, Gone::Process);
    let gone = Event::Observed { record, seen };
    assert_eq!(ended_at_start(vec![elsewhere(), child(), gone]), [run_id(2)]);
}

#[test]
fn a_child_that_has_ended_is_no_descendant() {
    let mut world = world();
    spawn(&mut world, asked(run_id(1), None));
    spawn(&mut world, child(2, 1));
    let (run, status, tree) = (run_id(2), ExitStatus::Code(0), Survey::default());
    world.step(Event::RootExited { run, status, tree }, NOW);
    world.step(Event::OutputEnded { run }, NOW);
    assert_eq!(world.descendants(run_id(1)), []);
}
