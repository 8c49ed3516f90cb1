//! Records what the patrol did.

use super::look::guard;
use crate::ExitStatus;
use crate::restart::{Death, Verdict, after};
use ostler_model::{
    Acted, DecidedBy, Decision, HeartbeatSeen, Observation, PatrolPolicy, PendingSeen, Rung,
    SessionHealth, Step, StepOutcome, WatchState,
};

/// The most actions kept per agent.
pub const HISTORY_MOST: usize = 20;

pub fn acted(
    state: &mut WatchState,
    decision: &Decision,
    outcome: &StepOutcome,
    seen: &Observation,
    policy: &PatrolPolicy,
    now_ms: u64,
) {
    remember(state, decision, outcome, now_ms);
    match (decision.step, outcome) {
        (_, StepOutcome::NotNeeded(_)) => {}
        (Step::Nothing, _) => {
            if decision.by == DecidedBy::Triage {
                state.held_at_ms = Some(now_ms);
                state.held = state.held.saturating_add(1);
            }
        }
        // The agent took the text, so it is alive: the ladder starts over, but its work is still pending.
        // Before a restart it gets one more text.
        (Step::Nudge | Step::Wake | Step::Interrupt | Step::Restart, StepOutcome::Taken) => {
            state.typed_at_ms = Some(now_ms);
            state.moved_at_ms = Some(now_ms);
            state.rung = None;
            state.blocked_since_ms = None;
            state.limited_until_ms = None;
            if seen.pending != PendingSeen::Nothing {
                state.nudged = state.nudged.saturating_add(1);
            }
        }
        (Step::Start | Step::Restart, _) => started(state, decision, outcome, seen, policy, now_ms),
        // No text could be typed, so the agent has not climbed; the time of this state is measured.
        (Step::Nudge | Step::Wake, StepOutcome::Blocked(_)) => {
            state.blocked_since_ms.get_or_insert(now_ms);
        }
        // A text that was perhaps not delivered counts as a rung: if nothing changes, the next one is due.
        (Step::Nudge | Step::Wake | Step::Interrupt, _) => {
            state.typed_at_ms = Some(now_ms);
            if seen.pending != PendingSeen::Nothing {
                climb(state, decision.step, seen, now_ms);
            }
        }
        (Step::Escalate, StepOutcome::Done | StepOutcome::Taken) => {
            if let Some(trouble) = &mut state.condition {
                trouble.is_reported = true;
            }
            if state.rung.is_some() {
                climb(state, Step::Escalate, seen, now_ms);
            }
        }
        (Step::Escalate, StepOutcome::Failed(_) | StepOutcome::Blocked(_)) => {}
    }
}

/// A gentler step never lowers the rung. After its end the ladder starts over at the bottom.
fn climb(state: &mut WatchState, step: Step, seen: &Observation, now_ms: u64) {
    let stood = state.rung.as_ref().map_or(Step::Nothing, |rung| rung.step);
    let step = match stood {
        Step::Restart | Step::Escalate => step,
        Step::Nothing | Step::Start | Step::Nudge | Step::Wake | Step::Interrupt => step.max(stood),
    };
    let cycle = match &seen.heartbeat {
        HeartbeatSeen::At { cycle, .. } => Some(*cycle),
        HeartbeatSeen::None | HeartbeatSeen::Missing | HeartbeatSeen::Unreadable { .. } => None,
    };
    state.rung = Some(Rung { step, at_ms: now_ms, cycle });
}

fn started(
    state: &mut WatchState,
    decision: &Decision,
    outcome: &StepOutcome,
    seen: &Observation,
    policy: &PatrolPolicy,
    now_ms: u64,
) {
    if !requests_restart(state, seen, policy, now_ms) {
        count(state, now_ms);
    }
    if *outcome == StepOutcome::Done {
        state.died_at_ms = None;
        state.alive_at_ms = Some(now_ms);
        state.there_since_ms = Some(now_ms);
        state.screen = None;
        state.screen_since_ms = None;
        state.moved_at_ms = None;
        state.well_since_ms = None;
        state.cpu_floor_percent = None;
        state.nudged = 0;
        // The new session has had no time for the pending work.
        state.pending_since_ms = state.pending_since_ms.map(|_| now_ms);
    }
    state.started_at_ms = Some(now_ms);
    if decision.step == Step::Restart {
        state.restarted_at_ms = Some(now_ms);
    }
    match decision.health {
        SessionHealth::AgentHung => climb(state, Step::Restart, seen, now_ms),
        SessionHealth::Healthy
        | SessionHealth::SessionDead
        | SessionHealth::AgentDead
        | SessionHealth::Unknown => state.rung = None,
    }
}

/// An exit that requests a restart is no failure, unless it came as soon as the agent was up.
fn requests_restart(
    state: &WatchState,
    seen: &Observation,
    policy: &PatrolPolicy,
    now_ms: u64,
) -> bool {
    let lived_ms = state
        .started_at_ms
        .map_or(u64::MAX, |at| state.died_at_ms.unwrap_or(now_ms).saturating_sub(at));
    seen.wants_again && lived_ms >= policy.grace_ms
}

/// Five starts in a row without half an hour of health are a crash loop, even if the ticks are slow.
fn count(state: &mut WatchState, now_ms: u64) {
    let guard = guard();
    let death = Death::by_itself(ExitStatus::Unknown);
    match after(&mut state.tally, &guard, death, 0, now_ms) {
        Verdict::Restart { wait_ms } => {
            state.backoff_until_ms = Some(now_ms.saturating_add(wait_ms));
            if guard.limit.is_some_and(|limit| state.tally.steps >= limit.count) {
                state.crash_loop_since_ms = Some(now_ms);
            }
        }
        Verdict::Broken { .. } => state.crash_loop_since_ms = Some(now_ms),
        Verdict::Over { .. } => {}
    }
}

fn remember(state: &mut WatchState, decision: &Decision, outcome: &StepOutcome, now_ms: u64) {
    let times = match state.acted.first() {
        Some(last) if last.step == Step::Nothing && decision.step == Step::Nothing => {
            let times = last.times.saturating_add(1);
            state.acted.remove(0);
            times
        }
        Some(_) | None => 1,
    };
    state.acted.insert(
        0,
        Acted {
            at_ms: now_ms,
            step: decision.step,
            reason: decision.reason.clone(),
            by: decision.by.clone(),
            outcome: outcome.clone(),
            times,
        },
    );
    state.acted.truncate(HISTORY_MOST);
}
