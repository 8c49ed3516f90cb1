//! An agent whose screen waits for a person: the operator is notified, and nothing is typed.

use super::case::{AgentCase, Lateness};
use super::decide::Choice;
use super::evidence::span;
use ostler_model::{AgentState, Step, TroubleKind};

/// Allowance for a difference between the provider's clock and ours.
const OVER_MS: u64 = 60_000;

/// The choice for an agent that asks, has reached a limit, or has unsent text in its input box.
pub(super) fn asks(case: &AgentCase) -> Option<Choice> {
    let shown = case.seen.shows.as_ref();
    match shown.map(|shown| shown.state) {
        Some(AgentState::Waiting) => {
            let question =
                shown.and_then(|shown| shown.question.as_deref()).unwrap_or("see its screen");
            Some(Choice::escalate(
                case,
                TroubleKind::Waiting,
                format!("waiting for a person's answer: {question}"),
            ))
        }
        Some(AgentState::Limited) => Some(limited(case)),
        Some(AgentState::Idle) if case.state.limited_until_ms.is_some() => is_over(case),
        Some(
            AgentState::Idle | AgentState::Starting | AgentState::Working | AgentState::Unknown,
        )
        | None => begun(case),
    }
}

fn limited(case: &AgentCase) -> Choice {
    if let Some(choice) = is_over(case) {
        return choice;
    }
    let left = match case.state.limited_until_ms {
        Some(until) => format!(", {} left", span(until.saturating_sub(case.now_ms))),
        None => String::new(),
    };
    let reason = format!("usage limit of its provider reached{left}");
    Choice::escalate(case, TroubleKind::Limited, reason)
}

/// The limit is over: asks the agent once to continue.
fn is_over(case: &AgentCase) -> Option<Choice> {
    let until = case.state.limited_until_ms?;
    let is_over = case.now_ms >= until.saturating_add(OVER_MS);
    (is_over && case.policy.resume_after_limit)
        .then(|| Choice::of(Step::Nudge, "usage limit is over; asking it to continue"))
}

/// Unsent text belongs to the person who typed it. If the agent would count as hung, the operator is notified.
fn begun(case: &AgentCase) -> Option<Choice> {
    if !case.seen.is_begun {
        return None;
    }
    let is_hung = case.late() == Lateness::VeryStale && case.is_late_with_work();
    Some(if is_hung {
        Choice::escalate(
            case,
            TroubleKind::Waiting,
            "its input line seems to hold unsent text while work is pending: send or clear the text",
        )
    } else {
        Choice::nothing("its input line seems to hold unsent text; not typing")
    })
}
