//! What keys do to units. Each is carried out beside the screen; its result is told when it is true.

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

/// Begins it; returns what is said meanwhile.
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
    Ok(views.first().map_or_else(|| format!("{name}: is no more"), unit_line))
}

/// Only to one that runs on a terminal of its own.
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
            Err(format!("{name} has no terminal of its own (backend = \"pty\"); l shows its log"))
        }
        Ok(None) => Err(format!("{name} does not run")),
        Err(failure) => Err(format!("{name}: {}", failure.description())),
    }
}

/// Lends the terminal to `ostler attach` until it comes back.
pub fn attach(state: &State) -> Result<String, Failure> {
    let Some(name) = state.selected() else { return Ok(String::new()) };
    let program = ostler_os::own_executable()?;
    let code = ostler_os::run_here(&program, &["--no-start", "attach", &name])?;
    Ok(match code {
        Some(0) => format!("{name}: back from its terminal"),
        Some(code) => format!("{name}: attach ended with exit code {code}"),
        None => format!("{name}: attach was ended by a signal"),
    })
}
