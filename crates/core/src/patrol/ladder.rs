//! The ladder.
//!
//! ```text
//!   none ─► nudge ─► wake ─► interrupt ─► restart ─► escalate
//!     ▲       │        │         │           │           │
//!     └───────┴────────┴─────────┴───────────┴───────────┘   it moved, it has no work, its session is gone (look)
//! ```
//!
//! A rung follows when the one before has had its time and nothing moved: that is its verification. With waits
//! shorter than a tick it climbs a rung a tick, so an agent that hangs with work is restarted by the third tick
//! after the one at which the evidence was complete. When nobody came after an escalation, it begins anew after
//! the crash loop's decay; the person is not told again.
//!
//! An agent that takes the text of a rung lives, and the ladder begins anew: it is nudged again after twice the time, and
//! after four nudges a person is told that it does not do its work. The interrupt is left out where Ctrl-C is not known
//! to interrupt. An agent whose screen says that it works is not woken before it has shown nothing new for half an hour.
//!
//! It ends at `wake` for what is not ours to end, for what cannot be seen, and for work that nobody knows of.

use super::case::{AgentCase, Lateness};
use super::decide::Choice;
use super::evidence::span;
use super::gone;
use super::triage::HELD_MOST;
use ostler_model::{Rung, SessionSeen, Step, TroubleKind};

const HUNG: &str = "It does not move, it is very late, and work is waiting";

/// It is late, and there may be work: one nudge, and then time.
pub(super) fn nudge_once(case: &AgentCase) -> Choice {
    if let Some(choice) = ignores(case).or_else(|| blocked(case)) {
        return choice;
    }
    match &case.state.rung {
        None => Choice::of(Step::Nudge, "It is late, and there is work for it, or may be."),
        Some(rung) => Choice::nothing(format!(
            "It is late; the last step was {} {} ago, and more is done only when it is very late \
             with work that has waited.",
            word(rung.step),
            span(case.sight().age_of(rung.at_ms))
        )),
    }
}

/// It is very late, but whether it hangs is not certain: it is spoken to, once a silence.
pub(super) fn talk(case: &AgentCase) -> Choice {
    let reason = "It is very late, and there is work for it, or may be.";
    if let Some(choice) = ignores(case).or_else(|| blocked(case)) {
        return choice;
    }
    match &case.state.rung {
        None => Choice::of(Step::Nudge, reason),
        Some(rung) if rung.step == Step::Nudge => verified(case, rung)
            .or_else(|| thinks(case))
            .unwrap_or_else(|| Choice::of(Step::Wake, format!("{reason} The nudge did not help."))),
        Some(rung) => Choice::nothing(format!(
            "{reason} The last step was {} {} ago, and more is not justified.",
            word(rung.step),
            span(case.sight().age_of(rung.at_ms))
        )),
    }
}

/// It took the last nudges and did not do its work: it is nudged ever more seldom, then a person is told.
fn ignores(case: &AgentCase) -> Option<Choice> {
    const SELDOM_MOST_MS: u64 = 60 * 60_000;
    let nudged = case.state.nudged;
    if nudged == 0 || case.state.rung.is_some() {
        return None;
    }
    if nudged >= case.policy.nudges_most {
        return Some(Choice::escalate(
            case,
            TroubleKind::Ignores,
            format!("It took {nudged} nudges, and its work is still waiting."),
        ));
    }
    let wait_ms = case.policy.nudge_wait_ms.saturating_mul(1 << nudged.min(16)).min(SELDOM_MOST_MS);
    let ago = case.sight().age_of(case.state.typed_at_ms?);
    (ago < wait_ms).then(|| {
        Choice::nothing(format!(
            "It took a nudge {} ago, and is nudged again {} after that.",
            span(ago),
            span(wait_ms)
        ))
    })
}

/// No text could be typed for as long as a nudge and a wake have together: a person is to look at the terminal.
fn blocked(case: &AgentCase) -> Option<Choice> {
    let ago = case.sight().age_of(case.state.blocked_since_ms?);
    let patience_ms = case.policy.nudge_wait_ms.saturating_add(case.policy.wake_wait_ms);
    (ago >= patience_ms).then(|| {
        Choice::escalate(
            case,
            TroubleKind::Blocked,
            "Its work is waiting, and no text can be typed into its terminal: see what stands there.",
        )
    })
}

/// What shows that it works is only spoken to.
fn thinks(case: &AgentCase) -> Option<Choice> {
    case.sight().is_thinking().then(|| {
        Choice::nothing(format!(
            "Its screen says that it works, so it is left alone until it has shown nothing new for {}.",
            span(case.policy.thinking_ms)
        ))
    })
}

/// It hangs, on all the evidence that can be had.
pub(super) fn hung(case: &AgentCase) -> Choice {
    if let Some(choice) = ignores(case).or_else(|| blocked(case)) {
        return choice;
    }
    let next = match &case.state.rung {
        None => Step::Nudge,
        Some(rung) => match verified(case, rung) {
            Some(wait) => return wait,
            None => after(case, rung),
        },
    };
    if let Some(held) = held(case) {
        return held;
    }
    if next > Step::Nudge
        && let Some(choice) = thinks(case)
    {
        return choice;
    }
    let is_ours = case.seen.session == SessionSeen::Alive;
    let can_see = case.sight().can_see();
    match next {
        Step::Nothing | Step::Start | Step::Nudge => Choice::of(Step::Nudge, format!("{HUNG}.")),
        Step::Wake => Choice::of(Step::Wake, format!("{HUNG}; a nudge did not help.")),
        Step::Interrupt | Step::Restart | Step::Escalate if !is_ours => Choice::escalate(
            case,
            TroubleKind::Foreign,
            format!("{HUNG}; its session is not one that we made, so it is left to a person."),
        ),
        Step::Interrupt | Step::Restart | Step::Escalate if !can_see => Choice::escalate(
            case,
            TroubleKind::Unseen,
            format!("{HUNG}; nothing can be seen of it, so it is left to a person."),
        ),
        Step::Interrupt => {
            Choice::of(Step::Interrupt, format!("{HUNG}; it was woken, and did not move."))
        }
        Step::Restart => restart(case, format!("{HUNG}; {}.", tried(case))),
        Step::Escalate => {
            Choice::escalate(case, TroubleKind::Hung, format!("{HUNG}; a restart did not help."))
        }
    }
}

/// It says itself that it is stuck. A nudge would tell it nothing new: with work waiting it is interrupted, and
/// then restarted; without, it waits for a person.
pub(super) fn stuck(case: &AgentCase) -> Choice {
    let why = case.seen.declared.as_ref().map_or("", |said| said.reason.as_str());
    let says = format!("It says that it is stuck ({why})");
    let is_ours = case.seen.session == SessionSeen::Alive;
    if !is_ours || !case.sight().has_work() || !case.sight().can_see() {
        return Choice::escalate(case, TroubleKind::Stuck, format!("{says}."));
    }
    let first = if case.seen.can_interrupt { Step::Interrupt } else { Step::Wake };
    let rung = match &case.state.rung {
        None => return Choice::of(first, format!("{says}, and work is waiting.")),
        Some(rung) => rung,
    };
    if let Some(wait) = verified(case, rung) {
        return wait;
    }
    match after(case, rung) {
        Step::Nothing | Step::Start | Step::Nudge | Step::Wake | Step::Interrupt => {
            Choice::of(first, format!("{says}, and work is waiting."))
        }
        Step::Restart => restart(case, format!("{says}; {}.", tried(case))),
        Step::Escalate => {
            Choice::escalate(case, TroubleKind::Stuck, format!("{says}; a restart did not help."))
        }
    }
}

/// While a rung has its time, nothing else is done.
fn verified(case: &AgentCase, rung: &Rung) -> Option<Choice> {
    let wait_ms = match rung.step {
        Step::Nothing | Step::Start => 0,
        Step::Nudge => case.policy.nudge_wait_ms,
        Step::Wake => case.policy.wake_wait_ms,
        Step::Interrupt => case.policy.interrupt_wait_ms,
        Step::Restart => case.policy.grace_ms,
        Step::Escalate => 0,
    };
    let ago = case.sight().age_of(rung.at_ms);
    (ago < wait_ms).then(|| {
        Choice::nothing(format!(
            "The last step was {} {} ago, and has until {} after to show.",
            word(rung.step),
            span(ago),
            span(wait_ms)
        ))
    })
}

/// The rung after one that did not help.
fn after(case: &AgentCase, rung: &Rung) -> Step {
    let is_long_ago = case.sight().age_of(rung.at_ms) >= case.policy.crash_loop_decay_ms;
    match rung.step {
        Step::Nothing | Step::Start => Step::Nudge,
        Step::Nudge => Step::Wake,
        Step::Wake if case.seen.can_interrupt => Step::Interrupt,
        Step::Wake | Step::Interrupt => Step::Restart,
        Step::Restart | Step::Escalate if is_long_ago && is_restartable(case) => Step::Nudge,
        Step::Restart | Step::Escalate => Step::Escalate,
    }
}

fn tried(case: &AgentCase) -> &'static str {
    match case.state.rung.as_ref().map(|rung| rung.step) {
        Some(Step::Interrupt) => "interrupting it did not help",
        Some(_) | None => "waking it did not help",
    }
}

fn is_restartable(case: &AgentCase) -> bool {
    case.seen.session == SessionSeen::Alive && case.sight().can_see()
}

/// The restart that is due, unless a guard holds it back.
fn restart(case: &AgentCase, reason: String) -> Choice {
    gone::crash_loop(case)
        .or_else(|| gone::cooling(case))
        .or_else(|| gone::backing_off(case))
        .unwrap_or_else(|| Choice::of(Step::Restart, reason))
}

/// Triage has looked at it and said that nothing is to be done, which it may do a few times in a row.
fn held(case: &AgentCase) -> Option<Choice> {
    let ago = case.sight().age_of(case.state.held_at_ms?);
    (ago < case.policy.hold_ms && case.state.held <= HELD_MOST).then(|| {
        Choice::nothing(format!(
            "{HUNG}; triage looked at it {} ago and held the ladder back.",
            span(ago)
        ))
    })
}

/// Whether this case may be restarted now. For those who want to go further than the ladder.
pub(super) fn may_restart(case: &AgentCase) -> bool {
    is_restartable(case)
        && case.late() == Lateness::VeryStale
        && gone::crash_loop(case).is_none()
        && gone::cooling(case).is_none()
        && gone::backing_off(case).is_none()
}

pub(super) fn word(step: Step) -> &'static str {
    match step {
        Step::Nothing => "nothing",
        Step::Start => "a start",
        Step::Nudge => "a nudge",
        Step::Wake => "a wake",
        Step::Interrupt => "an interrupt",
        Step::Restart => "a restart",
        Step::Escalate => "an escalation",
    }
}
