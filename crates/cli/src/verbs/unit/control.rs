use super::file::circumstances;
use super::look::look;
use super::up::declare;
use super::wait::await_units;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render::unit_line;
use ostler_client::{Client, ClientError, UnitAsk};
use ostler_model::{Depth, UnitSpec, UnitState, UnitView};
use ostler_ops::units::{AwaitUntil, Declare};
use std::ffi::OsString;
use std::path::PathBuf;

/// Starts, stops or restarts units, and returns when they have reached the state.
pub fn asked(
    context: &Context,
    names: Vec<String>,
    ask: UnitAsk,
    no_wait: bool,
    json: bool,
) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    match ask {
        UnitAsk::Start | UnitAsk::Stop => put(&mut client, names.clone(), ask)?,
        UnitAsk::Restart => restart_once(context, &mut client, names.clone())?,
    }
    if no_wait {
        return Ok(Exit::DONE);
    }
    let until = match ask {
        UnitAsk::Start | UnitAsk::Restart => AwaitUntil::Settled,
        UnitAsk::Stop => AwaitUntil::Stopped,
    };
    notify(&await_units(context, &mut client, names, until)?, json)
}

fn put(client: &mut Client, names: Vec<String>, ask: UnitAsk) -> Result<(), ClientError> {
    client.ask_units(names, ask)
}

/// Restarts each unit once. A supervisor that dies may have restarted some units already, so its successor is asked
/// only for the units that are unchanged.
fn restart_once(
    context: &Context,
    client: &mut Client,
    mut names: Vec<String>,
) -> Result<(), Failure> {
    let before = look(client, names.clone(), Depth::None)?;
    let was = |name: &str| before.iter().find(|look| look.view.name == name);
    while let Err(error) = put(client, names.clone(), UnitAsk::Restart) {
        if !matches!(error, ClientError::Lost(_)) {
            return Err(error.into());
        }
        *client = context.connect_again()?;
        let now = look(client, names.clone(), Depth::None)?;
        let untouched = now.into_iter().map(|look| look.view).filter(|view| {
            view.state != UnitState::Stopping
                && was(&view.name).is_some_and(|was| was.view.run_id == view.run_id)
        });
        names = untouched.map(|view| view.name).collect();
        if names.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Declares a unit without a file.
pub fn declare_one(
    context: &Context,
    name: &str,
    command: &[OsString],
    no_wait: bool,
    json: bool,
) -> Result<Exit, Failure> {
    let unit = in_no_file(name, command, "")?;
    let mut client = context.connect()?;
    let call = Declare { units: vec![unit], ..Declare::of_no_file() };
    declare(&mut client, call)?;
    if no_wait {
        return Ok(Exit::DONE);
    }
    notify(&await_units(context, &mut client, vec![name.to_owned()], AwaitUntil::Settled)?, json)
}

/// A unit of this name and command; `more` has further settings as lines of TOML.
pub fn in_no_file(name: &str, command: &[OsString], more: &str) -> Result<UnitSpec, Failure> {
    let words: Vec<String> =
        command.iter().map(|word| word.clone().into_string()).collect::<Result<_, _>>().map_err(
            |word| Failure::usage(format!("{word:?} is not UTF-8; a command must be text")),
        )?;
    let quoted: Vec<String> = words.iter().map(|word| toml_string(word)).collect();
    let (name, command) = (toml_string(name), quoted.join(", "));
    let text = format!("[units.{name}]\ncommand = [{command}]\n{more}");
    // Parsed like a file in this directory, so that the same checks apply.
    let here: PathBuf = std::env::current_dir()?.join("(command line)");
    let config = ostler_config::load(&here, &text, &circumstances()).map_err(|problems| {
        let description: Vec<String> =
            problems.into_iter().map(|problem| problem.message).collect();
        Failure::usage(description.join("; "))
    })?;
    let unit =
        config.units.into_iter().next().ok_or_else(|| Failure::usage("a unit is missing"))?;
    Ok(UnitSpec { file: None, ..unit })
}

fn toml_string(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

fn notify(views: &[UnitView], json: bool) -> Result<Exit, Failure> {
    if json {
        outln!("{}", serde_json::to_string(views)?);
    } else {
        for view in views {
            outln!("{}", unit_line(view));
        }
    }
    let is_well = views.iter().all(|view| view.state.is_well());
    Ok(if is_well { Exit::DONE } else { Exit::FAILED })
}
