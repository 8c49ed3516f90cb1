//! Folds an observation into the state of an agent.

use super::sight::{CPU_FLOOR_MOST, Sight};
use crate::restart::clear;
use ostler_model::{
    AgentState, Freshness, Observation, PatrolOrders, PatrolPolicy, PendingSeen, Preset,
    RestartPolicy, SessionSeen, WatchSpec, WatchState,
};

/// The restart guard: 30 s doubling to 10 min, five starts in 15 min, reset after 30 min of health.
pub(super) fn guard() -> RestartPolicy {
    RestartPolicy::preset(Preset::Gastown)
}

pub fn look(
    state: &mut WatchState,
    seen: &Observation,
    watch: &WatchSpec,
    policy: &PatrolPolicy,
    orders: &PatrolOrders,
    now_ms: u64,
) {
    not_in_the_future(state, now_ms);
    match &seen.session {
        SessionSeen::Unknown(_) => {}
        SessionSeen::Dead | SessionSeen::Asleep(_) => state.there_since_ms = None,
        SessionSeen::AgentDead(_) | SessionSeen::Alive | SessionSeen::Foreign => {
            state.there_since_ms.get_or_insert(now_ms);
        }
    }
    match &seen.session {
        SessionSeen::Unknown(_) => {}
        SessionSeen::Dead | SessionSeen::AgentDead(_) => {
            died(state, seen, orders, now_ms);
        }
        SessionSeen::Asleep(_) => sleeps(state),
        SessionSeen::Alive | SessionSeen::Foreign => lives(state, seen, watch, policy, now_ms),
    }
    decay(state, policy, now_ms);
}

/// After the clock was set back, future times become now, so that no wait gets longer than intended.
fn not_in_the_future(state: &mut WatchState, now_ms: u64) {
    let times = [
        &mut state.screen_at_ms,
        &mut state.screen_since_ms,
        &mut state.cycle_since_ms,
        &mut state.moved_at_ms,
        &mut state.typed_at_ms,
        &mut state.blocked_since_ms,
        &mut state.pending_since_ms,
        &mut state.well_since_ms,
        &mut state.there_since_ms,
        &mut state.alive_at_ms,
        &mut state.died_at_ms,
        &mut state.started_at_ms,
        &mut state.restarted_at_ms,
        &mut state.crash_loop_since_ms,
        &mut state.triage_at_ms,
        &mut state.held_at_ms,
    ];
    for time in times {
        *time = time.map(|at| at.min(now_ms));
    }
    if let Some(rung) = &mut state.rung {
        rung.at_ms = rung.at_ms.min(now_ms);
    }
    if let Some(until) = &mut state.backoff_until_ms {
        *until = (*until).min(now_ms.saturating_add(guard().backoff.max_ms));
    }
}

/// The agent is asleep, not dead. Its earlier activity has no meaning any more.
fn sleeps(state: &mut WatchState) {
    if state.alive_at_ms.take().is_some() {
        is_gone(state);
    }
    state.died_at_ms = None;
}

fn is_gone(state: &mut WatchState) {
    state.rung = None;
    state.screen = None;
    state.screen_since_ms = None;
    state.moved_at_ms = None;
    state.typed_at_ms = None;
    state.blocked_since_ms = None;
    (state.nudged, state.nudged_work) = (0, 0);
    state.cpu_floor_percent = None;
    state.limited_until_ms = None;
    state.pending_since_ms = None;
    state.well_since_ms = None;
    (state.held, state.held_at_ms) = (0, None);
}

fn died(state: &mut WatchState, seen: &Observation, orders: &PatrolOrders, now_ms: u64) {
    is_gone(state);
    let was_alive = state.alive_at_ms.take().is_some();
    if !seen.is_wanted || orders.stopped.is_some() {
        // The end was requested: no death.
        state.died_at_ms = None;
    } else if was_alive && state.died_at_ms.is_none() {
        state.died_at_ms = Some(now_ms.saturating_sub(seen.dead_age_ms.unwrap_or(0)));
    }
}

fn lives(
    state: &mut WatchState,
    seen: &Observation,
    watch: &WatchSpec,
    policy: &PatrolPolicy,
    now_ms: u64,
) {
    state.died_at_ms = None;
    state.alive_at_ms = Some(now_ms);
    moved(state, seen, policy, now_ms);
    limited(state, seen);
    worked(state, seen.pending.amount());
    match &seen.pending {
        PendingSeen::Nothing => {
            state.pending_since_ms = None;
            state.rung = None;
            state.blocked_since_ms = None;
            state.nudged = 0;
        }
        // Steps taken before there was work were about something else.
        PendingSeen::Work { .. } if state.pending_since_ms.is_none() => {
            state.pending_since_ms = Some(now_ms);
            state.rung = None;
        }
        PendingSeen::Work { .. } => {}
        PendingSeen::Unknown { .. } => {}
    }
    let sight = Sight { seen, state, policy, now_ms };
    let is_over =
        state.rung.as_ref().is_some_and(|rung| sight.has_moved_since(rung.at_ms, rung.cycle));
    let is_asking = sight.shows(AgentState::Waiting) || sight.shows(AgentState::Limited);
    let is_well = !sight.is_stuck()
        && !is_asking
        && state.nudged < policy.nudges_most
        && !sight.is_stalled()
        && (sight.freshness(watch) == Freshness::Fresh
            || sight.moves()
            || sight.is_busy()
            || sight.awaits_gate()
            || seen.pending == PendingSeen::Nothing);
    if is_over {
        state.rung = None;
    }
    if is_well {
        state.well_since_ms.get_or_insert(now_ms);
        state.blocked_since_ms = None;
        (state.held, state.held_at_ms) = (0, None);
    } else {
        state.well_since_ms = None;
    }
}

/// A text that the agent took counts as activity; one that only stands on the screen does not.
fn moved(state: &mut WatchState, seen: &Observation, policy: &PatrolPolicy, now_ms: u64) {
    let sight = Sight { seen, state, policy, now_ms };
    let moved_at_ms = sight.moved_at_ms();
    let (cycle, is_typed) = (sight.cycle(), sight.typed_since_screen());
    if seen.screen.is_some() && seen.screen != state.screen {
        // The screen cannot change without output. A change that only our typing made does not count.
        let written_ms = now_ms.saturating_sub(seen.output_age_ms.unwrap_or(0));
        if state.screen.is_none() {
            state.screen_since_ms = Some(written_ms);
        } else if !is_typed {
            state.screen_since_ms = Some(now_ms);
        }
        state.screen = seen.screen;
    }
    if seen.screen.is_some() {
        state.screen_at_ms = Some(now_ms);
    }
    if cycle.is_some() && cycle != state.cycle {
        (state.cycle, state.cycle_since_ms) = (cycle, Some(now_ms));
        state.nudged = 0;
    }
    state.moved_at_ms = moved_at_ms;
    quietest(state, seen);
}

/// The lowest CPU use seen is the agent's noise floor. A program that always computes must not raise the floor.
fn quietest(state: &mut WatchState, seen: &Observation) {
    if let Some(used) = seen.cpu_percent {
        let floor = state.cpu_floor_percent.unwrap_or(CPU_FLOOR_MOST);
        state.cpu_floor_percent = Some(used.min(floor).max(0.0));
    }
}

/// Less pending work than at the last nudge: the agent does its work.
fn worked(state: &mut WatchState, work: u32) {
    if work < state.nudged_work {
        state.nudged = 0;
    }
    state.nudged_work = work;
}

/// The first time that was shown counts: once it has passed, `3am` would mean tomorrow.
fn limited(state: &mut WatchState, seen: &Observation) {
    match seen.shows.as_ref() {
        Some(shown) if shown.state == AgentState::Limited => {
            state.limited_until_ms = state.limited_until_ms.or(shown.until_ms);
        }
        Some(shown) if shown.state == AgentState::Working => state.limited_until_ms = None,
        Some(_) | None => {}
    }
}

/// Failures are forgotten after a while.
fn decay(state: &mut WatchState, policy: &PatrolPolicy, now_ms: u64) {
    let is_over = |since: u64, limit_ms: u64| now_ms.saturating_sub(since) >= limit_ms;
    let looped = state.crash_loop_since_ms;
    if looped.is_some_and(|since| is_over(since, policy.crash_loop_decay_ms)) {
        clear(&mut state.tally);
        state.crash_loop_since_ms = None;
        state.backoff_until_ms = None;
    }
    let is_well =
        state.well_since_ms.is_some_and(|since| is_over(since, guard().backoff.reset_after_ms));
    let is_long_ago = state.started_at_ms.is_some_and(|at| is_over(at, policy.crash_loop_decay_ms));
    if is_well || is_long_ago {
        // The single failures stay, so that a slow loop is found too; a loop that was found has a time of its own.
        state.tally.steps = 0;
        state.backoff_until_ms = None;
    }
}
