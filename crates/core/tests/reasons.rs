//! The sentence that says why a unit is in its state.

mod common;
#[path = "common/unit_spec.rs"]
mod unit_spec;

use common::{asked, identity, run_id};
use ostler_core::unit::{Declared, UnitEvent};
use ostler_core::{Effect, Event, ExitStatus, Now, Survey, World};
use ostler_model::{
    Actor, Backoff, Check, Limits, ReadySpec, RestartLimit, RestartPolicy, RunId, Settings,
    UnitSpec, UnitState, UnitView, When,
};
use unit_spec::unit_spec;

const UNIT: &str = "web";

fn spec() -> UnitSpec {
    let backoff = Backoff { initial_ms: 400, factor: 1.0, max_ms: 400, reset_after_ms: 60_000 };
    let limit = Some(RestartLimit { count: 5, window_ms: 60_000 });
    UnitSpec {
        argv: vec!["web".to_owned()],
        restart: RestartPolicy {
            when: When::Always,
            preset: None,
            backoff,
            immediate_after_ms: None,
            limit,
        },
        ..unit_spec(UNIT)
    }
}

struct Stage {
    world: World,
    now: Now,
    limits: Limits,
    runs: u64,
    live: Option<RunId>,
}

impl Stage {
    fn new(spec: UnitSpec) -> Self {
        let now = Now { mono_ms: 5_000, wall_ms: 1_767_225_600_000 };
        let limits = spec.limits;
        let world = World::new(&Settings::default(), now);
        let mut stage = Self { world, now, limits, runs: 0, live: None };
        stage.step(Event::Reconciled { begin: true });
        let digest = "1".to_owned();
        let declared = vec![Declared { spec, run_digest: digest.clone(), digest }];
        let by = Actor::Supervisor;
        stage.step(Event::UnitsDeclared { declared, gone: Vec::new(), start: true, by });
        stage
    }

    fn step(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.world.step(event, self.now).effects {
                match effect {
                    Effect::Launch(unit) => {
                        self.runs += 1;
                        let run = run_id(self.runs);
                        let mut new = asked(run, Some(&unit));
                        new.limits = self.limits;
                        new.record.timeout_ms = self.limits.timeout_ms;
                        new.record.no_output_timeout_ms = self.limits.no_output_timeout_ms;
                        self.world.step(Event::SpawnRequested(Box::new(new)), self.now);
                        events.push(Event::Spawned { run, identity: identity(self.runs as i32) });
                        self.live = Some(run);
                    }
                    Effect::RenewLease => events.push(Event::LeaseRenewed { lost: Vec::new() }),
                    _ => {}
                }
            }
        }
    }

    fn end(&mut self, status: ExitStatus) {
        let run = self.live.take().expect("a run");
        self.step(Event::RootExited { run, status, tree: Survey::default() });
        self.step(Event::OutputEnded { run });
    }

    fn pass(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms;
        self.step(Event::UnitsDue);
    }

    fn view(&self) -> UnitView {
        self.world.unit_views(self.now).remove(0)
    }

    fn why(&self, state: UnitState) -> String {
        let view = self.view();
        assert_eq!(view.state, state, "{view:?}");
        view.why
    }
}

/// The remaining time is that of the moment of the request, and the number is that of the breaker's window.
#[test]
fn a_delay_says_how_long_it_is_and_which_failure_it_was() {
    let mut stage = Stage::new(spec());
    stage.end(ExitStatus::Code(3));
    let why = stage.why(UnitState::Backoff);
    assert_eq!(why, "restarting in 0.4 s (failure 1 of 5): exit 3");
    stage.pass(250);
    let why = stage.why(UnitState::Backoff);
    assert_eq!(why, "restarting in 0.2 s (failure 1 of 5): exit 3");
    stage.pass(150);
    stage.pass(70_000);
    stage.end(ExitStatus::Code(3));
    // The first failure is outside the window of 60 s.
    let why = stage.why(UnitState::Backoff);
    assert_eq!(why, "restarting in 0.4 s (failure 1 of 5): exit 3");
}

#[test]
fn without_a_limit_the_failures_in_a_row_are_counted() {
    let mut spec = spec();
    spec.restart.limit = None;
    spec.restart.backoff.initial_ms = 20_000;
    spec.restart.backoff.max_ms = 20_000;
    let mut stage = Stage::new(spec);
    for failure in 1..=3 {
        stage.end(ExitStatus::Code(3));
        stage.pass(500);
        let why = stage.why(UnitState::Backoff);
        assert_eq!(why, format!("restarting in 20 s (failure {failure}): exit 3"));
        stage.pass(19_500);
    }
}

#[test]
fn an_open_breaker_says_what_starts_the_unit_again() {
    let mut stage = Stage::new(spec());
    for _ in 0..4 {
        stage.end(ExitStatus::Code(1));
        stage.pass(400);
    }
    stage.end(ExitStatus::Code(1));
    let why = stage.why(UnitState::Error);
    assert_eq!(why, "gave up after 5 failures in 60 s: exit 1; retry with \"ostler start web\"");
    let opened = stage.view().opened.expect("an open breaker");
    assert_eq!(opened.why, "gave up after 5 failures in 60 s: exit 1");
}

#[test]
fn a_unit_that_is_not_ready_says_what_it_waits_for_and_how_long() {
    let most = u64::MAX / 4;
    for (check, timeout_ms, expected) in [
        (Check::Tcp("127.0.0.1:19999".to_owned()), 60_000, "tcp 127.0.0.1:19999 (6 s of 60 s)"),
        (Check::Http("http://[::1]:1/x".to_owned()), 7_500, "http://[::1]:1/x (6 s of 7.5 s)"),
        (Check::Exec(vec!["test".to_owned(), "-e".to_owned()]), most, "command test -e (6 s)"),
        (Check::Line("^up$".to_owned()), 60_000, "a line that matches ^up$ (6 s of 60 s)"),
        (Check::Notify, 60_000, "READY=1 (6 s of 60 s)"),
        (Check::App, 60_000, "app.ready (6 s of 60 s)"),
        (Check::Delay(8_000), 1, "its start delay (6 s of 8 s)"),
    ] {
        let mut stage =
            Stage::new(UnitSpec { ready: Some(ReadySpec { check, timeout_ms }), ..spec() });
        stage.pass(6_400);
        assert_eq!(stage.why(UnitState::Starting), format!("waiting for {expected}"));
        let run = stage.live.expect("a run");
        stage.step(Event::Unit { name: UNIT.to_owned(), event: UnitEvent::Ready { run } });
        assert_eq!(stage.why(UnitState::Ready), "");
    }
}

#[test]
fn a_run_that_exceeded_its_timeout_names_the_setting() {
    let overall = Limits { timeout_ms: Some(1_000), grace_ms: 3_000, ..Limits::default() };
    let silent = Limits { no_output_timeout_ms: Some(1_000), grace_ms: 3_000, ..Limits::default() };
    for (limits, reason) in
        [(overall, "exceeded timeout 1s"), (silent, "no output, exceeded no_output_timeout 1s")]
    {
        let mut stage = Stage::new(UnitSpec { limits, ..spec() });
        let run = stage.live.expect("a run");
        stage.pass(1_000);
        stage.step(Event::Due { run, last_output_mono_ms: None, tree: None });
        stage.pass(3_000);
        stage.end(ExitStatus::Signal(9));
        let why = stage.why(UnitState::Backoff);
        let end = format!("killed after 4.0 s: {reason}");
        assert_eq!(why, format!("restarting in 0.4 s (failure 1 of 5): {end}"));
        assert_eq!(stage.view().ends[0].description, end);
    }
}

/// Ten starts within a second: the next one waits, and that is no failure.
#[test]
fn a_unit_that_is_started_too_often_says_so() {
    let mut stage = Stage::new(spec());
    for _ in 0..10 {
        stage.end(ExitStatus::Code(75));
        let by = Actor::Supervisor;
        let (names, ask) = (vec![UNIT.to_owned()], ostler_core::unit::Ask::Start);
        stage.step(Event::UnitsRequested { names, ask, by });
    }
    let why = stage.why(UnitState::Backoff);
    assert_eq!(why, "starting in 1.0 s: too many starts within 1 s");
}
