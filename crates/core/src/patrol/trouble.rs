//! When a person is told: once when a trouble begins, and once when it is over.
//!
//! ```text
//!   well ── escalate ──► begun ── told (acted) ──► told ── well for long enough, or not wanted ──► well
//!                          ▲                        │
//!                          └── escalate, graver ────┘
//! ```

use super::look::guard;
use ostler_model::{
    Decision, Edge, Observation, PatrolPolicy, Step, Trouble, TroubleKind, WatchState,
};

/// After the decision. A begin that could not be told (`acted` with a failure) is given again at the next tick.
pub fn escalation(
    state: &mut WatchState,
    decision: &Decision,
    seen: &Observation,
    policy: &PatrolPolicy,
    now_ms: u64,
) -> Edge {
    match (decision.step, decision.trouble) {
        (Step::Escalate, Some(what)) => begins(state, what, &decision.reason, now_ms),
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

fn begins(state: &mut WatchState, what: TroubleKind, why: &str, now_ms: u64) -> Edge {
    let since_ms = match &state.condition {
        Some(open) if open.told && open.what >= what => return Edge::None,
        Some(open) => open.since_ms,
        None => now_ms,
    };
    let trouble = Trouble { what, why: why.to_owned(), since_ms, told: false };
    state.condition = Some(trouble.clone());
    Edge::Begin(trouble)
}

fn ends(state: &mut WatchState, seen: &Observation, policy: &PatrolPolicy, now_ms: u64) -> Edge {
    let Some(open) = &state.condition else { return Edge::None };
    let needed_ms = match open.what {
        TroubleKind::CrashLoop => guard().backoff.reset_after_ms,
        TroubleKind::Stalled
        | TroubleKind::Stuck
        | TroubleKind::Unseen
        | TroubleKind::Foreign
        | TroubleKind::Hung
        | TroubleKind::MassDeath
        | TroubleKind::TmuxUnreachable => policy.grace_ms,
    };
    let is_well =
        state.well_since_ms.is_some_and(|since| now_ms.saturating_sub(since) >= needed_ms);
    if !is_well && seen.is_wanted {
        return Edge::None;
    }
    match state.condition.take() {
        Some(trouble) if trouble.told => Edge::End(trouble),
        Some(_) | None => Edge::None,
    }
}
