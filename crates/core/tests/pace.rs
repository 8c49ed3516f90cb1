//! Whatever ends a unit and whatever restarts it, there is never a storm of starts.

mod common;
#[path = "simulation/random.rs"]
mod random;
#[path = "common/unit_spec.rs"]
mod unit_spec;

use common::{asked, identity, run_id};
use ostler_core::unit::{Ask, Declared, UnitEvent};
use ostler_core::{Effect, Event, ExitStatus, Now, Survey, World};
use ostler_model::{
    Actor, Backoff, Missed, Overlap, Part, Preset, RestartPolicy, RunId, ScheduleSpec, Settings,
    UnitSpec, UnitState, When,
};
use random::Random;
use unit_spec::unit_spec;

const UNIT: &str = "u";
const SECOND: u64 = 1_000;
const STARTS_MOST: usize = 10;

/// Every preset and every `when`, with the preset's delays, without delay, and without a limit.
fn policies() -> Vec<RestartPolicy> {
    let mut policies = vec![RestartPolicy::default(), RestartPolicy::of_part()];
    policies.extend(Preset::ALL.iter().map(|(_, preset)| RestartPolicy::preset(*preset)));
    for when in [When::Always, When::OnFailure, When::Never] {
        let backoff = Backoff { initial_ms: 0, factor: 1.0, max_ms: 0, reset_after_ms: 0 };
        policies.push(RestartPolicy {
            when,
            preset: None,
            backoff,
            immediate_after_ms: None,
            limit: None,
        });
        policies.extend(Preset::ALL.iter().map(|(_, preset)| RestartPolicy {
            when,
            backoff,
            limit: None,
            ..RestartPolicy::preset(*preset)
        }));
    }
    policies
}

fn declared(restart: RestartPolicy, version: u64, scheduled: bool, part: bool) -> Declared {
    let schedule = scheduled.then(|| ScheduleSpec {
        cron: "* * * * *".to_owned(),
        time_zone: None,
        overlap: Overlap::Replace,
        missed: Missed::Skip,
    });
    let spec = UnitSpec {
        argv: vec![format!("v{version}")],
        restart,
        schedule,
        part: part.then_some(Part::File),
        ..unit_spec(UNIT)
    };
    let digest = format!("{version}");
    Declared { spec, run_digest: digest.clone(), digest }
}

struct Stage {
    world: World,
    now: Now,
    starts_ms: Vec<u64>,
    live: Option<RunId>,
    ending: Option<RunId>,
}

impl Stage {
    fn new(declared: Declared) -> Self {
        let now = Now { mono_ms: 5_000, wall_ms: 1_767_225_600_000 };
        let world = World::new(&Settings::default(), now);
        let mut stage = Self { world, now, starts_ms: Vec::new(), live: None, ending: None };
        stage.step(Event::Reconciled { begin: true });
        stage.declare(declared);
        stage
    }

    fn step(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for action in self.world.step(event, self.now).effects {
                match action {
                    Effect::Launch(unit) => {
                        self.starts_ms.push(self.now.mono_ms);
                        let run = run_id(self.starts_ms.len() as u64);
                        let new = Box::new(asked(run, Some(&unit)));
                        self.world.step(Event::SpawnRequested(new), self.now);
                        let identity = identity(self.starts_ms.len() as i32);
                        events.push(Event::Spawned { run, identity });
                        self.live = Some(run);
                    }
                    Effect::Signal { .. } => self.ending = self.live,
                    Effect::RenewLease => events.push(Event::LeaseRenewed { lost: Vec::new() }),
                    _ => {}
                }
            }
        }
    }

    fn declare(&mut self, declared: Declared) {
        let (declared, gone) = (vec![declared], Vec::new());
        self.step(Event::UnitsDeclared { declared, gone, start: true, by: Actor::Supervisor });
    }

    fn end(&mut self, status: ExitStatus) {
        let Some(run) = self.live.take() else { return };
        self.ending = None;
        self.step(Event::RootExited { run, status, tree: Survey::default() });
        self.step(Event::OutputEnded { run });
    }

    fn pass(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms;
        self.step(Event::UnitsDue);
    }

    fn ask(&mut self, ask: Ask) {
        self.step(Event::UnitsRequested {
            names: vec![UNIT.to_owned()],
            ask,
            by: Actor::Supervisor,
        });
    }

    fn notify(&mut self, event: UnitEvent) {
        self.step(Event::Unit { name: UNIT.to_owned(), event });
    }

    fn view(&self) -> ostler_model::UnitView {
        self.world.unit_views(self.now).remove(0)
    }
}

/// W19: no policy, preset, exit code, person, schedule, check or changed file starts a unit more than ten times in a
/// second.
#[test]
fn nothing_starts_a_unit_more_than_ten_times_in_a_second() {
    let mut reached = 0;
    for (number, policy) in policies().into_iter().enumerate() {
        for seed in 0..30 {
            let mut random = Random::new(seed * 1_000 + number as u64);
            let (scheduled, part) = (random.chance(20), random.chance(20));
            let mut version = 0;
            let mut stage = Stage::new(declared(policy, version, scheduled, part));
            for _ in 0..400 {
                match random.below(12) {
                    0 => stage.ask(Ask::Restart),
                    1 => stage.ask(Ask::Start),
                    2 => stage.notify(UnitEvent::ScheduleDue),
                    3 => {
                        version += 1;
                        stage.declare(declared(policy, version, scheduled, part));
                    }
                    4 => {
                        if let Some(run) = stage.live {
                            stage.notify(UnitEvent::Unhealthy { run, why: "sick".to_owned() });
                        }
                    }
                    5 => stage.end(ExitStatus::Signal(9)),
                    6 => stage.end(ExitStatus::Unknown),
                    7..=9 => stage.end(ExitStatus::Code(75)),
                    _ => {
                        let code = random.pick(&[0, 1, 2, 75, 78, 100, 255]).unwrap_or(1);
                        stage.end(ExitStatus::Code(code));
                    }
                }
                if stage.ending.is_some() {
                    stage.end(ExitStatus::Signal(15));
                }
                stage.pass(random.below(15));
            }
            for window in stage.starts_ms.windows(STARTS_MOST + 1) {
                let took = window[STARTS_MOST] - window[0];
                assert!(took >= SECOND, "{policy:?}, seed {seed}: {window:?}");
            }
            reached += usize::from(stage.starts_ms.len() > STARTS_MOST);
            // It is delayed, not given up.
            stage.ask(Ask::Restart);
            if stage.ending.is_some() {
                stage.end(ExitStatus::Signal(15));
            }
            stage.pass(2 * SECOND);
            stage.notify(UnitEvent::ScheduleDue);
            assert!(stage.live.is_some(), "{policy:?}, seed {seed}: {:?}", stage.view());
        }
    }
    assert!(reached > 500, "the bound was reached in {reached} histories only");
}

/// W1: the first exit 75 restarts at once; again within a second it waits 1 s, doubling, and is finally given up with
/// a reason.
#[test]
fn a_loop_of_exit_75_waits_and_is_stopped() {
    for policy in policies().into_iter().filter(|policy| policy.when != When::Never) {
        let mut stage = Stage::new(declared(policy, 0, false, false));
        let mut waits = Vec::new();
        while stage.view().state != UnitState::Error {
            stage.pass(5);
            stage.end(ExitStatus::Code(75));
            let view = stage.view();
            if let Some(next) = view.next_at_ms {
                assert_eq!(view.state, UnitState::Backoff);
                waits.push((next - stage.now.wall_ms) / SECOND);
                stage.pass(next - stage.now.wall_ms);
            }
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32], "{policy:?}");
        assert_eq!(stage.starts_ms.len(), 8, "the second start was at once");
        let why = stage.view().why;
        assert!(why.contains("exit 75") && why.contains("8 restart requests"), "{why}");
        stage.ask(Ask::Start);
        assert!(stage.live.is_some(), "a person starts it again");
        stage.pass(5);
        stage.end(ExitStatus::Code(75));
        assert!(stage.live.is_some(), "and the counters start over: at once");
    }
}

/// W1: a unit that works for longer than a second between its requests is restarted at once, every time.
#[test]
fn a_wish_after_some_work_is_always_at_once() {
    let mut stage = Stage::new(declared(RestartPolicy::default(), 0, false, false));
    for _ in 0..50 {
        stage.pass(SECOND);
        stage.end(ExitStatus::Code(75));
        assert!(stage.live.is_some());
    }
}

/// D13: a part of Ostler waits too, but is never given up.
#[test]
fn a_part_that_loops_with_exit_75_is_only_held_up() {
    let mut stage = Stage::new(declared(RestartPolicy::of_part(), 0, false, true));
    for _ in 0..40 {
        stage.end(ExitStatus::Code(75));
        if stage.live.is_none() {
            stage.pass(60 * SECOND);
        }
        assert!(stage.live.is_some(), "{:?}", stage.view());
    }
}
