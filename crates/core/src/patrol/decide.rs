//! The decision.
//!
//! ```text
//!   heartbeat            no work        work not known      work
//!   fresh                nothing        nothing             nothing
//!   stale                nothing        nudge once          nudge once
//!   very stale           nudge, seldom  nudge, wake         nudge ─► wake ─► interrupt ─► restart ─► escalate
//!
//!   asks a person        escalate, and nothing is typed
//!   usage limit          escalate, and nothing is typed until it is over
//!   session dead         start
//!   agent dead           restart
//!   session not known    nothing
//!   asleep               nothing        nothing             nudge once
//! ```
//!
//! It is the document's matrix; the rules that its users learned come before it: a person's orders, what the agent
//! declares, what its screen asks, the grace after a start, and any sign that it moves. Where there is no heartbeat to
//! read, its silence counts instead. The last column goes beyond `wake` only when the work has waited for the stale time
//! too. An agent that takes a nudge lives: it is nudged again ever more seldom, and then its work is a person's matter.

use super::case::{AgentCase, Lateness};
use super::evidence::{evidence, span};
use super::trouble::covers;
use super::{asking, gone, ladder};
use ostler_model::{
    DecidedBy, Decision, Freshness, Observation, Order, PatrolOrders, PatrolPolicy, PatrolState,
    PendingSeen, SessionSeen, Step, TroubleKind, WatchSpec, WatchState,
};

/// A step, and why.
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

    /// A person is told, unless somebody has told them already.
    pub fn escalate(case: &AgentCase, kind: TroubleKind, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        match &case.state.condition {
            Some(open) if open.is_reported && covers(open, kind, case.seen) => {
                Self::nothing(format!("{reason} A person has been told."))
            }
            Some(_) | None => Self { step: Step::Escalate, reason, trouble: Some(kind) },
        }
    }
}

/// What is to be done for this agent now.
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
            "The town is stopped by {}, and nobody is started until that is lifted.",
            run_of_pid(order)
        ));
    }
    if let Some(order) = &case.orders.paused {
        return Choice::nothing(format!(
            "The patrol is paused by {}, and only looks.",
            run_of_pid(order)
        ));
    }
    if !case.seen.is_wanted {
        return Choice::nothing("Somebody stopped it, so it is not wanted.");
    }
    match &case.seen.session {
        SessionSeen::Unknown(why) => Choice::nothing(format!(
            "Nothing is known of its session ({why}), and what is not known is left alone."
        )),
        SessionSeen::Asleep(why) => asleep(case, why),
        SessionSeen::Dead => gone::session_dead(case),
        SessionSeen::AgentDead(why) => gone::agent_dead(case, why),
        SessionSeen::Alive => alive(case),
        SessionSeen::Foreign => {
            let Choice { step, reason, trouble } = alive(case);
            let reason = format!("Somebody else made the session of its name. {reason}");
            Choice { step, reason, trouble }
        }
    }
}

fn run_of_pid(order: &Order) -> String {
    let by = if order.by.is_empty() { "somebody" } else { &order.by };
    if order.reason.is_empty() { by.to_owned() } else { format!("{by} ({})", order.reason) }
}

/// Mail and nudges have woken it already; other work is told to it, once.
fn asleep(case: &AgentCase, why: &str) -> Choice {
    match (&case.seen.pending, &case.state.rung) {
        (PendingSeen::Work { .. }, None) => {
            Choice::of(Step::Nudge, "It sleeps, and there is work for it.")
        }
        (PendingSeen::Work { .. }, Some(rung)) => Choice::nothing(format!(
            "It sleeps, and was told {} ago that there is work for it.",
            span(case.sight().age_of(rung.at_ms))
        )),
        (PendingSeen::Nothing | PendingSeen::Unknown { .. }, _) => {
            Choice::nothing(format!("It sleeps: {why}."))
        }
    }
}

/// Its session is there, and so is the agent in it.
fn alive(case: &AgentCase) -> Choice {
    let sight = case.sight();
    if let Some(choice) = asking::asks(case) {
        return choice;
    }
    if sight.awaits_gate() {
        return Choice::nothing("It waits at a gate, and says so.");
    }
    if sight.is_busy() {
        return Choice::nothing("It said that it is busy, and the time is not over.");
    }
    if sight.is_starting() {
        return Choice::nothing(
            "Its session is young and it has not shown itself yet, so it is given time.",
        );
    }
    if sight.is_stuck() {
        return ladder::stuck(case);
    }
    if sight.moves() && sight.is_stalled() {
        return Choice::escalate(
            case,
            TroubleKind::Stalled,
            format!(
                "It moves, but has not come to the end of a cycle for {} with work waiting.",
                span(case.policy.stalled_ms)
            ),
        );
    }
    if case.late() != Lateness::No && sight.moves() {
        return Choice::nothing("Its heartbeat is not fresh, but it moves, so it is at work.");
    }
    match (case.late(), &case.seen.pending) {
        (Lateness::No, _) => Choice::nothing("It shows that it is well."),
        (Lateness::Stale | Lateness::VeryStale | Lateness::Unseen, PendingSeen::Nothing) => {
            idle(case)
        }
        (Lateness::Unseen, PendingSeen::Unknown { .. }) => Choice::nothing(
            "Nothing is seen of it, and whether it has work is not known, so it is left alone.",
        ),
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

/// Silence without work. A heartbeat that was promised is asked for now and then; more is never done.
fn idle(case: &AgentCase) -> Choice {
    let sight = case.sight();
    let spoken = case.state.typed_at_ms.map(|at| sight.age_of(at));
    if case.freshness() != Freshness::VeryStale || !case.is_settled() {
        return Choice::nothing("It is silent and has no work, so it is idle.");
    }
    match spoken {
        Some(ago) if ago < case.policy.idle_wake_ms => Choice::nothing(format!(
            "It is silent and has no work, so it is idle; it was spoken to {} ago.",
            span(ago)
        )),
        Some(_) | None => Choice::of(
            Step::Nudge,
            "Its heartbeat is very stale; it has no work, so it is nudged, and nothing more.",
        ),
    }
}
