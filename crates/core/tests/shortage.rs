//! D21: a shortage of the supervisor's own is never a unit's fault: it is tried again, and nothing is counted.

mod common;
#[path = "common/unit_spec.rs"]
mod unit_spec;

use common::{asked, identity, run_id};
use ostler_core::unit::{Ask, Declared};
use ostler_core::{Effect, Event, Now, World};
use ostler_model::{
    Actor, RestartLimit, RestartPolicy, Settings, SpawnErrorKind, UnitSpec, UnitState, UnitView,
    When,
};
use unit_spec::unit_spec;

fn spec(restart: RestartPolicy) -> UnitSpec {
    UnitSpec { argv: vec!["web".to_owned()], restart, ..unit_spec("web") }
}

struct Stage {
    world: World,
    now: Now,
    born: u64,
}

impl Stage {
    fn new(restart: RestartPolicy) -> Self {
        let now = Now { mono_ms: 1_000, wall_ms: 1_767_225_600_000 };
        let mut world = World::new(&Settings::default(), now);
        world.step(Event::Reconciled { begin: true }, now);
        let digest = "web".to_owned();
        let declared = vec![Declared { spec: spec(restart), run_digest: digest.clone(), digest }];
        let by = Actor::Supervisor;
        let mut stage = Self { world, now, born: 0 };
        stage.step(
            Event::UnitsDeclared { declared, gone: Vec::new(), start: true, by },
            Some(SpawnErrorKind::OutOfDescriptors),
        );
        stage
    }

    /// A launched unit fails for lack of this resource, or runs.
    fn step(&mut self, event: Event, lacks: Option<SpawnErrorKind>) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for action in self.world.step(event, self.now).effects {
                if matches!(action, Effect::RenewLease) {
                    events.push(Event::LeaseRenewed { lost: Vec::new() });
                } else if let Effect::Launch(unit) = action {
                    self.born += 1;
                    let run = run_id(self.born);
                    let new = Box::new(asked(run, Some(&unit)));
                    self.world.step(Event::SpawnRequested(new), self.now);
                    events.push(match lacks {
                        Some(kind) => Event::SpawnFailed { run, kind, error: "no room".to_owned() },
                        None => Event::Spawned { run, identity: identity(self.born as i32) },
                    });
                }
            }
        }
    }

    fn pass(&mut self, ms: u64, lacks: Option<SpawnErrorKind>) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms;
        self.step(Event::UnitsDue, lacks);
    }

    fn view(&self) -> UnitView {
        self.world.unit_views(self.now).remove(0)
    }
}

#[test]
fn a_unit_waits_for_room_however_long_and_its_limit_is_not_touched() {
    let limit = Some(RestartLimit { count: 1, window_ms: 3_600_000 });
    for when in [When::Always, When::OnFailure, When::Never] {
        let restart = RestartPolicy { when, limit, ..RestartPolicy::default() };
        let mut stage = Stage::new(restart);
        let kinds = [
            SpawnErrorKind::OutOfDescriptors,
            SpawnErrorKind::OutOfProcesses,
            SpawnErrorKind::OutOfMemory,
        ];
        for round in 0..100 {
            let view = stage.view();
            assert_eq!(view.state, UnitState::Backoff, "{when:?}, round {round}: {view:?}");
            assert!(view.why.contains("retrying in") && view.why.contains("no room"), "{view:?}");
            assert!(view.ends.is_empty() && view.restarts == 0, "{view:?}");
            stage.pass(30_000, Some(kinds[round % kinds.len()]));
        }
        assert_eq!(stage.born, 101, "{when:?}: every 30 s once, and no more");
        stage.pass(30_000, None);
        assert_eq!(stage.view().state, UnitState::Ready, "{when:?}");
    }
}

/// D21, R12: a full disk loses the intent of a run; its unit is tried again, or stops if that was asked meanwhile.
#[test]
fn a_unit_whose_intent_was_not_recorded_is_tried_again() {
    let mut stage = Stage::new(RestartPolicy::default());
    stage.pass(30_000, None);
    let run = stage.view().run_id.expect("a run");
    stage.step(Event::IntentLost { run }, None);
    let view = stage.view();
    assert_eq!((view.state, view.run_id), (UnitState::Backoff, None), "{view:?}");
    stage.pass(1_000, None);
    assert_eq!(stage.view().state, UnitState::Ready);

    let run = stage.view().run_id.expect("a run");
    let (names, by) = (vec!["web".to_owned()], Actor::Supervisor);
    stage.step(Event::UnitsRequested { names, ask: Ask::Stop, by }, None);
    stage.step(Event::IntentLost { run }, None);
    assert_eq!(stage.view().state, UnitState::Stopped);
}

#[test]
fn the_first_tries_come_soon_and_not_in_a_storm() {
    let mut stage = Stage::new(RestartPolicy::default());
    let tries = |stage: &mut Stage, ms: u64| {
        let before = stage.born;
        for _ in 0..ms / 10 {
            stage.pass(10, Some(SpawnErrorKind::OutOfProcesses));
        }
        stage.born - before
    };
    assert_eq!(tries(&mut stage, 1_000), 1);
    assert_eq!(tries(&mut stage, 2_000), 1);
    assert!((3..=5).contains(&tries(&mut stage, 60_000)));
}

#[test]
fn what_is_wrong_with_the_program_itself_still_counts() {
    let limit = Some(RestartLimit { count: 1, window_ms: 3_600_000 });
    let mut stage = Stage::new(RestartPolicy { limit, ..RestartPolicy::default() });
    stage.pass(1_000, Some(SpawnErrorKind::NotFound));
    assert_eq!(stage.view().state, UnitState::Error);
}
