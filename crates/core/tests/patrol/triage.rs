//! When triage may be asked, and which answers are accepted.

use crate::common::{HOUR, MINUTE, NOW, Watched, beat, mail, seen};
use ostler_core::patrol::{
    AgentCase, HELD_MOST, TriageSkipped, admit, asked, degraded, look, may_ask, trips,
};
use ostler_model::{
    DecidedBy, Decision, Observation, SessionSeen, Step, StepOutcome, TriageAnswer, TriageSpec,
};

fn spec() -> TriageSpec {
    TriageSpec {
        argv: vec!["triage".to_owned()],
        cwd: "/town".to_owned(),
        session: "gt-boot".to_owned(),
        timeout_ms: MINUTE,
        cooldown_ms: 15 * MINUTE,
        daily_budget: 3,
    }
}

fn hung() -> Observation {
    Observation { heartbeat: beat(20 * MINUTE), pending: mail(), ..seen() }
}

/// An agent that has this rung behind it.
fn watched(steps: usize) -> Watched {
    let mut watched = Watched::new();
    watched.state.pending_since_ms = Some(NOW - HOUR);
    watched.steps(&hung(), steps);
    watched
}

fn answered(watched: &Watched, seen: &Observation, step: Step) -> (Decision, Decision) {
    let mechanical = watched.decide(seen);
    let Watched { state, watch, policy, town, orders, now, .. } = watched;
    let case = AgentCase { seen, state, watch, policy, town, orders, now_ms: *now };
    let answer = TriageAnswer { step, reason: "It only thinks.".to_owned() };
    (admit(&answer, &mechanical, &case), mechanical)
}

/// P4: triage is asked about an agent that seems to hang, never about one that is clearly dead, well, idle or only
/// nudged.
#[test]
fn only_a_signal_asks() {
    let tripped = |seen: Observation| {
        let mut watched = watched(1);
        watched.look(&seen);
        trips(&watched.decide(&seen))
    };
    assert!(tripped(hung()));
    assert!(!trips(&watched(0).decide(&hung())), "a nudge comes first");
    assert!(!tripped(seen()));
    assert!(!tripped(Observation { heartbeat: beat(20 * MINUTE), ..seen() }), "idle");
    assert!(!tripped(Observation { heartbeat: beat(10 * MINUTE), pending: mail(), ..seen() }));
    assert!(!tripped(Observation { session: SessionSeen::Dead, ..hung() }));
    assert!(!tripped(Observation { session: SessionSeen::AgentDead(String::new()), ..hung() }));
    assert!(!tripped(Observation { session: SessionSeen::Unknown(String::new()), ..hung() }));
}

/// P4: a cooldown for each agent, and a daily budget for all.
#[test]
fn cooldown_and_budget() {
    let (mut one, mut other) = (watched(0), watched(0));
    let mut town = one.town.clone();
    let mut now = NOW;
    assert_eq!(may_ask(&spec(), &one.state, &town, now), Ok(()));
    asked(&mut one.state, &mut town, now);
    now += 5 * MINUTE;
    let cooldown = TriageSkipped::Cooldown { left_ms: 10 * MINUTE };
    assert_eq!(may_ask(&spec(), &one.state, &town, now), Err(cooldown));
    assert_eq!(may_ask(&spec(), &other.state, &town, now), Ok(()));
    asked(&mut other.state, &mut town, now);
    now += HOUR;
    asked(&mut one.state, &mut town, now);
    now += HOUR;
    let all = Err(TriageSkipped::Budget { asked: 3 });
    assert_eq!(may_ask(&spec(), &one.state, &town, now), all);
    assert_eq!(may_ask(&spec(), &one.state, &town, now + 24 * HOUR), Ok(()));
    // Setting the clock back to yesterday does not renew the budget.
    let before = now - 48 * HOUR;
    let policy = &one.policy;
    look(&mut one.state, &hung(), &one.watch, policy, &one.orders, before);
    one.state.triage_at_ms = None;
    assert_eq!(may_ask(&spec(), &one.state, &town, before), all);
}

/// P4: triage may be gentler, or go one rung further if the evidence is complete; any other answer is refused with a
/// reason.
#[test]
fn gentler_or_one_rung_further() {
    let woken = watched(2);
    for (step, is_admitted) in [
        (Step::Nothing, true),
        (Step::Nudge, true),
        (Step::Wake, true),
        (Step::Interrupt, true),
        (Step::Restart, true),
        (Step::Escalate, true),
        (Step::Start, false),
    ] {
        let (decision, mechanical) = answered(&woken, &hung(), step);
        assert_eq!(mechanical.step, Step::Interrupt);
        if is_admitted {
            assert_eq!((decision.step, decision.by), (step, DecidedBy::Triage));
            assert_eq!(decision.reason, "It only thinks.");
        } else {
            assert_eq!(decision.step, mechanical.step);
            assert!(matches!(decision.by, DecidedBy::Degraded(_)));
            assert!(decision.reason.contains("triage wanted"), "{}", decision.reason);
        }
    }
    let (decision, _) = answered(&watched(1), &hung(), Step::Restart);
    assert_eq!(decision.step, Step::Wake, "two rungs are too many");
    let mut fresh = watched(0);
    fresh.look(&hung());
    let (decision, _) = answered(&fresh, &hung(), Step::Interrupt);
    assert_eq!(decision.step, Step::Nudge, "it has not been nudged");
}

/// P4, P3: no answer ends an agent that is idle, unknown, foreign or already dead.
#[test]
fn no_answer_kills_what_must_live() {
    let foreign = Observation { session: SessionSeen::Foreign, ..hung() };
    let unknown = Observation { session: SessionSeen::Unknown("?".to_owned()), ..hung() };
    let moving = Observation { cpu_percent: Some(50.0), ..hung() };
    for seen in [seen(), foreign, unknown, moving] {
        for step in [Step::Interrupt, Step::Restart, Step::Start] {
            let (decision, mechanical) = answered(&watched(0), &seen, step);
            assert_eq!(decision.step, mechanical.step);
        }
    }
    let dead = Observation { session: SessionSeen::Dead, ..hung() };
    assert_eq!(answered(&watched(0), &dead, Step::Nothing).0.step, Step::Start);
}

/// P4: `nothing` is accepted a few times, and then the ladder continues.
#[test]
fn triage_cannot_hold_the_ladder_for_ever() {
    let mut watched = watched(1);
    let mut town = watched.town.clone();
    let mut held = 0;
    let mut ticks = 0;
    loop {
        watched.look(&hung());
        let mechanical = watched.decide(&hung());
        let may = may_ask(&spec(), &watched.state, &town, watched.now);
        if trips(&mechanical) && may.is_ok() {
            asked(&mut watched.state, &mut town, watched.now);
            let (decision, _) = answered(&watched, &hung(), Step::Nothing);
            watched.act(&hung(), &decision);
            held += 1;
        } else {
            watched.act(&hung(), &mechanical);
            if mechanical.step == Step::Interrupt {
                break;
            }
        }
        watched.now += 3 * MINUTE;
        ticks += 1;
        assert!(ticks < 30, "it is held for ever");
    }
    assert_eq!(held, HELD_MOST);
    assert!(ticks >= 15, "each time for a quarter of an hour: {ticks}");
}

/// P5: if triage fails, the mechanical decision stands and says so.
#[test]
fn a_triage_that_fails_changes_nothing() {
    let mechanical = watched(0).decide(&hung());
    let decision = degraded(&mechanical, "it exited with 9");
    assert_eq!(decision.step, mechanical.step);
    assert_eq!(decision.by, DecidedBy::Degraded("it exited with 9".to_owned()));
}

/// P7: an agent that came back before its restart does not count as restarted.
#[test]
fn what_was_not_needed_is_no_restart() {
    let mut watched = watched(3);
    watched.look(&hung());
    let decision = watched.decide(&hung());
    assert_eq!(decision.step, Step::Restart);
    let outcome = StepOutcome::NotNeeded("it came back to life".to_owned());
    let policy = watched.policy;
    let now = watched.now;
    ostler_core::patrol::acted(&mut watched.state, &decision, &outcome, &hung(), &policy, now);
    assert_eq!(watched.state.restarted_at_ms, None);
    assert_eq!(watched.state.tally.restarts, 0);
    assert_eq!(watched.state.acted[0].outcome, outcome);
}
