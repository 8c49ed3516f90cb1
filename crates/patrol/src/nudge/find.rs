//! Finds a unit's terminal by the unit's name.

use super::agent::{Agent, book};
use super::modes::Modes;
use super::own_terminal::OwnTerminal;
use super::pane::TmuxTerminal;
use super::terminal::{Editing, Terminal, Trouble};
use super::{Refusal, SessionOwner};
use crate::connection::{Connection, Connector};
use crate::error::PatrolError;
use ostler_model::{Backend, Depth, ProcessUsage, RunRecord, TmuxSpec, UnitView};
use ostler_ops::runs::Show;
use ostler_ops::units::Look;
use ostler_tmux::{Server, list};
use std::path::Path;

/// A terminal, and the run in it.
pub struct TerminalPlace {
    pub terminal: Box<dyn Terminal>,
    /// Empty if Ostler did not make the session.
    pub run: String,
    /// The agent, if its program has a profile.
    pub agent: Option<Agent>,
    /// The agent that the unit's command names, while its process does not run yet.
    pub awaited: Option<String>,
    pub started_at_ms: Option<u64>,
}

impl TerminalPlace {
    fn of(terminal: Box<dyn Terminal>, run: String) -> Self {
        Self { terminal, run, agent: None, awaited: None, started_at_ms: None }
    }

    /// Returns why nothing can be typed yet. While a program is starting, the kernel handles its terminal and echoes
    /// input that no program has read.
    pub fn unready(&mut self) -> Result<Option<String>, Trouble> {
        const YOUNG_MS: u64 = 2_000;
        const BLANK_MS: u64 = 10_000;
        if let Some(agent) = &self.awaited {
            return Ok(Some(format!("{agent} is not running there yet")));
        }
        if self.agent.is_some() {
            return Ok(None);
        }
        let look = self.terminal.look()?;
        let age_ms = self.started_at_ms.map(|at| ostler_os::wall_ms().saturating_sub(at));
        let is_blank = look.lines.iter().all(|line| line.trim().is_empty());
        let needed_ms = if is_blank { BLANK_MS } else { YOUNG_MS };
        let is_kernels = matches!(self.terminal.editing(), Editing::Kernel { .. });
        let is_young = age_ms.is_some_and(|age| age < needed_ms);
        Ok((is_kernels && is_young).then(|| "its program has just been started".to_owned()))
    }
}

/// A unit, and the processes of its run.
pub struct Found {
    pub view: UnitView,
    tree: Vec<ProcessUsage>,
}

pub type Nowhere = (Refusal, String);

pub fn unit(
    connection: &mut Connection,
    name: &str,
) -> Result<Result<Found, Nowhere>, PatrolError> {
    // The look includes the command: it may name an agent whose program does not run yet.
    let call = Look { names: vec![name.to_owned()], depth: Depth::Tree, brief: false };
    let looks = connection.call(&call)?;
    let found = looks.into_iter().find(|look| look.view.name == name).map(|look| Found {
        view: look.view,
        tree: look.usage.map(|usage| usage.tree).unwrap_or_default(),
    });
    let none =
        || (Refusal::NoSuchUnit, format!("no unit named {name:?}; run `ostler ls` to list units"));
    Ok(found.ok_or_else(none))
}

pub fn place(
    connector: &Connector,
    connection: &mut Connection,
    folder: &Path,
    found: &Found,
    owner: SessionOwner,
) -> Result<Result<TerminalPlace, Nowhere>, PatrolError> {
    let view = &found.view;
    let name = &view.name;
    let declared = view.profile();
    let book = book();
    let known = |place: TerminalPlace| {
        let agent = Agent::find(&book, declared, view, &found.tree);
        let awaited = match &agent {
            Some(_) => None,
            None => book.expected(&view.command).map(|profile| profile.name.clone()),
        };
        TerminalPlace { agent, awaited, started_at_ms: view.started_at_ms, ..place }
    };
    let Some(run) = view.run_id else {
        return Ok(match (&view.tmux, owner) {
            (Some(tmux), SessionOwner::Anyones) => others_session(view, tmux),
            (None, _) | (_, SessionOwner::Ours) => Err(not_running(view)),
        });
    };
    let record = connection.call(&Show::of(run))?;
    match (record.backend_id, &view.tmux) {
        (Backend::Pty, _) => {
            let run = run.to_string();
            let own =
                OwnTerminal::new(connector.clone(), connector.open()?, run.clone(), record.pid);
            Ok(Ok(known(TerminalPlace::of(Box::new(own), run))))
        }
        (Backend::Tmux, Some(tmux)) => {
            let memo = folder.join(format!("{}.modes", name.replace('/', "_")));
            let modes = Modes::new(connector.clone(), run.to_string(), memo);
            let place = session(modes, view, &record, tmux, owner);
            Ok(place.map(known))
        }
        (Backend::Tmux, None) => Ok(Err(not_running(view))),
        (Backend::Pipe | Backend::Container, _) => {
            let why = format!(
                "{name} has no terminal to type into; set `backend = \"pty\"` or `backend = \"tmux\"`, or send it \
                 mail (`ostler mail send {name}`)"
            );
            Ok(Err((Refusal::NoTerminal, why)))
        }
    }
}

fn session(
    modes: Modes,
    view: &UnitView,
    record: &RunRecord,
    tmux: &TmuxSpec,
    owner: SessionOwner,
) -> Result<TerminalPlace, Nowhere> {
    let server = server(tmux);
    let run = record.run_id.to_string();
    let home = record.owner_instance_id.to_string();
    let listing = list(&server).map_err(|error| (Refusal::Gone, error.to_string()))?;
    let ours =
        listing.own_panes().find(|pane| pane.is_marked_for(&home, &view.name) && pane.run == run);
    match ours {
        Some(pane) if pane.is_dead => Err((
            Refusal::NotRunning,
            format!("the program of {} has exited in its tmux session", view.name),
        )),
        Some(pane) => {
            let terminal = Box::new(TmuxTerminal::new(server, pane, Some(modes)));
            Ok(TerminalPlace::of(terminal, run))
        }
        None if owner == SessionOwner::Anyones => others_session(view, tmux),
        None => Err((
            Refusal::NotRunning,
            format!("{} is running, but its tmux session {} is missing", view.name, tmux.session),
        )),
    }
}

/// The first pane of a session that has the unit's name but was not made by Ostler.
fn others_session(view: &UnitView, tmux: &TmuxSpec) -> Result<TerminalPlace, Nowhere> {
    let server = server(tmux);
    let listing = list(&server).map_err(|error| (Refusal::Gone, error.to_string()))?;
    let pane = listing
        .panes
        .iter()
        .find(|pane| pane.session == tmux.session && !pane.is_dead)
        .ok_or_else(|| not_running(view))?;
    let terminal = Box::new(TmuxTerminal::new(server, pane, None));
    Ok(TerminalPlace::of(terminal, String::new()))
}

fn server(tmux: &TmuxSpec) -> Server {
    let server = Server::at(&tmux.socket);
    match &tmux.program {
        Some(program) => server.with_program(program),
        None => server,
    }
}

fn not_running(view: &UnitView) -> Nowhere {
    let why = if view.why.is_empty() { String::new() } else { format!(" ({})", view.why) };
    let description = format!(
        "{} is not running: it is {}{why}; use `--mode queue` to queue the text until it runs",
        view.name, view.state
    );
    (Refusal::NotRunning, description)
}
