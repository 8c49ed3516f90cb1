//! An agent that is dead, with its session or in it.

use super::case::AgentCase;
use super::decide::Choice;
use super::evidence::span;
use ostler_model::{Step, TroubleKind};

pub(super) fn session_dead(case: &AgentCase) -> Choice {
    match hindrance(case) {
        Some(choice) => choice,
        None if case.seen.wants_again => {
            Choice::of(Step::Start, "It ended in order to be started again.")
        }
        None => Choice::of(Step::Start, "Its session is dead."),
    }
}

/// Whoever acts looks again, and leaves alone what came back to life.
pub(super) fn agent_dead(case: &AgentCase, why: &str) -> Choice {
    // The agent's process comes up a while after its session.
    let spawning_ms = case.policy.grace_ms / 5;
    let started = case.sight().started_at_ms();
    if started.is_some_and(|at| case.sight().age_of(at) < spawning_ms) {
        return Choice::nothing("Its session is new, and the agent in it may still be coming up.");
    }
    if let Some(choice) = hindrance(case).or_else(|| cooling(case)) {
        return choice;
    }
    Choice::of(Step::Restart, format!("Its session is there, but the agent in it is dead: {why}."))
}

/// What keeps an agent from being started now.
pub(super) fn hindrance(case: &AgentCase) -> Option<Choice> {
    if let Some(choice) = crash_loop(case) {
        return Some(choice);
    }
    if case.town.mass_death.is_some()
        && case.state.died_at_ms.is_some()
        && !case.town.may_start.contains(&case.seen.agent)
    {
        return Some(Choice::nothing(
            "Many agents died at once, and they are started one after another; it is not its turn.",
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
        format!("It was started too often, and is tried again in {}.", span(left)),
    ))
}

pub(super) fn backing_off(case: &AgentCase) -> Option<Choice> {
    let until = case.state.backoff_until_ms.filter(|until| *until > case.now_ms)?;
    (!case.seen.wants_again).then(|| {
        Choice::nothing(format!(
            "It was started not long ago, and is started again in {}.",
            span(until - case.now_ms)
        ))
    })
}

/// Not twice within the cooldown.
pub(super) fn cooling(case: &AgentCase) -> Option<Choice> {
    let ago = case.sight().age_of(case.state.restarted_at_ms?);
    (ago < case.policy.restart_cooldown_ms).then(|| {
        Choice::nothing(format!(
            "It was restarted {} ago, and is not restarted again within {}.",
            span(ago),
            span(case.policy.restart_cooldown_ms)
        ))
    })
}
