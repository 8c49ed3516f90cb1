//! Who may be asked, and what of an answer is heeded.
//!
//! Triage may be gentler than the ladder, or go one rung further where the evidence is complete. It may not end what
//! is idle, unknown, not ours or moving, nor pass a cooldown or a guard. And it may hold the ladder back only a few
//! times in a row, because an agent that hangs for days while everybody looks at it is what this is here to prevent.

use super::asking;
use super::case::AgentCase;
use super::ladder::{may_restart, word};
use super::town::day;
use ostler_model::{
    DecidedBy, Decision, PatrolState, SessionHealth, SessionSeen, Step, TriageAnswer, TriageSpec,
    TroubleKind, WatchState,
};
use serde_json::json;
use std::fmt;

/// So often in a row it may say that nothing is to be done.
pub const HELD_MOST: u32 = 3;

/// Why triage is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriageSkipped {
    Cooldown {
        left_ms: u64,
    },
    Budget {
        asked: u32,
    },
    /// It has held this agent's ladder back as often as it may.
    Held,
}

impl fmt::Display for TriageSkipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TriageSkipped::Cooldown { left_ms } => {
                write!(f, "it was asked about this agent, and not again for {} s", left_ms / 1_000)
            }
            TriageSkipped::Budget { asked } => {
                write!(f, "it was asked {asked} times today, which is all")
            }
            TriageSkipped::Held => {
                write!(f, "it has held the ladder back {HELD_MOST} times in a row")
            }
        }
    }
}

/// A signal tripped on which an opinion is worth its cost: an agent that is about to be woken, interrupted or restarted, or
/// that moves without end. Not for what is plainly dead, plainly well, or only nudged.
pub fn trips(decision: &Decision) -> bool {
    match (decision.step, decision.health) {
        (Step::Nothing | Step::Start | Step::Nudge, _) => false,
        (Step::Wake | Step::Interrupt, _) => true,
        (Step::Restart, health) => health == SessionHealth::AgentHung,
        (Step::Escalate, health) => {
            decision.trouble == Some(TroubleKind::Stalled)
                || (health == SessionHealth::AgentHung
                    && decision.trouble == Some(TroubleKind::Hung))
        }
    }
}

pub fn may_ask(
    spec: &TriageSpec,
    state: &WatchState,
    town: &PatrolState,
    now_ms: u64,
) -> Result<(), TriageSkipped> {
    if state.held >= HELD_MOST {
        return Err(TriageSkipped::Held);
    }
    if let Some(at) = state.triage_at_ms {
        let ago = now_ms.saturating_sub(at);
        if ago < spec.cooldown_ms {
            return Err(TriageSkipped::Cooldown { left_ms: spec.cooldown_ms - ago });
        }
    }
    let asked = asked_today(town, now_ms);
    if asked >= spec.daily_budget { Err(TriageSkipped::Budget { asked }) } else { Ok(()) }
}

/// It is about to be asked. Remembered before the answer, so that a crash in between costs no second one.
pub fn asked(state: &mut WatchState, town: &mut PatrolState, now_ms: u64) {
    town.triage_asked = asked_today(town, now_ms).saturating_add(1);
    town.triage_day = day(now_ms);
    state.triage_at_ms = Some(now_ms);
}

/// A day that is yet to come is today: setting the clock back buys nothing.
fn asked_today(town: &PatrolState, now_ms: u64) -> u32 {
    if town.triage_day < day(now_ms) { 0 } else { town.triage_asked }
}

/// The decision when triage was to decide and did not.
pub fn degraded(mechanical: &Decision, why: &str) -> Decision {
    Decision { by: DecidedBy::Degraded(why.to_owned()), ..mechanical.clone() }
}

/// What becomes of an answer.
pub fn admit(answer: &TriageAnswer, mechanical: &Decision, case: &AgentCase) -> Decision {
    if let Err(refusal) = admissible(answer.step, mechanical, case) {
        let description = format!("Triage wanted {}: {refusal}.", word(answer.step));
        let mut decision = degraded(mechanical, &description);
        decision.reason = format!("{} {description}", mechanical.reason);
        return decision;
    }
    let mut evidence = mechanical.evidence.clone();
    evidence.insert("mechanical".to_owned(), json!(mechanical.step));
    Decision {
        step: answer.step,
        reason: answer.reason.clone(),
        by: DecidedBy::Triage,
        trouble: (answer.step == Step::Escalate)
            .then(|| mechanical.trouble.unwrap_or(TroubleKind::Hung)),
        evidence,
        health: mechanical.health,
        freshness: mechanical.freshness,
    }
}

fn admissible(step: Step, mechanical: &Decision, case: &AgentCase) -> Result<(), String> {
    if step == mechanical.step {
        return Ok(());
    }
    if mechanical.step == Step::Nothing {
        return Err(format!("there is nothing to do ({})", mechanical.reason));
    }
    match mechanical.health {
        SessionHealth::SessionDead | SessionHealth::AgentDead => {
            return Err("a dead agent is started, whatever it looks like".to_owned());
        }
        SessionHealth::Healthy | SessionHealth::AgentHung | SessionHealth::Unknown => {}
    }
    let types = matches!(step, Step::Nudge | Step::Wake | Step::Interrupt | Step::Restart);
    if types && asking::asks(case).is_some() {
        return Err("its screen waits for a person".to_owned());
    }
    if step == Step::Interrupt && !case.seen.can_interrupt {
        return Err("Ctrl-C is not known to interrupt it".to_owned());
    }
    match step {
        Step::Nothing => Ok(()),
        Step::Start => Err("it is running".to_owned()),
        Step::Escalate => match &case.state.condition {
            Some(open) if open.is_reported => Err("a person has been told".to_owned()),
            Some(_) | None => Ok(()),
        },
        Step::Nudge | Step::Wake | Step::Interrupt | Step::Restart => {
            let due = force(mechanical.step);
            if force(step) <= due { Ok(()) } else { further(step, due, mechanical, case) }
        }
    }
}

/// One rung beyond what is due.
fn further(step: Step, due: u8, mechanical: &Decision, case: &AgentCase) -> Result<(), String> {
    if force(step) > due + 1 {
        return Err(format!("that is more than one rung beyond {}", word(mechanical.step)));
    }
    if force(step) <= force(Step::Wake) {
        return Ok(());
    }
    if mechanical.step == Step::Escalate {
        return Err("it is for a person to say".to_owned());
    }
    if case.seen.session != SessionSeen::Alive {
        return Err("its session is not one that we made".to_owned());
    }
    if mechanical.health != SessionHealth::AgentHung {
        return Err("it is not certain that it hangs".to_owned());
    }
    if case.state.rung.is_none() {
        return Err("it has not been spoken to yet".to_owned());
    }
    if case.sight().is_thinking() {
        return Err("its screen says that it works".to_owned());
    }
    if step == Step::Restart && !may_restart(case) {
        return Err("it may not be restarted now".to_owned());
    }
    Ok(())
}

fn force(step: Step) -> u8 {
    match step {
        Step::Nothing | Step::Start => 0,
        Step::Nudge => 1,
        // Where a person is told, it is too late or too early for more than words.
        Step::Wake | Step::Escalate => 2,
        Step::Interrupt => 3,
        Step::Restart => 4,
    }
}
