//! Tests each rule at its edges: one millisecond younger, missing values, a clock that was set back.

use super::*;
use ostler_model::{AgentSeen, Declared};
use serde_json::json;
use std::sync::LazyLock;

const NOW: u64 = 100_000_000;
const MINUTE: u64 = 60_000;

fn seen() -> Observation {
    serde_json::from_value(json!({
        "agent": "deacon", "atMs": NOW, "session": {"state": "alive"}, "heartbeat": {"state": "none"},
        "pending": {"state": "nothing"}, "tail": "", "isWanted": true,
    }))
    .expect("an observation")
}

fn beat(age_ms: u64, cycle: u64) -> HeartbeatSeen {
    HeartbeatSeen::At { age_ms, cycle, last_action: String::new() }
}

fn sight<'a>(seen: &'a Observation, state: &'a WatchState) -> Sight<'a> {
    static POLICY: LazyLock<PatrolPolicy> = LazyLock::new(PatrolPolicy::default);
    Sight { seen, state, policy: &POLICY, now_ms: NOW }
}

fn shown(state: AgentState) -> Option<AgentSeen> {
    Some(AgentSeen { profile: String::new(), state, question: None, until_ms: None })
}

/// P3: a taken text is activity, at the time when it was taken.
#[test]
fn a_taken_text_is_movement() {
    let mut now = seen();
    now.taken_age_ms = Some(7_000);
    let state = WatchState { moved_at_ms: Some(NOW - 9_000), ..WatchState::default() };
    assert_eq!(sight(&now, &state).moved_at_ms(), Some(NOW - 7_000));
    now.taken_age_ms = None;
    assert_eq!(sight(&now, &state).moved_at_ms(), Some(NOW - 9_000));
}

/// P3: without a screen output counts; an age of 0 counts only if nothing was observed before.
#[test]
fn output_counts_where_there_is_no_screen() {
    let mut now = seen();
    now.output_age_ms = Some(4_000);
    let before = WatchState { moved_at_ms: Some(NOW - 50_000), ..WatchState::default() };
    assert_eq!(sight(&now, &before).moved_at_ms(), Some(NOW - 4_000));
    assert_eq!(sight(&now, &WatchState::default()).moved_at_ms(), Some(NOW - 4_000));
    now.screen = Some(5);
    assert_eq!(sight(&now, &before).moved_at_ms(), Some(NOW - 50_000), "its screen decides");
    now.screen = None;
    now.output_age_ms = Some(0);
    assert_eq!(sight(&now, &before).moved_at_ms(), Some(NOW - 50_000), "a clock was set back");
    assert_eq!(
        sight(&now, &WatchState::default()).moved_at_ms(),
        Some(NOW),
        "the first observation"
    );
}

/// P3: the noise floor of a program is five times its lowest CPU use.
#[test]
fn a_program_computes_above_five_times_its_floor() {
    let mut now = seen();
    let state = WatchState { cpu_floor_percent: Some(0.5), ..WatchState::default() };
    for (used, computes) in [(3.4, false), (3.5, true), (5.0, true)] {
        now.cpu_percent = Some(used);
        assert_eq!(sight(&now, &state).computes(), computes, "{used}");
    }
    now.shows = shown(AgentState::Idle);
    assert!(!sight(&now, &state).computes(), "an idle prompt is idle");
}

/// P3: an agent that shows work is thinking while the screen is redrawn (a minute) and not unchanged for too long.
#[test]
fn thinking_ends_at_its_bounds() {
    let thinking_ms = PatrolPolicy::default().thinking_ms;
    let of = |drawn_ms: u64, silent_ms: u64| {
        let mut now = seen();
        now.shows = shown(AgentState::Working);
        (now.output_age_ms, now.screen) = (Some(drawn_ms), Some(1));
        let moved_at_ms = Some(NOW - silent_ms);
        let state = WatchState { moved_at_ms, screen: Some(1), ..WatchState::default() };
        sight(&now, &state).is_thinking()
    };
    assert!(of(MINUTE - 1, thinking_ms - 1));
    assert!(!of(MINUTE, thinking_ms - 1));
    assert!(!of(MINUTE - 1, thinking_ms));
}

#[test]
fn movement_is_progress_for_less_than_its_time() {
    let progress_ms = PatrolPolicy::default().progress_ms;
    let mut now = seen();
    now.screen = Some(1);
    for (silent_ms, moves) in [(progress_ms - 1, true), (progress_ms, false)] {
        let moved_at_ms = Some(NOW - silent_ms);
        let state = WatchState { moved_at_ms, screen: Some(1), ..WatchState::default() };
        assert_eq!(sight(&now, &state).moves(), moves, "{silent_ms}");
    }
}

/// P2: an age of 0 counts for another cycle; for the same cycle, the recorded time counts.
#[test]
fn a_heartbeat_of_no_age_is_as_old_as_its_cycle() {
    let mut now = seen();
    now.heartbeat = beat(0, 8);
    let since = Some(NOW - 70_000);
    let of = |cycle| WatchState { cycle, cycle_since_ms: since, ..WatchState::default() };
    assert_eq!(sight(&now, &of(Some(8))).heartbeat_at_ms(), since);
    assert_eq!(sight(&now, &of(Some(7))).heartbeat_at_ms(), Some(NOW));
    assert_eq!(sight(&now, &of(None)).heartbeat_at_ms(), Some(NOW));
    now.heartbeat = beat(5, 8);
    assert_eq!(sight(&now, &of(Some(8))).heartbeat_at_ms(), Some(NOW - 5));
}

#[test]
fn busy_ends_at_its_moment() {
    let mut now = seen();
    for (until, is_busy) in [(NOW + 1, true), (NOW, false), (NOW - 1, false)] {
        now.busy_until_ms = Some(until);
        assert_eq!(sight(&now, &WatchState::default()).is_busy(), is_busy, "{until}");
    }
}

/// P8: stuck holds until a newer sign contradicts; each sign alone is enough.
#[test]
fn stuck_is_over_with_any_later_sign() {
    let said_ms = NOW - MINUTE;
    let stuck = || {
        let mut now = seen();
        let (state, reason) = (DeclaredState::Stuck, String::new());
        now.declared = Some(Declared { state, reason, at_ms: said_ms });
        now
    };
    let none = WatchState::default();
    let is = |now: &Observation, state: &WatchState| sight(now, state).is_stuck();
    assert!(is(&stuck(), &none));
    let mut gate = stuck();
    gate.declared.as_mut().expect("said").state = DeclaredState::AwaitingGate;
    assert!(!is(&gate, &none));
    let mut works = stuck();
    works.cpu_percent = Some(90.0);
    assert!(!is(&works, &none));
    for (age_ms, is_stuck) in [(MINUTE, true), (MINUTE - 1, false)] {
        let mut young = stuck();
        young.age_ms = Some(age_ms);
        assert_eq!(is(&young, &none), is_stuck, "its session is {age_ms} ms old");
    }
    // Output in the ten seconds after the report is part of the report.
    let received_ms = MINUTE - SAYING_MS;
    for (age_ms, is_stuck) in [(received_ms, true), (received_ms - 1, false)] {
        let mut beats = stuck();
        beats.heartbeat = beat(age_ms, 1);
        assert_eq!(is(&beats, &none), is_stuck, "its heart beat {age_ms} ms ago");
        let moved_at_ms = Some(NOW - age_ms);
        let moved = WatchState { moved_at_ms, ..WatchState::default() };
        assert_eq!(is(&stuck(), &moved), is_stuck, "it moved {age_ms} ms ago");
    }
}

/// P3: a session has its grace until its agent shows a sign of life.
#[test]
fn a_session_starts_until_its_first_heartbeat() {
    let grace_ms = PatrolPolicy::default().grace_ms;
    let none = WatchState::default();
    let of = |age_ms: u64, heartbeat: HeartbeatSeen| {
        let mut now = seen();
        (now.age_ms, now.heartbeat) = (Some(age_ms), heartbeat);
        sight(&now, &none).is_starting()
    };
    assert!(of(grace_ms - 1, HeartbeatSeen::None));
    assert!(!of(grace_ms, HeartbeatSeen::None));
    assert!(of(5_000, beat(5_000, 1)), "an older heartbeat belongs to another session");
    assert!(!of(5_000, beat(4_999, 1)));
    assert!(!sight(&seen(), &none).is_starting(), "no session, no start");
}

/// P3: only signs after the last rung count, not at the same moment; each sign alone is enough.
#[test]
fn only_what_comes_after_the_rung_is_movement() {
    let rung_ms = NOW - 30_000;
    let none = WatchState::default();
    let has = |now: &Observation, state: &WatchState, cycle: Option<u64>| {
        sight(now, state).has_moved_since(rung_ms, cycle)
    };
    assert!(!has(&seen(), &none, None));
    let mut beats = seen();
    for (age_ms, moved) in [(30_000, false), (29_999, true)] {
        beats.heartbeat = beat(age_ms, 4);
        assert_eq!(has(&beats, &none, Some(4)), moved, "a heartbeat");
        let state = WatchState { moved_at_ms: Some(NOW - age_ms), ..WatchState::default() };
        assert_eq!(has(&seen(), &state, None), moved, "a movement");
    }
    beats.heartbeat = beat(40_000, 4);
    assert!(has(&beats, &none, Some(3)), "another cycle");
    let mut busy = seen();
    busy.busy_until_ms = Some(NOW + 1);
    assert!(has(&busy, &none, None), "it says that it is busy");
    let mut gate = seen();
    let (state, reason) = (DeclaredState::AwaitingGate, String::new());
    gate.declared = Some(Declared { state, reason, at_ms: NOW });
    assert!(has(&gate, &none, None), "it waits for a gate");
}
