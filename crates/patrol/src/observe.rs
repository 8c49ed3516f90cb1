//! Observes the agents: one query to tmux, one to the supervisor, the files, and the waiting mail. Nothing of it is
//! stored (P8).

use crate::act::SENDER;
use crate::command::{self, CommandEnd, Question};
use crate::connection::{Connection, Connector};
use crate::error::PatrolError;
use crate::heartbeat;
use crate::nudge::{Agent, book};
use crate::plan::Plan;
use crate::screen;
use crate::sessions::{self, Sessions};
use crate::shown_state;
use ostler_model::ScreenText;
use ostler_model::{
    CpuMark, Desired, MailKind, Nudge, Observation, PatrolMemory, PendingSeen, Purpose, Receipt,
    RunId, RunRecord, SessionSeen, UnitLook, UnitState, Waiting, WatchSpec, WatchState,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Lines of the screen that triage gets.
const TAIL_LINES: usize = 40;
const WORK_TIMEOUT_MS: u64 = 5_000;

/// An observation, and what is needed to act on it.
#[derive(Clone, Debug)]
pub struct AgentObservation {
    pub seen: Observation,
    pub run: Option<RunId>,
    pub cpu: Option<CpuMark>,
}

/// All agents at one moment.
pub struct Snapshot {
    pub sights: Vec<AgentObservation>,
    /// Why the state of the agents in tmux is unknown.
    pub unreachable: Option<String>,
}

/// Observes all agents, or only the named one.
pub fn all(
    connector: &Connector,
    connection: &mut Connection,
    plan: &Plan,
    memory: &PatrolMemory,
    only: Option<&str>,
    now_ms: u64,
) -> Result<Snapshot, PatrolError> {
    let agents: Vec<&WatchSpec> = plan
        .spec
        .agents
        .iter()
        .filter(|agent| only.is_none_or(|name| agent.name == name))
        .collect();
    let names: Vec<String> = agents.iter().map(|agent| agent.name.clone()).collect();
    let looks: BTreeMap<String, UnitLook> =
        connection.looks(names)?.into_iter().map(|look| (look.view.name.clone(), look)).collect();
    let runs: BTreeMap<RunId, RunRecord> =
        connection.live_runs()?.into_iter().map(|run| (run.run_id, run)).collect();
    let waiting = connection.waiting();
    let nudges = connection.nudges();
    let sessions = sessions::look(plan, &agents);
    let book = book();
    let work = works(connector, plan, &agents);
    let default = WatchState::default();
    let mut sights = Vec::new();
    for agent in agents {
        let state = memory.states.get(&agent.name).unwrap_or(&default);
        let said = memory.said.get(&agent.name).cloned().unwrap_or_default();
        let look = looks.get(&agent.name);
        let record = look.and_then(|look| look.view.run_id).and_then(|run| runs.get(&run));
        let received = heartbeat::read(agent.heartbeat.as_deref(), now_ms);
        let session = session(plan, agent, look, &sessions);
        let drawn = screen_of(connection, plan, agent, record, &sessions);
        let known = look.and_then(|look| {
            let tree = look.usage.as_ref().map(|usage| usage.tree.as_slice()).unwrap_or_default();
            let declared = look.view.profile();
            Agent::find(&book, declared, &look.view, tree)
        });
        let conversation = known.as_ref().and_then(|agent| agent.recorded().session);
        if let (Some(conversation), Some(look)) = (conversation, look)
            && look.view.agent_session.as_deref() != Some(conversation.as_str())
        {
            connection.learn_session(&agent.name, &conversation);
        }
        let shown = drawn.as_ref().map(|drawn| shown_state::shown(known.as_ref(), drawn));
        let (cpu_percent, cpu) = cpu(look, state, now_ms);
        let output_age_ms =
            record.and_then(|run| run.last_output_at_ms).map(|at| now_ms.saturating_sub(at));
        let seen = Observation {
            agent: agent.name.clone(),
            at_ms: now_ms,
            age_ms: record.and_then(|run| run.started_at_ms).map(|at| now_ms.saturating_sub(at)),
            heartbeat: received.seen,
            pending: pending(agent, &waiting, &nudges, work.get(&agent.name)),
            busy_until_ms: received.busy_until_ms.max(said.busy_until_ms),
            declared: said.declared.or(received.declared),
            output_age_ms,
            taken_age_ms: taken_age(agent, &nudges, now_ms),
            screen: shown.as_ref().map(|shown| shown.digest),
            shows: shown.as_ref().and_then(|shown| shown.agent.clone()),
            is_begun: shown.as_ref().is_some_and(|shown| shown.is_begun),
            can_interrupt: shown.as_ref().is_some_and(|shown| shown.can_interrupt),
            cpu_percent,
            processes: look.and_then(|look| look.usage.as_ref()).map(|usage| usage.processes),
            tail: drawn.map(|drawn| screen::tail(&drawn.lines, TAIL_LINES)).unwrap_or_default(),
            dead_age_ms: dead_age(look, &session, now_ms),
            wants_again: is_dead(&session) && left_word(connection, agent),
            is_wanted: look.is_some_and(|look| look.view.desired == Desired::Running),
            session,
        };
        sights.push(AgentObservation { seen, run: record.map(|run| run.run_id), cpu });
    }
    Ok(Snapshot { sights, unreachable: sessions.unreachable() })
}

fn session(
    plan: &Plan,
    agent: &WatchSpec,
    look: Option<&UnitLook>,
    sessions: &Sessions,
) -> SessionSeen {
    let Some(look) = look else {
        return SessionSeen::Unknown("the supervisor does not know it; run `ostler up`".to_owned());
    };
    match look.view.state {
        UnitState::Starting | UnitState::Stopping | UnitState::Waiting => {
            return SessionSeen::Unknown(format!("it is {}", look.view.state));
        }
        UnitState::Suspended => return SessionSeen::Asleep(look.view.why.clone()),
        UnitState::Queued => {
            return SessionSeen::Unknown(format!("it is queued: {}", look.view.why));
        }
        UnitState::Ready
        | UnitState::Stopped
        | UnitState::Backoff
        | UnitState::Error
        | UnitState::Done
        | UnitState::Scheduled => {}
    }
    let is_running = look.view.run_id.is_some() && look.view.state == UnitState::Ready;
    let seen = match plan.tmux_sessions.get(&agent.name) {
        Some(tmux) => sessions.of(&plan.instance, agent, tmux, is_running),
        None if is_running => SessionSeen::Alive,
        None => SessionSeen::Dead,
    };
    if seen == SessionSeen::Alive && !agent.process.is_empty() && !has_program(agent, look) {
        let wanted = agent.process.join(", ");
        return SessionSeen::AgentDead(format!("none of its processes is {wanted}"));
    }
    seen
}

/// Without process data, the program counts as running.
fn has_program(agent: &WatchSpec, look: &UnitLook) -> bool {
    let Some(usage) = look.usage.as_ref().filter(|usage| !usage.tree.is_empty()) else {
        return true;
    };
    usage.tree.iter().any(|process| {
        // `node --some=option /usr/bin/claude` counts as claude.
        let is_option = |word: &&str| word.starts_with('-');
        let words = process.command.split_whitespace();
        let mut words = words.filter(|word| !is_option(word)).take(2);
        let is_named = |word: &str| {
            let name = word.rsplit('/').next().unwrap_or(word);
            agent.process.iter().any(|wanted| wanted == name)
        };
        words.any(is_named)
    })
}

fn screen_of(
    connection: &mut Connection,
    plan: &Plan,
    agent: &WatchSpec,
    record: Option<&RunRecord>,
    sessions: &Sessions,
) -> Option<ScreenText> {
    if plan.tmux_sessions.contains_key(&agent.name) {
        return sessions.screen_of(&agent.name);
    }
    // An agent without a terminal has no screen.
    connection.screen(record?.run_id.to_string()).ok()
}

/// CPU use since the last tick, or since the run's start if this is its first observation.
fn cpu(look: Option<&UnitLook>, state: &WatchState, now_ms: u64) -> (Option<f64>, Option<CpuMark>) {
    let Some((run, usage)) = look.and_then(|look| Some((look.view.run_id?, look.usage.as_ref()?)))
    else {
        return (None, None);
    };
    let mark = CpuMark { run, at_ms: now_ms, cpu_ms: usage.cpu_ms };
    let percent = match &state.cpu {
        Some(before) if before.run == run && before.at_ms < now_ms => {
            let used = usage.cpu_ms.saturating_sub(before.cpu_ms) as f64;
            used * 100.0 / (now_ms - before.at_ms) as f64
        }
        Some(_) | None => usage.cpu_percent,
    };
    (Some(percent), Some(mark))
}

fn is_dead(session: &SessionSeen) -> bool {
    match session {
        SessionSeen::Dead | SessionSeen::AgentDead(_) => true,
        SessionSeen::Alive
        | SessionSeen::Asleep(_)
        | SessionSeen::Foreign
        | SessionSeen::Unknown(_) => false,
    }
}

fn dead_age(look: Option<&UnitLook>, session: &SessionSeen, now_ms: u64) -> Option<u64> {
    let end = look.filter(|_| is_dead(session))?.view.ends.first()?;
    Some(now_ms.saturating_sub(end.at_ms))
}

/// True if it left a handoff for its successor, which has not started yet.
fn left_word(connection: &mut Connection, agent: &WatchSpec) -> bool {
    let mails = connection.unread(&agent.name).unwrap_or_default();
    mails.iter().any(|mail| mail.kind == MailKind::Handoff)
}

/// The time since the agent last read a text that was typed into it.
fn taken_age(
    agent: &WatchSpec,
    nudges: &Result<Vec<Nudge>, PatrolError>,
    now_ms: u64,
) -> Option<u64> {
    let taken = nudges
        .as_ref()
        .ok()?
        .iter()
        .filter(|nudge| nudge.to == agent.name && nudge.receipt == Receipt::Delivered);
    taken.map(|nudge| now_ms.saturating_sub(nudge.receipt_at_ms)).min()
}

/// Messages from the patrol itself do not count as work.
fn pending(
    agent: &WatchSpec,
    waiting: &Result<Vec<Waiting>, PatrolError>,
    nudges: &Result<Vec<Nudge>, PatrolError>,
    work: Option<&Result<bool, String>>,
) -> PendingSeen {
    let (waiting, nudges) = match (waiting, nudges) {
        (Ok(waiting), Ok(nudges)) => (waiting, nudges),
        (Err(error), _) | (_, Err(error)) => {
            return PendingSeen::Unknown { why: error.to_string() };
        }
    };
    let own = waiting.iter().filter(|one| one.name.trim_end_matches('/') == agent.name);
    let mail = own.map(|one| one.mail).sum();
    let is_waiting = |nudge: &&Nudge| {
        nudge.to == agent.name && nudge.receipt == Receipt::Queued && nudge.from != SENDER
    };
    let nudges = nudges.iter().filter(is_waiting).count() as u32;
    match work {
        _ if mail > 0 || nudges > 0 => {
            PendingSeen::Work { mail, nudges, work: matches!(work, Some(Ok(true))) }
        }
        Some(Ok(true)) => PendingSeen::Work { mail, nudges, work: true },
        Some(Ok(false)) | None => PendingSeen::Nothing,
        Some(Err(why)) => PendingSeen::Unknown { why: why.clone() },
    }
}

/// Runs the work commands of all agents at once, because each may be slow.
fn works(
    connector: &Connector,
    plan: &Plan,
    agents: &[&WatchSpec],
) -> BTreeMap<String, Result<bool, String>> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = agents
            .iter()
            .filter_map(|agent| Some((agent.name.clone(), agent.work.as_ref()?)))
            .map(|(name, argv)| {
                let env = vec![("OSTLER_AGENT".to_owned(), name.clone())];
                (name, scope.spawn(move || is_there_work(connector, plan, argv, env)))
            })
            .collect();
        let lost = || Err("its work command could not be run".to_owned());
        asked
            .into_iter()
            .map(|(name, asked)| (name, asked.join().unwrap_or_else(|_| lost())))
            .collect()
    })
}

fn is_there_work(
    connector: &Connector,
    plan: &Plan,
    argv: &[String],
    env: Vec<(String, String)>,
) -> Result<bool, String> {
    let question = Question {
        argv,
        cwd: &plan.spec.root,
        env,
        input: b"",
        timeout_ms: WORK_TIMEOUT_MS,
        purpose: Purpose::WorkQuery,
        session: "",
    };
    match command::ask(connector, &question) {
        Ok(CommandEnd::Ended { code: Some(0), .. }) => Ok(true),
        Ok(CommandEnd::Ended { code: Some(1), .. }) => Ok(false),
        Ok(CommandEnd::Ended { code, .. }) => Err(match code {
            Some(code) => format!("its work command exited with code {code}"),
            None => "its work command was killed by a signal".to_owned(),
        }),
        Ok(CommandEnd::TimedOut { .. }) => {
            let most = Duration::from_millis(WORK_TIMEOUT_MS);
            Err(format!("its work command did not finish within {} s", most.as_secs()))
        }
        Ok(CommandEnd::TooMuch { .. }) => Err("its work command wrote too much output".to_owned()),
        Ok(CommandEnd::NotStarted { why }) => {
            Err(format!("its work command could not be started: {why}"))
        }
        Err(error) => Err(error.to_string()),
    }
}
