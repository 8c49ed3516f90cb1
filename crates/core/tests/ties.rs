//! R21, R22: what a run ends with: its parent run, and its foreground client.

mod common;

use common::{asked, identity, run_id};
use ostler_core::{Effect, Event, ExitStatus, NewRun, Now, Signal, Step, Survey, World, Write};
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
    world.step(Event::SpawnAsked(Box::new(new)), NOW);
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
    Event::CancelAsked { run, by: Actor::Supervisor, why: "test", said: None }
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
        let effects = world.step(Event::SpawnAsked(Box::new(new)), NOW).effects;
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
