//! When triage may be asked, and which answers are accepted.
//!
//! Triage may choose a gentler step than the ladder, or one rung further if the evidence is complete. It may not end
//! an agent that is idle, unknown, foreign or active, nor override a cooldown or a guard. It may hold the ladder back
//! only a few times in a row, because an agent must not hang for days while triage keeps answering `nothing`.

use super::asking;
use super::case::AgentCase;
use super::ladder::{may_end, may_restart, word};
use super::town::day;
use ostler_model::{
    DecidedBy, Decision, PatrolState, SessionHealth, SessionSeen, Step, TriageAnswer, TriageSpec,
    TroubleKind, WatchState,
};
use serde_json::json;
use std::fmt;

/// The most times in a row that triage may answer `nothing` for an agent.
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
    /// Triage has used up its `nothing` answers for this agent.
    Held,
}

impl fmt::Display for TriageSkipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TriageSkipped::Cooldown { left_ms } => {
                write!(
                    f,
                    "it was asked about this agent recently; next time in {} s",
                    left_ms / 1_000
                )
            }
            TriageSkipped::Budget { asked } => {
                write!(f, "its daily budget of {asked} calls is used")
            }
            TriageSkipped::Held => {
                write!(f, "it has held the next step back {HELD_MOST} times in a row")
            }
        }
    }
}

/// Whether an opinion is worth its cost: an agent is about to be woken, interrupted or restarted, or is active
/// without end. Not for agents that are clearly dead, clearly healthy, or only nudged.
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

/// Called before the question. The record comes before the answer, so that a crash in between does not ask twice.
pub fn asked(state: &mut WatchState, town: &mut PatrolState, now_ms: u64) {
    town.triage_asked = asked_today(town, now_ms).saturating_add(1);
    town.triage_day = day(now_ms);
    state.triage_at_ms = Some(now_ms);
}

/// A day in the future counts as today, so that setting the clock back does not renew the budget.
fn asked_today(town: &PatrolState, now_ms: u64) -> u32 {
    if town.triage_day < day(now_ms) { 0 } else { town.triage_asked }
}

/// The mechanical decision, when triage should have decided but did not.
pub fn degraded(mechanical: &Decision, why: &str) -> Decision {
    Decision { by: DecidedBy::Degraded(why.to_owned()), ..mechanical.clone() }
}

/// Accepts or refuses an answer.
pub fn admit(answer: &TriageAnswer, mechanical: &Decision, case: &AgentCase) -> Decision {
    if let Err(refusal) = admissible(answer.step, mechanical, case) {
        let description = format!("triage wanted {}: {refusal}", word(answer.step));
        let mut decision = degraded(mechanical, &description);
        decision.reason = format!("{}; {description}", mechanical.reason);
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
        return Err(format!("no action is due ({})", mechanical.reason));
    }
    match mechanical.health {
        SessionHealth::SessionDead | SessionHealth::AgentDead => {
            return Err("a dead agent is always started".to_owned());
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
            Some(open) if open.is_reported => Err("the operator is already notified".to_owned()),
            Some(_) | None => Ok(()),
        },
        Step::Nudge | Step::Wake | Step::Interrupt | Step::Restart => {
            let due = force(mechanical.step);
            if force(step) <= due { Ok(()) } else { further(step, due, mechanical, case) }
        }
    }
}

/// Checks a step one rung beyond the one that is due.
fn further(step: Step, due: u8, mechanical: &Decision, case: &AgentCase) -> Result<(), String> {
    if force(step) > due + 1 {
        return Err(format!("it is more than one rung beyond {}", word(mechanical.step)));
    }
    if force(step) <= force(Step::Wake) {
        return Ok(());
    }
    if mechanical.step == Step::Escalate {
        return Err("the operator must decide".to_owned());
    }
    if case.seen.session != SessionSeen::Alive {
        return Err("Ostler did not create its session".to_owned());
    }
    if mechanical.health != SessionHealth::AgentHung {
        return Err("it is not certain that it hangs".to_owned());
    }
    if case.state.rung.is_none() {
        return Err("it has not been nudged yet".to_owned());
    }
    if !may_end(case) {
        return Err("it has neither a profile nor a heartbeat, so it may be well".to_owned());
    }
    if case.sight().is_thinking() {
        return Err("its screen shows work in progress".to_owned());
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
        // When the operator is notified, nothing stronger than text is allowed.
        Step::Wake | Step::Escalate => 2,
        Step::Interrupt => 3,
        Step::Restart => 4,
    }
}
