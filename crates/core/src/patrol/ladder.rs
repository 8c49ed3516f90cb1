//! The escalation ladder.
//!
//! ```text
//!   none ─► nudge ─► wake ─► interrupt ─► restart ─► escalate
//!     ▲       │        │         │           │           │
//!     └───────┴────────┴─────────┴───────────┴───────────┘   activity, no work, or session gone (look)
//! ```
//!
//! A rung follows when the one before has had its time and the agent showed no activity. With waits shorter than a tick
//! it climbs one rung a tick, so an agent that hangs with work is restarted by the third tick after the one at which
//! the evidence was complete. If no person acts after an escalation, the ladder starts over after the decay time of the
//! crash loop; the operator is not notified again.
//!
//! An agent that takes the text of a rung is alive, and the ladder starts over: the next nudge follows after twice the
//! time, and after four nudges the operator is notified that it ignores its work. The interrupt is left out if Ctrl-C
//! is not known to interrupt the agent. An agent whose screen shows work in progress is not woken before it has shown
//! nothing new for half an hour.
//!
//! The ladder ends at `wake` for sessions that Ostler did not create, for agents that cannot be observed, for programs
//! with neither a profile nor a heartbeat, and if pending work is unknown.

use super::case::{AgentCase, Lateness};
use super::decide::Choice;
use super::evidence::span;
use super::gone;
use super::triage::HELD_MOST;
use ostler_model::{Rung, SessionSeen, Step, TroubleKind};

const HUNG: &str = "no activity, very late, work pending";

/// The agent is late, and work may be pending: one nudge, then wait.
pub(super) fn nudge_once(case: &AgentCase) -> Choice {
    if let Some(choice) = ignores(case).or_else(|| blocked(case)) {
        return choice;
    }
    match &case.state.rung {
        None => Choice::of(Step::Nudge, "late, and work may be pending"),
        Some(rung) => Choice::nothing(format!(
            "late; the last step was {} {} ago, and the next one needs a very late \
             agent with work that has waited",
            word(rung.step),
            span(case.sight().age_of(rung.at_ms))
        )),
    }
}

/// Very late, but not certain to hang: one nudge and one wake per silence.
pub(super) fn talk(case: &AgentCase) -> Choice {
    let reason = "very late, and work may be pending";
    if let Some(choice) = ignores(case).or_else(|| blocked(case)) {
        return choice;
    }
    match &case.state.rung {
        None => Choice::of(Step::Nudge, reason),
        Some(rung) if rung.step == Step::Nudge => verified(case, rung)
            .or_else(|| thinks(case))
            .unwrap_or_else(|| Choice::of(Step::Wake, format!("{reason}; the nudge did not help"))),
        Some(rung) => Choice::nothing(format!(
            "{reason}; the last step was {} {} ago, and no stronger step is justified",
            word(rung.step),
            span(case.sight().age_of(rung.at_ms))
        )),
    }
}

/// It took the last nudges but did not do its work: nudges follow at growing intervals, then the operator is
/// notified.
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
            format!("it took {nudged} nudges, but its work is still pending"),
        ));
    }
    let wait_ms = case.policy.nudge_wait_ms.saturating_mul(1 << nudged.min(16)).min(SELDOM_MOST_MS);
    let ago = case.sight().age_of(case.state.typed_at_ms?);
    (ago < wait_ms).then(|| {
        Choice::nothing(format!(
            "it took a nudge {} ago; the next one follows after {}",
            span(ago),
            span(wait_ms)
        ))
    })
}

/// No text could be typed for the time of a nudge and a wake together: the operator must look at the terminal.
fn blocked(case: &AgentCase) -> Option<Choice> {
    let ago = case.sight().age_of(case.state.blocked_since_ms?);
    let patience_ms = case.policy.nudge_wait_ms.saturating_add(case.policy.wake_wait_ms);
    (ago >= patience_ms).then(|| {
        Choice::escalate(
            case,
            TroubleKind::Blocked,
            "work pending, but no text can be typed into its terminal: check its screen",
        )
    })
}

/// An agent that shows work in progress gets nudges only.
fn thinks(case: &AgentCase) -> Option<Choice> {
    case.sight().is_thinking().then(|| {
        Choice::nothing(format!(
            "its screen shows work in progress; no step until it shows nothing new for {}",
            span(case.policy.thinking_ms)
        ))
    })
}

/// The agent hangs, by all available evidence.
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
        Step::Nothing | Step::Start | Step::Nudge => {
            Choice::of(Step::Nudge, format!("{HUNG}; first a nudge"))
        }
        Step::Wake => Choice::of(Step::Wake, format!("{HUNG}; a nudge did not help")),
        Step::Interrupt | Step::Restart | Step::Escalate if !is_ours => Choice::escalate(
            case,
            TroubleKind::Foreign,
            format!("{HUNG}; Ostler did not create its session, so the operator must act"),
        ),
        Step::Interrupt | Step::Restart | Step::Escalate if !can_see => Choice::escalate(
            case,
            TroubleKind::Unseen,
            format!("{HUNG}; it cannot be observed, so the operator must act"),
        ),
        Step::Interrupt | Step::Restart | Step::Escalate if !may_end(case) => {
            let why =
                "it has neither a profile nor a heartbeat, so it may be well: check its screen";
            Choice::escalate(case, TroubleKind::Blocked, format!("silent, work pending; {why}"))
        }
        Step::Interrupt => Choice::of(Step::Interrupt, format!("{HUNG}; a wake did not help")),
        Step::Restart => restart(case, format!("{HUNG}; {}", tried(case))),
        Step::Escalate => {
            Choice::escalate(case, TroubleKind::Hung, format!("{HUNG}; a restart did not help"))
        }
    }
}

/// The agent reports that it is stuck, so a nudge has no use. With pending work it is interrupted and then restarted;
/// without, the operator is notified.
pub(super) fn stuck(case: &AgentCase) -> Choice {
    let why = case.seen.declared.as_ref().map_or("", |said| said.reason.as_str());
    let says = format!("it reports that it is stuck ({why})");
    let is_ours = case.seen.session == SessionSeen::Alive;
    if !is_ours || !case.sight().has_work() || !case.sight().can_see() {
        return Choice::escalate(
            case,
            TroubleKind::Stuck,
            format!("{says}; the operator must act"),
        );
    }
    let first = if case.seen.can_interrupt { Step::Interrupt } else { Step::Wake };
    let rung = match &case.state.rung {
        None => return Choice::of(first, format!("{says}, work pending")),
        Some(rung) => rung,
    };
    if let Some(wait) = verified(case, rung) {
        return wait;
    }
    match after(case, rung) {
        Step::Nothing | Step::Start | Step::Nudge | Step::Wake | Step::Interrupt => {
            Choice::of(first, format!("{says}, work pending"))
        }
        Step::Restart => restart(case, format!("{says}; {}", tried(case))),
        Step::Escalate => {
            Choice::escalate(case, TroubleKind::Stuck, format!("{says}; a restart did not help"))
        }
    }
}

/// While the last rung has its time, no other step follows.
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
            "the last step was {} {} ago; it has {} to take effect",
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
        Some(Step::Interrupt) => "an interrupt did not help",
        Some(_) | None => "a wake did not help",
    }
}

fn is_restartable(case: &AgentCase) -> bool {
    case.seen.session == SessionSeen::Alive && case.sight().can_see() && may_end(case)
}

/// Whether more than its silence says that it hangs.
pub(super) fn may_end(case: &AgentCase) -> bool {
    case.sight().is_known() || case.sight().is_stuck()
}

/// The restart, unless a guard prevents it.
fn restart(case: &AgentCase, reason: String) -> Choice {
    gone::crash_loop(case)
        .or_else(|| gone::cooling(case))
        .or_else(|| gone::backing_off(case))
        .unwrap_or_else(|| Choice::of(Step::Restart, reason))
}

/// Triage answered `nothing`, which it may do a few times in a row.
fn held(case: &AgentCase) -> Option<Choice> {
    let ago = case.sight().age_of(case.state.held_at_ms?);
    (ago < case.policy.hold_ms && case.state.held <= HELD_MOST).then(|| {
        Choice::nothing(format!("{HUNG}; triage held the next step back {} ago", span(ago)))
    })
}

/// Whether a restart is allowed now. Triage needs it to go one rung further.
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
