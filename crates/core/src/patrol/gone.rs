//! A dead agent: its session has ended, or only the agent in it.

use super::case::AgentCase;
use super::decide::Choice;
use super::evidence::span;
use ostler_model::{Step, TroubleKind};

pub(super) fn session_dead(case: &AgentCase) -> Choice {
    match hindrance(case) {
        Some(choice) => choice,
        None if case.seen.wants_again => Choice::of(Step::Start, "it ended to be restarted"),
        None => Choice::of(Step::Start, "session is dead"),
    }
}

/// The code that acts checks again, and leaves an agent alone that has come back.
pub(super) fn agent_dead(case: &AgentCase, why: &str) -> Choice {
    // The agent's process starts a while after its session.
    let spawning_ms = case.policy.grace_ms / 5;
    let started = case.sight().started_at_ms();
    if started.is_some_and(|at| case.sight().age_of(at) < spawning_ms) {
        return Choice::nothing("session is new; its agent may still be starting");
    }
    if let Some(choice) = hindrance(case).or_else(|| cooling(case)) {
        return choice;
    }
    Choice::of(Step::Restart, format!("session exists, but its agent is dead: {why}"))
}

/// What prevents a start of the agent now.
pub(super) fn hindrance(case: &AgentCase) -> Option<Choice> {
    if let Some(choice) = crash_loop(case) {
        return Some(choice);
    }
    if case.town.mass_death.is_some()
        && case.state.died_at_ms.is_some()
        && !case.town.may_start.contains(&case.seen.agent)
    {
        return Some(Choice::nothing(
            "many agents died at once; they start in waves, and this one is not next",
        ));
    }
    backing_off(case)
}

pub(super) fn crash_loop(case: &AgentCase) -> Option<Choice> {
    let since = case.state.crash_loop_since_ms?;
    let left = case.policy.crash_loop_decay_ms.saturating_sub(case.sight().age_of(since));
    Some(Choice::escalate(
        case,
        TroubleKind::CrashLoop,
        format!("started too often; next attempt in {}", span(left)),
    ))
}

pub(super) fn backing_off(case: &AgentCase) -> Option<Choice> {
    let until = case.state.backoff_until_ms.filter(|until| *until > case.now_ms)?;
    (!case.seen.wants_again).then(|| {
        Choice::nothing(format!("started recently; next start in {}", span(until - case.now_ms)))
    })
}

/// Prevents a second restart within the cooldown.
pub(super) fn cooling(case: &AgentCase) -> Option<Choice> {
    let ago = case.sight().age_of(case.state.restarted_at_ms?);
    (ago < case.policy.restart_cooldown_ms).then(|| {
        Choice::nothing(format!(
            "restarted {} ago; no second restart within {}",
            span(ago),
            span(case.policy.restart_cooldown_ms)
        ))
    })
}
