//! Turns observations into decisions: the core decides, and triage is asked if a signal tripped.

use crate::boot::{self, TriageGate};
use crate::connection::{Connection, Connector};
use crate::error::PatrolError;
use crate::observe::{self, AgentObservation, Snapshot};
use crate::orders;
use crate::plan::Plan;
use crate::triage::{self, TriageInput};
use ostler_core::patrol;
use ostler_model::{
    Decision, Edge as TroubleEdge, PatrolMemory, PatrolNote, PatrolOrders, PatrolState,
    TriageAnswer, TriageSpec, WatchSpec, WatchState, What,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One agent, judged without triage.
#[derive(Clone, Debug)]
pub struct Judged {
    pub agent: WatchSpec,
    pub sight: AgentObservation,
    /// The state with the observation folded in.
    pub state: WatchState,
    pub mechanical: Decision,
}

/// All agents and the patrol's state, as they are now.
pub struct Judgement {
    pub judged: Vec<Judged>,
    pub memory: PatrolMemory,
    pub town: PatrolState,
    pub orders: PatrolOrders,
    /// The edge of a mass death: many agents died at once, or that is over.
    pub mass_death: TroubleEdge,
    /// The edge of a tmux failure: tmux does not answer, or answers again.
    pub unreachable: TroubleEdge,
}

/// Observes the agents and lets the core decide. It acts on nothing and saves nothing.
pub fn judge(
    connector: &Connector,
    connection: &mut Connection,
    plan: &Plan,
    only: Option<&str>,
    now_ms: u64,
) -> Result<Judgement, PatrolError> {
    let memory = connection.memory()?;
    let orders = orders::in_force(&plan.town, &memory.orders, now_ms);
    let Snapshot { sights, unreachable } =
        observe::all(connector, connection, plan, &memory, only, now_ms)?;
    let policy = &plan.spec.policy;
    let mut town = memory.town.clone();
    patrol::begin_tick(&mut town, plan.spec.tick_ms, policy, now_ms);
    // Agents that are not observed now keep their state.
    let mut states = memory.states.clone();
    states.retain(|name, _| plan.find(name).is_some());
    for sight in &sights {
        let Some(agent) = plan.find(&sight.seen.agent) else { continue };
        let state = states.entry(agent.name.clone()).or_default();
        patrol::look(state, &sight.seen, agent, policy, &orders, now_ms);
        state.cpu.clone_from(&sight.cpu);
    }
    let mass_death = patrol::mass_death(&mut town, &states, policy, &orders, now_ms);
    // The server of one agent says nothing about the servers of the others.
    let unreachable = match only {
        None => patrol::unreachable(&mut town, unreachable.as_deref(), &orders, now_ms),
        Some(_) => TroubleEdge::None,
    };
    let mut judged = Vec::new();
    for sight in sights {
        let Some(agent) = plan.find(&sight.seen.agent).cloned() else { continue };
        let state = states.get(&agent.name).cloned().unwrap_or_default();
        let mechanical =
            patrol::decide(&sight.seen, &state, &agent, policy, &town, &orders, now_ms);
        judged.push(Judged { agent, sight, state, mechanical });
    }
    Ok(Judgement { judged, memory, town, orders, mass_death, unreachable })
}

/// What triage would be asked, and the decision without it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    pub agent: String,
    pub mechanical: Decision,
    /// The command that would run, or why none would.
    #[serde(serialize_with = "either")]
    pub asks: Result<String, String>,
    pub document: Value,
}

fn either<S: serde::Serializer>(asks: &Result<String, String>, to: S) -> Result<S::Ok, S::Error> {
    match asks {
        Ok(command) => json!({ "command": command }).serialize(to),
        Err(why) => json!({ "not": why }).serialize(to),
    }
}

/// Only shows; it changes nothing.
pub fn would_ask(
    connector: &Connector,
    plan: &Plan,
    only: Option<&str>,
) -> Result<Vec<Question>, PatrolError> {
    let now_ms = ostler_os::wall_ms();
    let judgement = judge(connector, &mut connector.open()?, plan, only, now_ms)?;
    let question = |judged: &Judged| Question {
        agent: judged.agent.name.clone(),
        mechanical: judged.mechanical.clone(),
        asks: may_ask(plan, judged, &judgement.town, now_ms).map(|spec| spec.argv.join(" ")),
        document: serde_json::to_value(document(judged)).unwrap_or_default(),
    };
    Ok(judgement.judged.iter().map(question).collect())
}

/// The triage command, if it may be asked about this agent.
pub fn may_ask<'a>(
    plan: &'a Plan,
    judged: &Judged,
    town: &PatrolState,
    now_ms: u64,
) -> Result<&'a TriageSpec, String> {
    let spec = plan.spec.triage.as_ref().ok_or("no triage is declared")?;
    if !patrol::trips(&judged.mechanical) {
        return Err("no signal tripped".to_owned());
    }
    patrol::may_ask(spec, &judged.state, town, now_ms).map_err(|why| why.to_string())?;
    Ok(spec)
}

fn document(judged: &Judged) -> TriageInput<'_> {
    TriageInput {
        version: triage::VERSION,
        agent: &judged.agent,
        observation: &judged.sight.seen,
        mechanical: &judged.mechanical,
        recent: &judged.state.acted,
        actions: triage::ACTIONS,
    }
}

/// The result of triage.
pub struct TriageResult {
    pub decision: Decision,
    /// The text that the agent gets instead of the usual one.
    pub message: Option<String>,
    pub note: PatrolNote,
}

/// Asks triage. There is a decision in any case.
pub fn ask(
    connector: &Connector,
    plan: &Plan,
    spec: &TriageSpec,
    judged: &Judged,
    town: &PatrolState,
    orders: &PatrolOrders,
    now_ms: u64,
) -> TriageResult {
    let begun_ms = ostler_os::wall_ms();
    let marker = match boot::begin(&plan.town, begun_ms) {
        Ok(TriageGate::Now(marker)) => Some(marker),
        Ok(TriageGate::Running) => return degraded(judged, "another triage is running"),
        // The marker is for other tools: a failure to write it must not stop the judging.
        Err(_) => None,
    };
    let answered = triage::ask(connector, spec, &document(judged));
    let received = match answered {
        Ok(answered) => {
            let answer = TriageAnswer { step: answered.action, reason: answered.reason.clone() };
            let case = patrol::AgentCase {
                seen: &judged.sight.seen,
                state: &judged.state,
                watch: &judged.agent,
                policy: &plan.spec.policy,
                town,
                orders,
                now_ms,
            };
            let decision = patrol::admit(&answer, &judged.mechanical, &case);
            let description = format!("triage answered {}: {}", answered.action, answered.reason);
            let note = note(judged, &description, json!({ "answer": answered.action }));
            TriageResult { decision, message: answered.message, note }
        }
        Err(why) => degraded(judged, &why),
    };
    drop(marker);
    received
}

fn degraded(judged: &Judged, why: &str) -> TriageResult {
    let decision = patrol::degraded(&judged.mechanical, why);
    let note = note(judged, &format!("{why}: using the mechanical decision"), json!({}));
    TriageResult { decision, message: None, note }
}

fn note(judged: &Judged, why: &str, beside: Value) -> PatrolNote {
    let mut evidence = Map::new();
    if let Value::Object(beside) = beside {
        evidence.extend(beside);
    }
    let observation = serde_json::to_value(&judged.sight.seen).unwrap_or_default();
    evidence.insert("observation".to_owned(), observation);
    let mechanical = serde_json::to_value(&judged.mechanical).unwrap_or_default();
    evidence.insert("mechanical".to_owned(), mechanical);
    PatrolNote {
        unit: Some(judged.agent.name.clone()),
        what: What::TriageAsked,
        why: why.to_owned(),
        evidence,
    }
}
