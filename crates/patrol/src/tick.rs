//! One tick of the patrol. It observes and judges all agents, then carries out the decisions. Each action runs on its
//! own thread, so that a slow action delays no other. Then the tick saves its state and reports.
//!
//! ```text
//!   lock ─► observe all ─► core decides ─┬─► triage, act        one thread per agent that needs action
//!                                        ├─► pending spawns
//!                                        └─► lifecycle requests
//!                                            all joined ─► save ─► journal, files ─► unlock
//! ```
//!
//! Every step has its own time limit: tmux answers within its limit or its state counts as unknown, a command has its
//! timeout, a session has its time to settle. Two ticks never overlap: the second one finds the lock taken.

use crate::act::{self, Done};
use crate::boot;
use crate::connection::Connector;
use crate::error::PatrolError;
use crate::escalate::{self, Edge, Escalation};
use crate::files;
use crate::judge::{self, Judged, Judgement};
use crate::nudge::{Patience, deliver_waiting};
use crate::plan::Plan;
use crate::{lifecycle, report, spawns};
use ostler_core::patrol;
use ostler_model::{
    DecidedBy, Decision, Edge as TroubleEdge, Observation, PatrolNote, PatrolOrders, PatrolSave,
    PatrolState, PendingSeen, SessionSeen, Step, StepOutcome, TroubleKind, WatchState, What,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

/// How long a manual tick waits for a running tick to finish.
const LOCK_PATIENCE_MS: u64 = 5_000;
const LOCK_STEP: Duration = Duration::from_millis(20);

/// Which part of the tick runs, and how.
#[derive(Clone, Debug, Default)]
pub struct TickOptions {
    /// Only this agent.
    pub only: Option<String>,
    /// Do not ask triage.
    pub is_degraded: bool,
    /// Judge agents and act on them, but skip the rest of the tick.
    pub is_triage_alone: bool,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TickReport {
    pub at_ms: u64,
    pub took_ms: u64,
    pub tmux_processes: u64,
    pub agents: Vec<AgentTick>,
    /// Other actions of this tick.
    pub others: Vec<String>,
}

/// The result of a tick for one agent.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentTick {
    pub agent: String,
    pub decision: Decision,
    pub outcome: String,
    /// The decision is the same as at the previous tick.
    pub is_repeated: bool,
}

impl AgentTick {
    /// True if the tick did something, or the decision changed.
    pub fn is_news(&self) -> bool {
        !self.is_repeated
    }

    pub fn description(&self) -> String {
        let Decision { step, reason, .. } = &self.decision;
        match step {
            Step::Nothing => format!("{}: no action ({reason})", self.agent),
            _ => format!("{}: {step} ({reason}): {}", self.agent, sentence(&self.outcome)),
        }
    }
}

/// Makes `text` a sentence: a capital letter first, a full stop last.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}

/// The result of one agent's thread.
struct Dealt {
    name: String,
    state: WatchState,
    tick: AgentTick,
    notes: Vec<PatrolNote>,
    seen: Observation,
}

pub fn tick(
    connector: &Connector,
    plan: &Plan,
    how: &TickOptions,
) -> Result<TickReport, PatrolError> {
    let _lock = lock(plan)?;
    let begun = ostler_os::mono_ms();
    let processes = ostler_tmux::processes_started();
    let now_ms = ostler_os::wall_ms();
    let mut connection = connector.open()?;
    let Judgement { judged, mut memory, mut town, orders, mass_death, unreachable } =
        judge::judge(connector, &mut connection, plan, how.only.as_deref(), now_ms)?;
    if how.is_triage_alone {
        // This is not a real tick: silence is measured from the last real one.
        town.ticks = memory.town.ticks;
        town.last_tick_ms = memory.town.last_tick_ms;
    }
    let asked = Mutex::new(town);
    let mut others = Vec::new();
    let mut notes = Vec::new();
    let mut dealt = Vec::new();
    std::thread::scope(|scope| {
        let spawned = (!how.is_triage_alone && orders.stopped.is_none() && orders.paused.is_none())
            .then(|| {
                scope.spawn(|| {
                    let mut connection = connector.open()?;
                    spawns::pending(connector, &mut connection, plan, &memory.orders, now_ms)
                })
            });
        let requests =
            (!how.is_triage_alone && orders.stopped.is_none() && orders.paused.is_none())
                .then(|| scope.spawn(|| lifecycle::requests(&mut connector.open()?, plan, now_ms)));
        let threads: Vec<_> = judged
            .iter()
            .map(|judged| {
                let (asked, orders) = (&asked, &orders);
                if is_quiet(judged) {
                    return Err(judged);
                }
                Ok(scope.spawn(move || deal(connector, plan, how, judged, asked, orders, now_ms)))
            })
            .collect();
        for thread in threads {
            match thread {
                Err(judged) => dealt.push(quiet(plan, judged, now_ms)),
                Ok(thread) => dealt.extend(thread.join()),
            }
        }
        for step in [spawned, requests].into_iter().flatten() {
            match step.join() {
                Ok(Ok(done)) => notes.extend(done),
                Ok(Err(error)) => others.push(format!("part of the tick failed: {error}")),
                Err(_) => others.push("part of the tick failed".to_owned()),
            }
        }
    });
    others.extend(notes.iter().map(|note| note.why.clone()));
    let mut town = asked.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    notes.extend(print_all(
        connector,
        plan,
        &mut town,
        [mass_death, unreachable],
        &mut dealt,
        now_ms,
    ));
    let mut states = BTreeMap::new();
    let mut agents = Vec::new();
    for one in dealt {
        notes.extend(one.notes);
        files::log(&plan.town, &one.tick.description());
        states.insert(one.name, one.state);
        agents.push(one.tick);
    }
    memory.states.extend(states.clone());
    memory.town.clone_from(&town);
    connection.save(PatrolSave { states, town })?;
    connection.note(notes)?;
    let patrol_pid = connection.patrol_pid();
    if let Err(error) = report::write(plan, &memory, patrol_pid, now_ms) {
        others.push(error.to_string());
    }
    if let Err(error) = write_status(plan, &agents, now_ms) {
        others.push(error.to_string());
    }
    Ok(TickReport {
        at_ms: now_ms,
        took_ms: ostler_os::mono_ms() - begun,
        tmux_processes: ostler_tmux::processes_started() - processes,
        agents,
        others,
    })
}

/// Gas Town's status file holds the gravest decision of the tick, mechanical or by triage.
fn write_status(plan: &Plan, agents: &[AgentTick], begun_ms: u64) -> Result<(), PatrolError> {
    let Some(gravest) = agents.iter().rev().max_by_key(|tick| tick.decision.step) else {
        return Ok(());
    };
    let Decision { step, reason, by, .. } = &gravest.decision;
    let degraded = match by {
        DecidedBy::Degraded(why) => Some(why.as_str()),
        DecidedBy::Mechanical | DecidedBy::Triage => None,
    };
    let target = &gravest.agent;
    let report = boot::Report { begun_ms, target, step: *step, reason, degraded };
    boot::write_status(&plan.town, ostler_os::wall_ms(), &report)
}

/// Writes the pid file by which Gas Town's tools see that a patrol runs.
pub fn note_running(plan: &Plan) {
    let _ = files::write(&plan.town.pid(), format!("{}\n", std::process::id()).as_bytes());
}

pub(crate) fn lock(plan: &Plan) -> Result<ostler_os::HomeLock, PatrolError> {
    let path = plan.home.join("patrol.lock");
    let until = ostler_os::mono_ms() + LOCK_PATIENCE_MS;
    loop {
        let failed = |source| PatrolError::File { path: path.clone(), source };
        if let Some(lock) = ostler_os::take_lock(&path).map_err(failed)? {
            return Ok(lock);
        }
        if ostler_os::mono_ms() >= until {
            return Err(PatrolError::Overlapping { lock: path });
        }
        ostler_os::nap(LOCK_STEP);
    }
}

fn has_waiting_nudges(judged: &Judged) -> bool {
    let is_there = judged.sight.seen.session == SessionSeen::Alive;
    is_there && matches!(judged.sight.seen.pending, PendingSeen::Work { nudges, .. } if nudges > 0)
}

fn is_quiet(judged: &Judged) -> bool {
    judged.mechanical.step == Step::Nothing && !has_waiting_nudges(judged)
}

/// Records that the tick does nothing for this agent.
fn quiet(plan: &Plan, judged: &Judged, now_ms: u64) -> Dealt {
    let done = Done { outcome: StepOutcome::Done, description: "no action".to_owned() };
    finish(plan, judged, judged.state.clone(), judged.mechanical.clone(), done, Vec::new(), now_ms)
}

fn deal(
    connector: &Connector,
    plan: &Plan,
    how: &TickOptions,
    judged: &Judged,
    town: &Mutex<PatrolState>,
    orders: &PatrolOrders,
    now_ms: u64,
) -> Dealt {
    let mut state = judged.state.clone();
    let mut decision = judged.mechanical.clone();
    let mut notes = Vec::new();
    let mut words = None;
    if !how.is_degraded {
        let spec = {
            let mut town = town.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let spec = judge::may_ask(plan, judged, &town, now_ms);
            if spec.is_ok() {
                patrol::asked(&mut state, &mut town, now_ms);
            }
            spec
        };
        if let Ok(spec) = spec {
            let town = {
                let town = town.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                town.clone()
            };
            let received = judge::ask(connector, plan, spec, judged, &town, orders, now_ms);
            decision = received.decision;
            words = received.message;
            notes.push(received.note);
        }
    }
    if decision.step == Step::Nudge && judged.state.limited_until_ms.is_some() {
        words = Some(act::LIMIT_OVER.to_owned());
    }
    let mut done = {
        let seen = &judged.sight.seen;
        act::act(connector, plan, &judged.agent, &decision, seen, words.as_deref())
    };
    if decision.step == Step::Nothing && has_waiting_nudges(judged) {
        done.description = match deliver_waiting(connector, &judged.agent.name, Patience::None) {
            Ok(typed) => format!("handled {} queued messages", typed.len()),
            Err(error) => format!("its messages stay queued: {error}"),
        };
    }
    // The screen shows the typed text by now, so any later change comes from the agent.
    let done_ms = ostler_os::wall_ms().max(now_ms);
    finish(plan, judged, state, decision, done, notes, done_ms)
}

fn finish(
    plan: &Plan,
    judged: &Judged,
    mut state: WatchState,
    decision: Decision,
    done: Done,
    mut notes: Vec<PatrolNote>,
    now_ms: u64,
) -> Dealt {
    let before = judged.state.acted.first();
    let is_repeated = decision.step == Step::Nothing
        && before.is_some_and(|last| {
            last.step == Step::Nothing && gist(&last.reason) == gist(&decision.reason)
        });
    let seen = judged.sight.seen.clone();
    // An escalation counts as done only after a person is notified.
    if decision.step != Step::Escalate {
        patrol::acted(&mut state, &decision, &done.outcome, &seen, &plan.spec.policy, now_ms);
    }
    if !is_repeated {
        let what =
            if decision.step == Step::Nothing { What::PatrolDecided } else { What::PatrolActed };
        let why = match decision.step {
            Step::Nothing => format!("no action ({})", decision.reason),
            step => format!("{step} ({}): {}", decision.reason, sentence(&done.description)),
        };
        notes.push(PatrolNote {
            unit: Some(judged.agent.name.clone()),
            what,
            why,
            evidence: evidence(judged, &decision),
        });
    }
    let agent = judged.agent.name.clone();
    let tick = AgentTick { agent: agent.clone(), decision, outcome: done.description, is_repeated };
    Dealt { name: agent, state, tick, notes, seen }
}

/// A reason without its times: a shorter remaining wait is not a change.
fn gist(reason: &str) -> Vec<&str> {
    let is_time = |word: &str| {
        let word = word.trim_end_matches([',', '.', ';']);
        matches!(word, "ms" | "s" | "min" | "h") || word.parse::<u64>().is_ok()
    };
    reason.split_whitespace().filter(|word| !is_time(word)).collect()
}

/// All inputs of the decision, so that a reader of the journal can understand it later.
fn evidence(judged: &Judged, decision: &Decision) -> Map<String, Value> {
    let mut evidence = decision.evidence.clone();
    let by = serde_json::to_value(&decision.by).unwrap_or_default();
    evidence.insert("by".to_owned(), by);
    let seen = serde_json::to_value(&judged.sight.seen).unwrap_or_default();
    evidence.insert("observation".to_owned(), seen);
    evidence
}

/// Notifies a person when a condition begins and when it ends. All notifications run at once, because a hook may be
/// slow. A notification that fails is repeated at the next tick.
fn print_all(
    connector: &Connector,
    plan: &Plan,
    town: &mut PatrolState,
    of_town: [TroubleEdge; 2],
    dealt: &mut [Dealt],
    now_ms: u64,
) -> Vec<PatrolNote> {
    let policy = &plan.spec.policy;
    let describe_town = std::thread::scope(|scope| {
        let of_town = of_town.map(|edge| {
            scope.spawn(move || {
                let description = report_edge(connector, plan, None, &edge, Map::new());
                (edge, description)
            })
        });
        for one in dealt.iter_mut() {
            let decision = &one.tick.decision;
            let edge = patrol::escalation(&mut one.state, decision, &one.seen, policy, now_ms);
            if edge != TroubleEdge::None || decision.step == Step::Escalate {
                scope.spawn(move || describe(connector, plan, one, &edge, now_ms));
            }
        }
        of_town.map(|description| description.join())
    });
    let mut notes = Vec::new();
    for (edge, description) in describe_town.into_iter().flatten() {
        let Some((is_reported, mut note)) = description else { continue };
        if let TroubleEdge::Begin(begun) = edge {
            let open = [&mut town.mass_death, &mut town.unreachable];
            for trouble in open.into_iter().flatten().filter(|open| open.what == begun.what) {
                trouble.is_reported = is_reported;
            }
            if begun.what == TroubleKind::MassDeath {
                note.what = What::MassDeath;
            }
        }
        notes.push(note);
    }
    notes
}

fn describe(
    connector: &Connector,
    plan: &Plan,
    dealt: &mut Dealt,
    edge: &TroubleEdge,
    now_ms: u64,
) {
    let decision = dealt.tick.decision.clone();
    let description =
        report_edge(connector, plan, Some(&dealt.name), edge, decision.evidence.clone());
    if decision.step == Step::Escalate {
        let outcome = match &description {
            Some((true, note)) => {
                dealt.tick.outcome.clone_from(&note.why);
                StepOutcome::Done
            }
            Some((false, note)) => StepOutcome::Failed(note.why.clone()),
            None => StepOutcome::Done,
        };
        let policy = &plan.spec.policy;
        patrol::acted(&mut dealt.state, &decision, &outcome, &dealt.seen, policy, now_ms);
    }
    dealt.notes.extend(description.map(|(_, note)| note));
}

fn report_edge(
    connector: &Connector,
    plan: &Plan,
    agent: Option<&str>,
    edge: &TroubleEdge,
    evidence: Map<String, Value>,
) -> Option<(bool, PatrolNote)> {
    let (edge, trouble) = match edge {
        TroubleEdge::None => return None,
        TroubleEdge::Begin(trouble) => (Edge::Begins, trouble),
        TroubleEdge::End(trouble) => (Edge::Over, trouble),
    };
    let kind = serde_json::to_value(trouble.what).unwrap_or_default();
    let kind = kind.as_str().unwrap_or_default();
    let escalation =
        Escalation { edge, agent, kind, why: &trouble.why, since_ms: trouble.since_ms, evidence };
    Some(escalate::notify(connector, plan, &escalation))
}
