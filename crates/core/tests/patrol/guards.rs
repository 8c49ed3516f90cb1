//! The guards against a start too many: crash loop and mass death.

use crate::common::{HOUR, MINUTE, NOW, SECOND, TICK, Watched, seen};
use ostler_core::patrol::{begin_tick, day, mass_death};
use ostler_model::{
    Edge, Observation, PatrolOrders, PatrolPolicy, PatrolState, SessionSeen, Step, TroubleKind,
    WatchState,
};
use std::collections::BTreeMap;

fn dead() -> Observation {
    Observation { session: SessionSeen::Dead, ..seen() }
}

/// P3: a dead agent is started at once, then at growing intervals. Five starts in a row are a loop: it is escalated
/// once, tried again after an hour, and over after half an hour of health.
#[test]
fn a_crash_loop_is_slowed_told_and_forgotten() {
    let mut watched = Watched::new();
    let steps = watched.steps(&dead(), 6);
    let expected = [Step::Start, Step::Start, Step::Start, Step::Start, Step::Nothing, Step::Start];
    assert_eq!(steps, expected);
    let decision = watched.tick(&dead());
    assert_eq!((decision.step, decision.trouble), (Step::Escalate, Some(TroubleKind::CrashLoop)));
    let steps = watched.steps(&dead(), 20);
    let again = steps.iter().position(|step| *step == Step::Start).expect("it is tried again");
    assert!((17..20).contains(&again), "after an hour: {again}");
    assert!(steps[..again].iter().all(|step| *step == Step::Nothing));
    // It loops again; the operator is not notified again.
    watched.steps(&dead(), 200);
    assert_eq!(watched.edges.len(), 1);
    watched.now += HOUR;
    watched.tick(&dead());
    watched.steps(&seen(), 9);
    assert_eq!(watched.edges.len(), 1, "not yet over");
    watched.steps(&seen(), 3);
    assert!(matches!(watched.edges[..], [Edge::Begin(_), Edge::End(_)]));
    assert_eq!(watched.state.tally.steps, 0);
}

/// P10: an agent that ended to be restarted has not failed, unless it does so as soon as it is up.
#[test]
fn a_handoff_is_no_failure() {
    let mut watched = Watched::new();
    let handoff = Observation { wants_again: true, ..dead() };
    for _ in 0..30 {
        assert_eq!(watched.tick(&handoff).step, Step::Start);
        watched.steps(&seen(), 3);
    }
    let steps = watched.steps(&handoff, 30);
    assert!(steps.contains(&Step::Escalate), "a loop of handoffs is a loop");
}

/// The time after a restart is for agents that were restarted, not for dead ones that were started.
#[test]
fn a_start_is_no_restart() {
    let mut watched = Watched::new();
    assert_eq!(watched.tick(&dead()).step, Step::Start);
    assert_eq!(watched.state.restarted_at_ms, None);
}

/// A loop that is too slow for the window is a loop too.
#[test]
fn a_slow_loop_is_a_loop() {
    let mut watched = Watched::new();
    let mut starts = 0;
    while watched.state.crash_loop_since_ms.is_none() && starts < 100 {
        starts += u32::from(watched.tick(&dead()).step == Step::Start);
        // Well for just longer than the reset time of the steps.
        watched.steps(&seen(), 12);
    }
    assert_eq!(starts, 20);
}

struct Town {
    town: PatrolState,
    states: BTreeMap<String, WatchState>,
    now: u64,
}

impl Town {
    fn new(deaths: &[u64]) -> Self {
        let states = deaths.iter().enumerate().map(|(n, ago)| {
            let died_at_ms = Some(NOW - ago);
            (format!("a{n:02}"), WatchState { died_at_ms, ..WatchState::default() })
        });
        Self { town: PatrolState::default(), states: states.collect(), now: NOW }
    }

    /// The edge, and the agents that may start.
    fn tick(&mut self) -> (Edge, Vec<String>) {
        let policy = PatrolPolicy::default();
        let orders = PatrolOrders::default();
        let edge = mass_death(&mut self.town, &self.states, &policy, &orders, self.now);
        if let Some(trouble) = &mut self.town.mass_death {
            trouble.is_reported = true;
        }
        self.now += TICK;
        (edge, self.town.may_start.clone())
    }

    fn start(&mut self, names: &[String]) {
        for name in names {
            self.states.get_mut(name).expect("it is there").died_at_ms = None;
        }
    }
}

/// P3: three deaths within half a minute are one event, not three restarts: no start in the first tick, then waves.
#[test]
fn mass_death_is_one_event_and_its_dead_rise_in_waves() {
    let mut town = Town::new(&[1_000; 12]);
    let (edge, wave) = town.tick();
    assert!(matches!(edge, Edge::Begin(ref trouble) if trouble.what == TroubleKind::MassDeath));
    assert!(wave.is_empty());
    for expected in [1, 2, 4, 5] {
        let (edge, wave) = town.tick();
        assert_eq!((edge, wave.len()), (Edge::None, expected));
        town.start(&wave);
    }
    let (edge, wave) = town.tick();
    assert!(matches!(edge, Edge::End(_)) && wave.is_empty());
    assert_eq!(town.tick().0, Edge::None);
}

/// P3: if the first of a wave dies again, the next wave is one again.
#[test]
fn a_wave_that_dies_makes_the_next_one_small() {
    let mut town = Town::new(&[1_000; 12]);
    town.tick();
    let (_, first) = town.tick();
    town.start(&first);
    let (_, second) = town.tick();
    assert_eq!(second.len(), 2);
    let (_, third) = town.tick();
    assert_eq!(third.len(), 1, "none of the second wave lives");
}

/// P3: deaths far apart are no event, and neither are those of a past event.
#[test]
fn deaths_apart_are_no_event() {
    assert_eq!(Town::new(&[1_000, 61_000, 121_000]).tick().0, Edge::None);
    assert_eq!(Town::new(&[1_000, 2_000]).tick().0, Edge::None);
    let mut town = Town::new(&[1_000; 3]);
    for state in town.states.values_mut() {
        state.crash_loop_since_ms = Some(NOW);
    }
    assert!(matches!(town.tick().0, Edge::Begin(_)));
    assert!(matches!(town.tick().0, Edge::End(_)), "there is no agent to start");
    assert_eq!(town.tick().0, Edge::None);
}

/// P3: dead agents get no step until their turn, and then a start.
#[test]
fn the_dead_wait_for_their_turn() {
    let mut watched = Watched::new();
    watched.tick(&seen());
    watched.town.mass_death = Some(ostler_model::Trouble {
        what: TroubleKind::MassDeath,
        why: String::new(),
        since_ms: NOW,
        is_reported: true,
        question: None,
    });
    assert_eq!(watched.tick(&dead()).step, Step::Nothing);
    watched.town.may_start = vec!["deacon".to_owned()];
    assert_eq!(watched.tick(&dead()).step, Step::Start);
}

/// P3: an agent that was never seen alive did not die, and neither did one that was stopped.
#[test]
fn only_a_death_is_a_death() {
    let mut watched = Watched::new();
    watched.look(&dead());
    assert_eq!(watched.state.died_at_ms, None);
    watched.tick(&seen());
    watched.look(&Observation { is_wanted: false, ..dead() });
    assert_eq!(watched.state.died_at_ms, None);
    watched.tick(&seen());
    watched.look(&Observation { dead_age_ms: Some(40 * SECOND), ..dead() });
    assert_eq!(watched.state.died_at_ms, Some(watched.now - 40 * SECOND));
}

/// After a gap between ticks no agent counts as hung until it had time to show a sign of life.
#[test]
fn a_gap_makes_silence_prove_nothing_for_a_while() {
    let policy = PatrolPolicy::default();
    let mut town = PatrolState::default();
    begin_tick(&mut town, TICK, &policy, NOW);
    assert_eq!(town.resumed_at_ms, None);
    begin_tick(&mut town, TICK, &policy, NOW + 2 * TICK);
    assert_eq!(town.resumed_at_ms, None);
    begin_tick(&mut town, TICK, &policy, NOW + 10 * HOUR);
    assert_eq!(town.resumed_at_ms, Some(NOW + 10 * HOUR));
    begin_tick(&mut town, TICK, &policy, NOW);
    assert_eq!(town.resumed_at_ms, Some(NOW), "set back");
    assert_eq!(town.ticks, 4);
    let mut watched = Watched::new();
    watched.state.pending_since_ms = Some(NOW - HOUR);
    watched.town = town;
    let hung = Observation {
        heartbeat: crate::common::beat(10 * HOUR),
        pending: crate::common::mail(),
        ..seen()
    };
    let steps = watched.steps(&hung, 4);
    assert_eq!(steps, [Step::Nudge, Step::Nothing, Step::Wake, Step::Interrupt]);
}

#[test]
fn days_are_those_of_the_calendar() {
    assert_eq!(day(0), "1970-01-01");
    assert_eq!(day(NOW), "2026-01-01");
    assert_eq!(day(NOW - 1), "2025-12-31");
    assert_eq!(day(1_709_164_800_000), "2024-02-29");
    assert_eq!(day(4_107_542_399_999), "2100-02-28");
    assert_eq!(day(4_107_542_400_000 + 30 * MINUTE), "2100-03-01");
}
