//! The actions of keys on units. Each runs in a thread of its own and reports its result when it is done.

use super::state::State;
use crate::context::Context;
use crate::exit::Failure;
use crate::render::unit_line;
use crate::verbs::unit;
use ostler_client::UnitAsk;
use ostler_model::Backend;
use ostler_ops::runs::Show;
use ostler_ops::units::{Await, AwaitUntil};
use std::sync::mpsc;

pub struct ActionReport {
    pub message: String,
}

/// Starts the action, and returns the message shown until it is done.
pub fn ask(context: &Context, name: &str, key: char, sender: mpsc::Sender<ActionReport>) -> String {
    let (ask, doing) = match key {
        's' => (UnitAsk::Start, "starting"),
        'x' => (UnitAsk::Stop, "stopping"),
        _ => (UnitAsk::Restart, "restarting"),
    };
    let (context, unit) = (context.clone(), name.to_owned());
    std::thread::spawn(move || {
        let message = match carry_out(&context, &unit, ask) {
            Ok(message) => message,
            Err(failure) => format!("{unit}: {}", failure.description()),
        };
        let _ = sender.send(ActionReport { message });
    });
    format!("{name}: {doing} …")
}

fn carry_out(context: &Context, name: &str, ask: UnitAsk) -> Result<String, Failure> {
    let mut client = context.connect_running()?;
    let names = vec![name.to_owned()];
    client.ask_units(names.clone(), ask)?;
    let until = match ask {
        UnitAsk::Start | UnitAsk::Restart => AwaitUntil::Settled,
        UnitAsk::Stop => AwaitUntil::Stopped,
    };
    let views = client.call(&Await { names, until })?;
    Ok(views.first().map_or_else(|| format!("{name}: removed"), unit_line))
}

/// Only a running unit with a pseudoterminal can be attached to.
pub fn may_attach(context: &Context, state: &State) -> Result<(), String> {
    let name = state.selected().ok_or("there is nothing to attach to")?;
    let backend = || -> Result<Option<Backend>, Failure> {
        let mut client = context.connect_running()?;
        let looks = unit::look(&mut client, vec![name.clone()], ostler_model::Depth::None)?;
        let Some(run) = looks.first().and_then(|look| look.view.run_id) else { return Ok(None) };
        Ok(Some(client.call(&Show::of(run))?.backend_id))
    };
    match backend() {
        Ok(Some(Backend::Pty)) => Ok(()),
        Ok(Some(Backend::Pipe | Backend::Container | Backend::Tmux)) => {
            Err(format!("{name} has no terminal (backend = \"pty\"); press l for its log"))
        }
        Ok(None) => Err(format!("{name} is not running")),
        Err(failure) => Err(format!("{name}: {}", failure.description())),
    }
}

/// Runs `ostler attach` on this terminal until it exits.
pub fn attach(state: &State) -> Result<String, Failure> {
    let Some(name) = state.selected() else { return Ok(String::new()) };
    let program = ostler_os::own_executable()?;
    let code = ostler_os::run_here(&program, &["--no-start", "attach", &name])?;
    Ok(match code {
        Some(0) => format!("{name}: detached"),
        Some(code) => format!("{name}: attach failed with exit code {code}"),
        None => format!("{name}: attach was killed by a signal"),
    })
}
