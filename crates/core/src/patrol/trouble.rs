//! When the operator is notified: once when a condition begins, and once when it ends.
//!
//! ```text
//!   well ── escalate ──► begun ── sent (acted) ──► notified ── well for long enough, or not wanted ──► well
//!                          ▲                         │
//!                          └── escalate, graver ─────┘
//! ```

use super::look::guard;
use ostler_model::{
    AgentState, Decision, Edge, Observation, PatrolPolicy, Step, Trouble, TroubleKind, WatchState,
};

/// Whether a notification of the open condition also covers the other one.
pub(super) fn covers(open: &Trouble, kind: TroubleKind, seen: &Observation) -> bool {
    match (open.what, kind) {
        (TroubleKind::Waiting, TroubleKind::Waiting) => open.question == asked(seen),
        (open, kind) => open >= kind,
    }
}

fn asked(seen: &Observation) -> Option<String> {
    seen.shows.as_ref().and_then(|shown| shown.question.clone())
}

/// Runs after the decision. A begin that could not be delivered (`acted` with a failure) is returned again at the
/// next tick.
pub fn escalation(
    state: &mut WatchState,
    decision: &Decision,
    seen: &Observation,
    policy: &PatrolPolicy,
    now_ms: u64,
) -> Edge {
    match (decision.step, decision.trouble) {
        (Step::Escalate, Some(what)) => begins(state, what, &decision.reason, seen, now_ms),
        (Step::Escalate, None) => Edge::None,
        (
            Step::Nothing
            | Step::Start
            | Step::Nudge
            | Step::Wake
            | Step::Interrupt
            | Step::Restart,
            _,
        ) => ends(state, seen, policy, now_ms),
    }
}

fn begins(
    state: &mut WatchState,
    what: TroubleKind,
    why: &str,
    seen: &Observation,
    now_ms: u64,
) -> Edge {
    let question = if what == TroubleKind::Waiting { asked(seen) } else { None };
    let since_ms = match &state.condition {
        Some(open) if open.is_reported && covers(open, what, seen) => return Edge::None,
        Some(open) => open.since_ms,
        None => now_ms,
    };
    let trouble = Trouble { what, why: why.to_owned(), since_ms, is_reported: false, question };
    state.condition = Some(trouble.clone());
    Edge::Begin(trouble)
}

fn ends(state: &mut WatchState, seen: &Observation, policy: &PatrolPolicy, now_ms: u64) -> Edge {
    let Some(open) = &state.condition else { return Edge::None };
    let shows = |wanted: AgentState| seen.shows.as_ref().is_some_and(|shown| shown.state == wanted);
    // A condition that is seen to be over is over. Without an observation it stays.
    let is_seen = seen.shows.is_some() || seen.screen.is_some();
    let is_answered = match open.what {
        TroubleKind::Waiting => is_seen && !shows(AgentState::Waiting) && !seen.is_begun,
        TroubleKind::Limited => is_seen && !shows(AgentState::Limited),
        TroubleKind::Ignores
        | TroubleKind::Blocked
        | TroubleKind::Stalled
        | TroubleKind::Stuck
        | TroubleKind::Unseen
        | TroubleKind::Foreign
        | TroubleKind::Hung
        | TroubleKind::CrashLoop
        | TroubleKind::MassDeath
        | TroubleKind::TmuxUnreachable => false,
    };
    let needed_ms = match open.what {
        TroubleKind::CrashLoop => guard().backoff.reset_after_ms,
        TroubleKind::Waiting
        | TroubleKind::Limited
        | TroubleKind::Ignores
        | TroubleKind::Blocked
        | TroubleKind::Stalled
        | TroubleKind::Stuck
        | TroubleKind::Unseen
        | TroubleKind::Foreign
        | TroubleKind::Hung
        | TroubleKind::MassDeath
        | TroubleKind::TmuxUnreachable => policy.grace_ms,
    };
    let is_well =
        state.well_since_ms.is_some_and(|since| now_ms.saturating_sub(since) >= needed_ms);
    if !is_well && !is_answered && seen.is_wanted {
        return Edge::None;
    }
    match state.condition.take() {
        Some(trouble) if trouble.is_reported => Edge::End(trouble),
        Some(_) | None => Edge::None,
    }
}
