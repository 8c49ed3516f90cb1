//! An agent whose screen waits for a person: it is left to one, and nothing is typed.

use super::case::{AgentCase, Lateness};
use super::decide::Choice;
use super::evidence::span;
use ostler_model::{AgentState, Step, TroubleKind};

/// A provider's clock and ours may differ a little.
const OVER_MS: u64 = 60_000;

/// What is done for an agent that asks, is limited, or has half a line of somebody in its input box.
pub(super) fn asks(case: &AgentCase) -> Option<Choice> {
    let shown = case.seen.shows.as_ref();
    match shown.map(|shown| shown.state) {
        Some(AgentState::Waiting) => {
            let question =
                shown.and_then(|shown| shown.question.as_deref()).unwrap_or("its screen");
            Some(Choice::escalate(
                case,
                TroubleKind::Waiting,
                format!("It waits for an answer from a person: {question}"),
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
        Some(until) => format!(", for {} more", span(until.saturating_sub(case.now_ms))),
        None => String::new(),
    };
    let reason = format!("Its provider refuses its requests (usage limit){left}.");
    Choice::escalate(case, TroubleKind::Limited, reason)
}

/// Its limit is over: it is told to go on, once.
fn is_over(case: &AgentCase) -> Option<Choice> {
    let until = case.state.limited_until_ms?;
    let is_over = case.now_ms >= until.saturating_add(OVER_MS);
    (is_over && case.policy.resume_after_limit)
        .then(|| Choice::of(Step::Nudge, "Its usage limit is over, so it is told to go on."))
}

/// A person's half line is theirs. If the agent would be called hung, a person is asked to look.
fn begun(case: &AgentCase) -> Option<Choice> {
    if !case.seen.is_begun {
        return None;
    }
    let is_hung = case.late() == Lateness::VeryStale && case.is_late_with_work();
    Some(if is_hung {
        Choice::escalate(
            case,
            TroubleKind::Waiting,
            "A line is begun where it reads its input, or looks so, and work is waiting: send the line or clear it.",
        )
    } else {
        Choice::nothing("A line is begun where it reads its input, or looks so: it is left alone.")
    })
}
