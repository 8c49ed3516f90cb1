//! Decides the next step for an agent.
//!
//! ```text
//!   heartbeat            no work        work unknown        work
//!   fresh                nothing        nothing             nothing
//!   stale                nothing        nudge once          nudge once
//!   very stale           nudge, rarely  nudge, wake         nudge ─► wake ─► interrupt ─► restart ─► escalate
//!
//!   asks a person        escalate; nothing is typed
//!   usage limit          escalate; nothing is typed until it is over
//!   session dead         start
//!   agent dead           restart
//!   session unknown      nothing
//!   asleep               nothing        nothing             nudge once
//! ```
//!
//! This is Gas Town's matrix. Rules from its use come first: orders of a person, the state that the agent reports, a
//! question on its screen, the grace after a start, and any sign of activity. Without a readable heartbeat, silence
//! counts instead. The last column goes beyond `wake` only if the work has waited for the stale time as well. An
//! agent that takes a nudge is alive: it is nudged at growing intervals, and then the operator is notified.

use super::case::{AgentCase, Lateness};
use super::evidence::{evidence, span};
use super::trouble::covers;
use super::{asking, gone, ladder};
use ostler_model::{
    DecidedBy, Decision, Freshness, Observation, Order, PatrolOrders, PatrolPolicy, PatrolState,
    PendingSeen, SessionSeen, Step, TroubleKind, WatchSpec, WatchState,
};

/// A step and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub step: Step,
    pub reason: String,
    pub trouble: Option<TroubleKind>,
}

impl Choice {
    pub fn of(step: Step, reason: impl Into<String>) -> Self {
        Self { step, reason: reason.into(), trouble: None }
    }

    pub fn nothing(reason: impl Into<String>) -> Self {
        Self::of(Step::Nothing, reason)
    }

    /// Notifies the operator, unless an earlier notification covers this.
    pub fn escalate(case: &AgentCase, kind: TroubleKind, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        match &case.state.condition {
            Some(open) if open.is_reported && covers(open, kind, case.seen) => {
                Self::nothing(format!("{reason}; operator already notified"))
            }
            Some(_) | None => Self { step: Step::Escalate, reason, trouble: Some(kind) },
        }
    }
}

/// The step that is due for this agent now.
pub fn decide(
    seen: &Observation,
    state: &WatchState,
    watch: &WatchSpec,
    policy: &PatrolPolicy,
    town: &PatrolState,
    orders: &PatrolOrders,
    now_ms: u64,
) -> Decision {
    let case = AgentCase { seen, state, watch, policy, town, orders, now_ms };
    let Choice { step, reason, trouble } = choose(&case);
    Decision {
        step,
        health: case.health(),
        freshness: case.freshness(),
        reason,
        by: DecidedBy::Mechanical,
        trouble,
        evidence: evidence(&case),
    }
}

fn choose(case: &AgentCase) -> Choice {
    if let Some(order) = &case.orders.stopped {
        return Choice::nothing(format!(
            "the patrol is stopped by {}; no agent is started until the stop is lifted",
            ordered_by(order)
        ));
    }
    if let Some(order) = &case.orders.paused {
        return Choice::nothing(format!(
            "the patrol is paused by {}; observing only",
            ordered_by(order)
        ));
    }
    if !case.seen.is_wanted {
        return Choice::nothing("not wanted: it was stopped");
    }
    match &case.seen.session {
        SessionSeen::Unknown(why) => Choice::nothing(format!("session state unknown: {why}")),
        SessionSeen::Asleep(why) => asleep(case, why),
        SessionSeen::Dead => gone::session_dead(case),
        SessionSeen::AgentDead(why) => gone::agent_dead(case, why),
        SessionSeen::Alive => alive(case),
        SessionSeen::Foreign => {
            let Choice { step, reason, trouble } = alive(case);
            let reason = format!("session not created by Ostler; {reason}");
            Choice { step, reason, trouble }
        }
    }
}

fn ordered_by(order: &Order) -> String {
    let by = if order.by.is_empty() { "an unknown user" } else { &order.by };
    if order.reason.is_empty() { by.to_owned() } else { format!("{by} ({})", order.reason) }
}

/// Mail and nudges have already woken it. It is notified of other work once.
fn asleep(case: &AgentCase, why: &str) -> Choice {
    match (&case.seen.pending, &case.state.rung) {
        (PendingSeen::Work { .. }, None) => Choice::of(Step::Nudge, "asleep, work pending"),
        (PendingSeen::Work { .. }, Some(rung)) => Choice::nothing(format!(
            "asleep; notified of its work {} ago",
            span(case.sight().age_of(rung.at_ms))
        )),
        (PendingSeen::Nothing | PendingSeen::Unknown { .. }, _) => {
            Choice::nothing(format!("asleep: {why}"))
        }
    }
}

/// Session and agent are alive.
fn alive(case: &AgentCase) -> Choice {
    let sight = case.sight();
    if let Some(choice) = asking::asks(case) {
        return choice;
    }
    if sight.awaits_gate() {
        return Choice::nothing("waiting at a gate, as it reported");
    }
    if sight.is_busy() {
        return Choice::nothing("busy, as it reported");
    }
    if sight.is_starting() {
        return Choice::nothing("session just started; no sign of the agent yet");
    }
    if sight.is_stuck() {
        return ladder::stuck(case);
    }
    if sight.moves() && sight.is_stalled() {
        return Choice::escalate(
            case,
            TroubleKind::Stalled,
            format!(
                "active, but its heartbeat's cycle counter did not advance for {} while work is pending",
                span(case.policy.stalled_ms)
            ),
        );
    }
    if case.late() != Lateness::No && sight.moves() {
        return Choice::nothing("heartbeat is late, but the agent is active");
    }
    match (case.late(), &case.seen.pending) {
        (Lateness::No, _) => Choice::nothing("healthy"),
        (Lateness::Stale | Lateness::VeryStale | Lateness::Unseen, PendingSeen::Nothing) => {
            idle(case)
        }
        (Lateness::Unseen, PendingSeen::Unknown { .. }) => {
            Choice::nothing("neither activity nor pending work can be observed")
        }
        (Lateness::Unseen, PendingSeen::Work { .. })
        | (Lateness::Stale, PendingSeen::Unknown { .. } | PendingSeen::Work { .. }) => {
            ladder::nudge_once(case)
        }
        (Lateness::VeryStale, PendingSeen::Unknown { .. }) => ladder::talk(case),
        (Lateness::VeryStale, PendingSeen::Work { .. }) => {
            if case.is_late_with_work() {
                ladder::hung(case)
            } else if case.is_settled() {
                ladder::talk(case)
            } else {
                ladder::nudge_once(case)
            }
        }
    }
}

/// Silence without work. An agent with a heartbeat file is nudged at long intervals; no stronger step follows.
fn idle(case: &AgentCase) -> Choice {
    let sight = case.sight();
    let spoken = case.state.typed_at_ms.map(|at| sight.age_of(at));
    if case.freshness() != Freshness::VeryStale || !case.is_settled() {
        return Choice::nothing("idle: silent, no pending work");
    }
    match spoken {
        Some(ago) if ago < case.policy.idle_wake_ms => Choice::nothing(format!(
            "idle: silent, no pending work; last text typed {} ago",
            span(ago)
        )),
        Some(_) | None => Choice::of(Step::Nudge, "heartbeat is very stale, no pending work"),
    }
}
