//! Single agents, tick by tick.

use crate::common::{
    HOUR, MINUTE, NOW, SECOND, TICK, Watched, beat, mail, order, seen, shown, watch,
};
use ostler_core::patrol::freshness;
use ostler_model::{
    AgentState, Declared, DeclaredState, Edge, Freshness, HeartbeatSeen, Observation, PendingSeen,
    SessionHealth, SessionSeen, Step, StepOutcome, TroubleKind,
};

/// Very stale, silent, and with work that has waited for an hour.
fn hung() -> Observation {
    Observation { heartbeat: beat(20 * MINUTE), pending: mail(), ..seen() }
}

fn watched_with_work() -> Watched {
    let mut watched = Watched::new();
    watched.state.pending_since_ms = Some(NOW - HOUR);
    watched
}

/// P2: fresh below 5 minutes, stale to 15, very stale above; an unreadable file is unknown.
#[test]
fn freshness_is_the_documents() {
    let of = |heartbeat: &HeartbeatSeen| freshness(heartbeat, &watch());
    assert_eq!(of(&beat(0)), Freshness::Fresh);
    assert_eq!(of(&beat(5 * MINUTE - 1)), Freshness::Fresh);
    assert_eq!(of(&beat(5 * MINUTE)), Freshness::Stale);
    assert_eq!(of(&beat(15 * MINUTE)), Freshness::Stale);
    assert_eq!(of(&beat(15 * MINUTE + 1)), Freshness::VeryStale);
    assert_eq!(of(&HeartbeatSeen::None), Freshness::Unknown);
    assert_eq!(of(&HeartbeatSeen::Missing), Freshness::Unknown);
    let unreadable = HeartbeatSeen::Unreadable { why: "half a file".to_owned() };
    assert_eq!(of(&unreadable), Freshness::Unknown);
}

/// P3: Gas Town's matrix, row by row.
#[test]
fn the_documents_matrix() {
    let step = |seen: Observation| Watched::new().tick(&seen).step;
    assert_eq!(step(Observation { session: SessionSeen::Dead, ..seen() }), Step::Start);
    assert_eq!(step(Observation { heartbeat: beat(16 * MINUTE), ..seen() }), Step::Nudge);
    let stale = Observation { heartbeat: beat(10 * MINUTE), ..seen() };
    assert_eq!(step(Observation { pending: mail(), ..stale.clone() }), Step::Nudge);
    assert_eq!(step(stale), Step::Nothing);
    let fresh = Observation { heartbeat: beat(MINUTE), pending: mail(), ..seen() };
    assert_eq!(step(fresh), Step::Nothing);
}

/// P3: the ladder climbs one rung per tick, so the restart comes with the third tick after the first.
#[test]
fn a_hung_agent_climbs_the_ladder() {
    let mut watched = watched_with_work();
    let steps = watched.steps(&hung(), 4);
    assert_eq!(steps, [Step::Nudge, Step::Wake, Step::Interrupt, Step::Restart]);
    let young = Observation { age_ms: Some(TICK), ..hung() };
    assert_eq!(watched.tick(&young).step, Step::Nothing, "it is given time");
    // The new session shows no sign of life either.
    watched.now += HOUR / 4;
    watched.state.pending_since_ms = Some(NOW);
    let silent = Observation { age_ms: Some(20 * MINUTE), heartbeat: beat(HOUR), ..hung() };
    let decision = watched.tick(&silent);
    assert_eq!((decision.step, decision.trouble), (Step::Escalate, Some(TroubleKind::Hung)));
    assert_eq!(watched.tick(&silent).step, Step::Nothing, "the operator is already notified");
    assert!(matches!(watched.edges[..], [Edge::Begin(_)]));
}

/// P3: any activity ends the ladder, and the next one begins at the bottom.
#[test]
fn progress_ends_the_ladder() {
    let mut watched = watched_with_work();
    assert_eq!(watched.steps(&hung(), 3), [Step::Nudge, Step::Wake, Step::Interrupt]);
    let beats = Observation { heartbeat: beat(MINUTE), ..hung() };
    assert_eq!(watched.tick(&beats).step, Step::Nothing);
    assert_eq!(watched.state.rung, None);
    assert_eq!(watched.tick(&hung()).step, Step::Nudge);
}

/// P3: text that only stands on the screen is no activity; output after it is.
#[test]
fn a_text_that_was_not_taken_is_no_progress() {
    let mut watched = watched_with_work();
    assert_eq!(watched.tick(&hung()).step, Step::Nudge);
    let echo = Observation { output_age_ms: Some(TICK - SECOND), screen: Some(8), ..hung() };
    assert_eq!(watched.tick(&echo).step, Step::Wake);
    let same = Observation { output_age_ms: Some(TICK), screen: Some(8), ..hung() };
    assert_eq!(watched.tick(&same).step, Step::Interrupt);
    let drawn = Observation { output_age_ms: Some(SECOND), screen: Some(9), ..hung() };
    watched.state.typed_at_ms = Some(watched.now - 2 * TICK);
    assert_eq!(watched.tick(&drawn).step, Step::Nothing);
    assert_eq!(watched.state.rung, None);
}

/// P3: an agent that takes a nudge is alive, however soon it answers: no stronger step follows, it is nudged at
/// growing intervals, and then the operator is notified once.
#[test]
fn one_that_takes_nudges_is_never_interrupted() {
    let mut watched = watched_with_work();
    let mut steps = Vec::new();
    for _ in 0..200 {
        watched.look(&hung());
        let decision = watched.decide(&hung());
        let outcome =
            if decision.step == Step::Nudge { StepOutcome::Taken } else { StepOutcome::Done };
        watched.act_with(&hung(), &decision, &outcome);
        watched.now += TICK;
        steps.push(decision.step);
    }
    let nudges = steps.iter().filter(|step| **step == Step::Nudge).count();
    let escalations = steps.iter().filter(|step| **step == Step::Escalate).count();
    assert_eq!((nudges, escalations), (4, 1), "{steps:?}");
    assert!(steps.iter().all(|s| matches!(s, Step::Nothing | Step::Nudge | Step::Escalate)));
    let description = watched.state.condition.as_ref().map(|trouble| trouble.what);
    assert_eq!(description, Some(TroubleKind::Ignores));
}

/// P3: when it begins to do its work, it may be nudged again.
#[test]
fn work_that_gets_less_forgets_the_nudges() {
    let mut watched = watched_with_work();
    let three = |mail| PendingSeen::Work { mail, nudges: 0, work: false };
    let seen = Observation { pending: three(3), ..hung() };
    watched.tick(&seen);
    watched.state.nudged = 3;
    watched.tick(&Observation { pending: three(2), ..hung() });
    assert_eq!(watched.state.nudged, 0);
}

/// P3: a spinner is no activity, but while the screen shows work in progress, the agent gets nudges only for half an
/// hour.
#[test]
fn a_spinner_is_no_progress_and_gives_time() {
    let spins = Observation { output_age_ms: Some(0), ..hung() };
    let moved_before = |ms: u64| {
        let mut watched = watched_with_work();
        (watched.state.screen, watched.state.screen_at_ms) = (Some(7), Some(NOW - TICK));
        watched.state.moved_at_ms = Some(NOW - ms);
        watched
    };
    assert_eq!(moved_before(16 * MINUTE).tick(&spins).step, Step::Nudge);
    let mut watched = moved_before(16 * MINUTE);
    let shows = shown(AgentState::Working);
    let works = Observation { shows: shows.clone(), ..spins.clone() };
    let steps: Vec<Step> = (0..5).map(|_| watched.tick(&works).step).collect();
    assert_eq!(steps[0], Step::Nudge);
    assert!(steps[1..4].iter().all(|step| *step == Step::Nothing), "{steps:?}");
    let steps: Vec<Step> = (0..6).map(|_| watched.tick(&works).step).collect();
    assert!(steps.contains(&Step::Wake), "{steps:?}");
    // A frozen agent does not redraw its screen.
    let mut watched = watched_with_work();
    let frozen = Observation { shows, output_age_ms: Some(20 * MINUTE), ..hung() };
    assert_eq!(watched.steps(&frozen, 3), [Step::Nudge, Step::Wake, Step::Interrupt]);
}

/// T6, P3: a question is left to the operator, who is notified once of each question; nothing is typed.
#[test]
fn a_question_is_a_persons() {
    let mut watched = watched_with_work();
    let asks = |question: &str| {
        let mut shows = shown(AgentState::Waiting);
        if let Some(shown) = &mut shows {
            shown.question = Some(question.to_owned());
        }
        Observation { shows, ..hung() }
    };
    let steps = watched.steps(&asks("Proceed?"), 50);
    assert_eq!(steps[0], Step::Escalate);
    assert!(steps[1..].iter().all(|step| *step == Step::Nothing), "{steps:?}");
    assert_eq!(watched.tick(&asks("Delete everything?")).step, Step::Escalate);
    assert_eq!(watched.tick(&asks("Delete everything?")).step, Step::Nothing);
    let idle = Observation { shows: shown(AgentState::Idle), ..seen() };
    watched.tick(&idle);
    let edges: Vec<bool> = watched.edges.iter().map(|e| matches!(e, Edge::Begin(_))).collect();
    assert_eq!(edges, [true, true, false], "{:?}", watched.edges);
}

/// T6, P3: no step during a usage limit; when it is over the agent is asked once to continue.
#[test]
fn a_limit_is_waited_for() {
    let mut watched = watched_with_work();
    let mut shows = shown(AgentState::Limited);
    if let Some(shown) = &mut shows {
        shown.until_ms = Some(NOW + HOUR);
    }
    let limited = Observation { shows, ..hung() };
    let steps = watched.steps(&limited, 20);
    assert_eq!(steps[0], Step::Escalate);
    assert!(steps[1..].iter().all(|step| *step == Step::Nothing), "{steps:?}");
    watched.now = NOW + HOUR + 2 * MINUTE;
    watched.look(&limited);
    let decision = watched.decide(&limited);
    assert_eq!(decision.step, Step::Nudge, "{}", decision.reason);
    watched.act_with(&limited, &decision, &StepOutcome::Taken);
    watched.policy.resume_after_limit = false;
    watched.state.limited_until_ms = Some(NOW + HOUR);
    assert_eq!(watched.decide(&limited).step, Step::Nothing);
}

/// P3: unsent text of a person is not disturbed; if the agent would count as hung, the operator is notified.
#[test]
fn half_a_line_is_left_alone() {
    let begun = Observation { is_begun: true, pending: mail(), ..seen() };
    let steps = Watched::new().steps(&Observation { heartbeat: beat(MINUTE), ..begun.clone() }, 5);
    assert!(steps.iter().all(|step| *step == Step::Nothing), "{steps:?}");
    let mut watched = watched_with_work();
    let steps = watched.steps(&Observation { heartbeat: beat(20 * MINUTE), ..begun }, 20);
    assert_eq!(steps[0], Step::Escalate);
    assert!(steps[1..].iter().all(|step| *step == Step::Nothing), "{steps:?}");
}

/// P3: CPU use counts above the agent's own noise, and never at an idle prompt.
#[test]
fn noise_is_not_work() {
    let noisy = |percent: f64| Observation { cpu_percent: Some(percent), ..hung() };
    let mut watched = watched_with_work();
    watched.look(&noisy(1.3));
    for percent in [6.0, 2.5, 1.2, 5.9] {
        assert_ne!(watched.tick(&noisy(percent)).step, Step::Nothing, "{percent}");
    }
    assert_eq!(watched.tick(&noisy(40.0)).step, Step::Nothing);
    let mut watched = watched_with_work();
    let idle = Observation { shows: shown(AgentState::Idle), ..noisy(40.0) };
    assert_eq!(watched.tick(&idle).step, Step::Nudge);
}

/// P3: if Ctrl-C is not known to interrupt, that rung is left out.
#[test]
fn ctrl_c_is_pressed_only_where_it_is_known() {
    let mut watched = watched_with_work();
    let unknown = Observation { can_interrupt: false, ..hung() };
    assert_eq!(watched.steps(&unknown, 3), [Step::Nudge, Step::Wake, Step::Restart]);
}

/// P3: a rung has its time; manual ticks in between change nothing.
#[test]
fn a_rung_has_its_time() {
    let mut watched = watched_with_work();
    assert_eq!(watched.tick(&hung()).step, Step::Nudge);
    watched.now = NOW + MINUTE;
    assert_eq!(watched.tick(&hung()).step, Step::Nothing);
    watched.now = NOW + 2 * MINUTE;
    assert_eq!(watched.tick(&hung()).step, Step::Wake);
}

/// P3: silence without work is idle: nudged once an hour at most, and no stronger step.
#[test]
fn idle_is_never_ended() {
    let mut watched = Watched::new();
    let idle = Observation { heartbeat: beat(72 * HOUR), ..seen() };
    let steps = watched.steps(&idle, 60);
    assert_eq!(steps.iter().filter(|step| **step == Step::Nudge).count(), 3);
    assert!(steps.iter().all(|step| matches!(step, Step::Nudge | Step::Nothing)));
    // Without a heartbeat file none is expected.
    let steps = Watched::new().steps(&seen(), 60);
    assert!(steps.iter().all(|step| *step == Step::Nothing));
}

/// P3: silent but working: CPU use, a changing screen, the reported state.
#[test]
fn silent_but_working_is_left_alone() {
    let mut watched = watched_with_work();
    let computes = Observation { cpu_percent: Some(35.0), ..hung() };
    let busy = Observation { busy_until_ms: Some(NOW + 10 * HOUR), ..hung() };
    let declared = Declared {
        state: DeclaredState::AwaitingGate,
        reason: "review".to_owned(),
        at_ms: NOW - HOUR,
    };
    let gate = Observation { declared: Some(declared), ..hung() };
    for seen in [computes, busy, gate] {
        assert!(watched.steps(&seen, 20).iter().all(|step| *step == Step::Nothing));
    }
    for screen in 0..20 {
        let draws = Observation { screen: Some(screen), output_age_ms: None, ..hung() };
        watched.state.screen.get_or_insert(100);
        assert_eq!(watched.tick(&draws).step, Step::Nothing);
    }
}

/// P3: activity without an end, with pending work, is escalated, and its end is notified too.
#[test]
fn movement_without_end_is_told() {
    let mut watched = watched_with_work();
    watched.state.pending_since_ms = Some(NOW - 5 * HOUR);
    let spins = Observation { heartbeat: beat(4 * HOUR), cpu_percent: Some(100.0), ..hung() };
    let steps = watched.steps(&spins, 10);
    assert_eq!(steps[0], Step::Escalate);
    assert!(steps[1..].iter().all(|step| *step == Step::Nothing));
    let well = Observation { heartbeat: beat(SECOND), ..hung() };
    for _ in 0..3 {
        watched.tick(&well);
    }
    assert!(matches!(watched.edges[..], [Edge::Begin(_), Edge::End(_)]), "{:?}", watched.edges);
}

/// P3: with unknown work an agent gets text only.
#[test]
fn work_that_is_not_known_ends_nothing() {
    let mut watched = Watched::new();
    let unknown = PendingSeen::Unknown { why: "no answer".to_owned() };
    let steps = watched.steps(&Observation { pending: unknown, ..hung() }, 100);
    assert_eq!(steps[..2], [Step::Nudge, Step::Wake]);
    assert!(steps[2..].iter().all(|step| *step == Step::Nothing));
}

/// P3: mail for an idle agent wakes it; the agent hangs only when the mail has waited too.
#[test]
fn new_work_for_an_idle_agent_gives_it_time() {
    let mut watched = Watched::new();
    let shows = shown(AgentState::Idle);
    let silent = Observation { heartbeat: HeartbeatSeen::None, shows, ..seen() };
    watched.steps(&silent, 5);
    let steps = watched.steps(&Observation { pending: mail(), ..silent }, 5);
    assert_eq!(steps[..4], [Step::Nudge, Step::Wake, Step::Interrupt, Step::Restart]);
}

/// P3: a program with neither a profile nor a heartbeat may be at a long job: its silence is reported to a person, and
/// never ends it, however long it lasts and however often no text is taken.
#[test]
fn an_unknown_program_is_not_ended_for_its_silence() {
    let mut watched = Watched::new();
    let silent = Observation { heartbeat: HeartbeatSeen::None, can_interrupt: false, ..seen() };
    watched.steps(&silent, 5);
    let mut steps = Vec::new();
    for _ in 0..200 {
        let seen = Observation { pending: mail(), ..silent.clone() };
        watched.look(&seen);
        let decision = watched.decide(&seen);
        let failed = StepOutcome::Failed("the program did not read the line".to_owned());
        let outcome = if decision.step == Step::Escalate { StepOutcome::Done } else { failed };
        watched.act_with(&seen, &decision, &outcome);
        watched.now += TICK;
        steps.push(decision.step);
    }
    steps.retain(|step| *step != Step::Nothing);
    assert_eq!(steps, [Step::Nudge, Step::Wake, Step::Escalate]);
    let told = watched.state.condition.as_ref().map(|trouble| trouble.what);
    assert_eq!(told, Some(TroubleKind::Blocked));
}

/// P7: a session whose agent is dead is replaced at once, but not while the agent may still be starting, and not
/// twice within the cooldown.
#[test]
fn a_dead_agent_in_a_live_session_is_replaced() {
    let mut watched = Watched::new();
    let zombie = Observation { session: SessionSeen::AgentDead("gone".to_owned()), ..seen() };
    let young = Observation { age_ms: Some(30 * SECOND), ..zombie.clone() };
    assert_eq!(watched.tick(&young).step, Step::Nothing);
    let decision = watched.tick(&zombie);
    assert_eq!((decision.step, decision.health), (Step::Restart, SessionHealth::AgentDead));
    assert_eq!(watched.steps(&zombie, 2), [Step::Nothing, Step::Restart]);
}

/// P3: a foreign session gets text, and then one escalation.
#[test]
fn a_foreign_session_is_left_to_a_person() {
    let mut watched = watched_with_work();
    let foreign = Observation { session: SessionSeen::Foreign, ..hung() };
    let steps = watched.steps(&foreign, 200);
    assert_eq!(steps[..4], [Step::Nudge, Step::Wake, Step::Escalate, Step::Nothing]);
    assert!(steps[4..].iter().all(|step| *step == Step::Nothing));
}

/// P8: an agent reports itself stuck. With work it is interrupted and restarted, without it is escalated. A new
/// session is not stuck.
#[test]
fn one_that_says_it_is_stuck_is_helped() {
    let stuck = Declared {
        state: DeclaredState::Stuck,
        reason: "no key".to_owned(),
        at_ms: NOW - 6 * MINUTE,
    };
    let says = Observation {
        heartbeat: beat(7 * MINUTE),
        output_age_ms: Some(6 * MINUTE),
        declared: Some(stuck),
        ..seen()
    };
    let mut watched = Watched::new();
    let works = Observation { pending: mail(), ..says.clone() };
    assert_eq!(watched.steps(&works, 2), [Step::Interrupt, Step::Restart]);
    let anew = Observation { age_ms: Some(TICK), ..works };
    assert_eq!(watched.tick(&anew).step, Step::Nothing);
    let mut watched = Watched::new();
    let decision = watched.tick(&says);
    assert_eq!((decision.step, decision.trouble), (Step::Escalate, Some(TroubleKind::Stuck)));
    assert_eq!(watched.tick(&says).step, Step::Nothing);
}

/// P3: if no person acts, it is tried again after an hour, without a second notification.
#[test]
fn it_is_tried_again_without_telling_again() {
    let mut watched = watched_with_work();
    let steps = watched.steps(&hung(), 24 * 20);
    let count = |step: Step| steps.iter().filter(|taken| **taken == step).count();
    assert!(count(Step::Restart) > 5, "{}", count(Step::Restart));
    assert!(count(Step::Restart) < 30, "{}", count(Step::Restart));
    let description = watched.edges.iter().filter(|edge| matches!(edge, Edge::Begin(_))).count();
    assert!(description <= 2, "once that it hangs, once that it loops: {:?}", watched.edges);
}

/// A clock that was set back by a year makes no agent wait for a year.
#[test]
fn a_clock_that_was_set_back_stops_nothing() {
    let mut watched = watched_with_work();
    assert_eq!(watched.steps(&hung(), 2), [Step::Nudge, Step::Wake]);
    watched.now -= 365 * 24 * HOUR;
    let steps = watched.steps(&hung(), 4);
    assert!(steps.contains(&Step::Restart), "{steps:?}");
}

/// A session that was created before the clock was set back does not stay new for ever.
#[test]
fn a_session_from_the_future_is_not_always_new() {
    let mut watched = Watched::new();
    let zombie = SessionSeen::AgentDead("gone".to_owned());
    let zombie = Observation { session: zombie, age_ms: Some(0), ..seen() };
    let steps: Vec<Step> = (0..2).map(|_| watched.tick(&zombie).step).collect();
    assert_eq!(steps, [Step::Nothing, Step::Restart]);
}

/// A heartbeat and output from the future do not hide a hang until the clock has caught up.
#[test]
fn signs_of_life_from_the_future_do_not_last() {
    let mut watched = watched_with_work();
    let future = Observation { heartbeat: beat(0), output_age_ms: Some(0), ..hung() };
    let steps: Vec<Step> = (0..12).map(|_| watched.tick(&future).step).collect();
    assert!(steps[0] == Step::Nothing && steps.contains(&Step::Restart), "{steps:?}");
}

/// Paused, stopped and unwanted agents are observed, without any step.
#[test]
fn orders_come_first() {
    for session in [SessionSeen::Dead, SessionSeen::Alive, SessionSeen::AgentDead(String::new())] {
        let seen = Observation { session, ..hung() };
        let mut paused = watched_with_work();
        paused.orders.paused = Some(order(true));
        let mut stopped = watched_with_work();
        stopped.orders.stopped = Some(order(false));
        for mut watched in [paused, stopped] {
            assert!(watched.steps(&seen, 20).iter().all(|step| *step == Step::Nothing));
            assert_eq!(watched.state.acted.len(), 1, "nothing, twenty times, is one line");
            assert_eq!(watched.state.acted[0].times, 20);
        }
        let unwanted = Observation { is_wanted: false, ..seen };
        let steps = watched_with_work().steps(&unwanted, 20);
        assert!(steps.iter().all(|step| *step == Step::Nothing));
    }
}

/// P3: while no text can be typed the ladder does not climb; the operator is notified once, and the ladder continues
/// when a text is taken again.
#[test]
fn a_terminal_that_takes_no_text_reaches_a_person() {
    let mut watched = watched_with_work();
    let mut steps = Vec::new();
    let blocked = StepOutcome::Blocked("something stands in the line".to_owned());
    for _ in 0..60 {
        watched.look(&hung());
        let decision = watched.decide(&hung());
        let is_typing = matches!(decision.step, Step::Nudge | Step::Wake);
        let outcome = if is_typing { blocked.clone() } else { StepOutcome::Done };
        watched.act_with(&hung(), &decision, &outcome);
        watched.now += TICK;
        steps.push(decision.step);
    }
    let escalations = steps.iter().filter(|step| **step == Step::Escalate).count();
    assert_eq!(escalations, 1, "{steps:?}");
    assert!(!steps.contains(&Step::Interrupt) && !steps.contains(&Step::Restart), "{steps:?}");
    let description = watched.state.condition.as_ref().map(|trouble| trouble.what);
    assert_eq!(description, Some(TroubleKind::Blocked));
    watched.state.blocked_since_ms = None;
    watched.look(&hung());
    assert_eq!(watched.decide(&hung()).step, Step::Nudge, "it is nudged again");
}
