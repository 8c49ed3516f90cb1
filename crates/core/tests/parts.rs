//! D12, D13: parts of Ostler that run as units: what starts them, what changes them, and that they are never given
//! up.

mod common;
#[path = "common/unit_spec.rs"]
mod unit_spec;

use common::{asked, identity, run_id};
use ostler_core::unit::{Ask, Declared};
use ostler_core::{Effect, Event, ExitStatus, Now, Survey, World};
use ostler_model::{Actor, Part, RestartPolicy, Settings, UnitSpec, UnitState};
use unit_spec::unit_spec;

const PART: &str = "ostler:tmux";

struct Stage {
    world: World,
    now: Now,
    born: u64,
}

fn spec(name: &str, version: u64) -> Declared {
    let is_part = name == PART;
    let spec = UnitSpec {
        argv: vec![format!("v{version}")],
        restart: if is_part { RestartPolicy::of_part() } else { RestartPolicy::default() },
        depends_on: if is_part { Vec::new() } else { vec![PART.to_owned()] },
        part: is_part.then_some(Part::Daemon),
        ..unit_spec(name)
    };
    let digest = format!("{name}{version}");
    Declared { spec, run_digest: digest.clone(), digest }
}

impl Stage {
    fn new() -> Self {
        let now = Now { mono_ms: 1_000, wall_ms: 1_767_225_600_000 };
        let mut stage = Self { world: World::new(&Settings::default(), now), now, born: 0 };
        stage.step(Event::Reconciled { begin: true });
        stage
    }

    /// Carries out the actions: a launched unit runs in the same step.
    fn step(&mut self, event: Event) -> Vec<String> {
        let mut launched = Vec::new();
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for action in self.world.step(event, self.now).effects {
                match action {
                    Effect::Launch(unit) => {
                        self.born += 1;
                        let run = run_id(self.born);
                        let new = Box::new(asked(run, Some(&unit)));
                        self.world.step(Event::SpawnRequested(new), self.now);
                        let identity = identity(self.born as i32);
                        events.push(Event::Spawned { run, identity });
                        launched.push(unit);
                    }
                    Effect::Signal { .. } => launched.push("(a signal)".to_owned()),
                    Effect::RenewLease => events.push(Event::LeaseRenewed { lost: Vec::new() }),
                    _ => {}
                }
            }
        }
        launched
    }

    fn declare(&mut self, declared: Vec<Declared>, gone: &[&str], start: bool) -> Vec<String> {
        let gone = gone.iter().map(|name| (*name).to_owned()).collect();
        self.step(Event::UnitsDeclared { declared, gone, start, by: Actor::Supervisor })
    }

    /// Kills its run.
    fn kill(&mut self, unit: &str) -> Vec<String> {
        let run = self.world.unit_run(unit).expect("it runs");
        let tree = Survey::default();
        let mut done = self.step(Event::RootExited { run, status: ExitStatus::Signal(9), tree });
        done.extend(self.step(Event::OutputEnded { run }));
        done
    }

    fn pass(&mut self, ms: u64) -> Vec<String> {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms;
        self.step(Event::UnitsDue)
    }

    fn view(&self, unit: &str) -> (UnitState, String) {
        let view = self.world.unit_views(self.now).into_iter().find(|view| view.name == unit);
        view.map(|view| (view.state, view.why)).expect("it is there")
    }
}

#[test]
fn a_part_of_the_daemon_begins_when_a_unit_first_needs_it() {
    let mut stage = Stage::new();
    assert_eq!(stage.declare(vec![spec(PART, 0)], &[], true), Vec::<String>::new());
    assert_eq!(stage.view(PART).0, UnitState::Stopped);
    assert_eq!(stage.declare(vec![spec("a", 0)], &[], true), [PART, "a"]);
    assert_eq!(stage.declare(vec![spec("b", 0)], &[], true), ["b"]);
}

#[test]
fn nothing_that_a_file_says_touches_a_part_that_runs() {
    let mut stage = Stage::new();
    stage.declare(vec![spec(PART, 0), spec("a", 0)], &[], true);
    let run = stage.world.unit_run(PART);
    assert_eq!(stage.declare(vec![spec(PART, 1), spec("b", 0)], &[], true), ["b"]);
    assert_eq!(stage.declare(vec![spec(PART, 2)], &["a", "b"], false).len(), 2, "only those two");
    assert_eq!((stage.world.unit_run(PART), stage.view(PART).0), (run, UnitState::Ready));
    let changed = stage.world.unit_views(stage.now).into_iter().any(|view| view.changed);
    assert!(!changed, "it is no change that needs attention");
}

#[test]
fn a_part_is_never_given_up_on() {
    let mut stage = Stage::new();
    stage.declare(vec![spec(PART, 0), spec("a", 0)], &[], true);
    for _ in 0..100 {
        stage.kill(PART);
        let (state, why) = stage.view(PART);
        assert_eq!(state, UnitState::Backoff);
        assert!(why.contains("always restarted"), "{why}");
        assert_eq!(stage.pass(30_000), [PART]);
    }
}

#[test]
fn a_part_that_died_is_awaited_by_those_that_need_it() {
    let mut stage = Stage::new();
    stage.declare(vec![spec(PART, 0), spec("a", 0)], &[], true);
    stage.kill(PART);
    stage.kill("a");
    assert_eq!(stage.pass(5_000), [PART, "a"]);
    let ask = Event::UnitsRequested {
        names: vec!["a".to_owned()],
        ask: Ask::Stop,
        by: Actor::Supervisor,
    };
    assert_eq!(stage.step(ask), ["(a signal)"], "the part continues without its users");
    assert_eq!(stage.view(PART).0, UnitState::Ready);
}

/// After a stop of the daemon: stopped units do not need the part.
#[test]
fn a_part_rests_until_a_unit_begins() {
    let mut stage = Stage::new();
    stage.declare(vec![spec(PART, 0), spec("a", 0)], &[], true);
    let records = stage.world.unit_records().cloned().collect();
    let mut next = Stage::new();
    next.step(Event::UnitsKnown { records, pools: Vec::new(), boot_id: "boot".to_owned() });
    assert_eq!(next.step(Event::Reconciled { begin: false }), Vec::<String>::new());
    assert_eq!(next.view(PART).0, UnitState::Stopped);
    assert_eq!(next.step(Event::UnitsWoken), [PART, "a"]);
}
