//! `ostler screen`: the text on a terminal now.

use super::unit;
use crate::args::ScreenArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render;
use ostler_client::{Client, ClientError};
use ostler_model::{AgentView, Depth, RunId, RunState, ScreenText, UnitView};
use ostler_ops::agents;
use ostler_ops::runs::{Screen, Show};
use ostler_ops::wire::ErrorCode;
use serde_json::json;

/// Prints the screen. It starts no supervisor, because it must change nothing.
pub fn screen(context: &Context, arguments: &ScreenArguments) -> Result<Exit, Failure> {
    let mut client = context.connect_running()?;
    let live = LiveRun::find(&mut client, &arguments.name)?;
    let screen = read(&mut client, live.run)?;
    let agent = agent(&mut client, live.run, false)?;
    if arguments.json {
        let mut document = serde_json::to_value(&screen)?;
        document["unit"] = json!(live.unit.map(|view| view.name));
        document["runId"] = json!(live.run);
        document["agent"] = json!(agent);
        outln!("{document}");
        return Ok(Exit::DONE);
    }
    for line in shown(&screen) {
        outln!("{line}");
    }
    Ok(Exit::DONE)
}

/// A live run, and its unit.
pub struct LiveRun {
    pub unit: Option<Box<UnitView>>,
    pub run: RunId,
}

impl LiveRun {
    /// Finds a run by the name of its unit, or by a part of its id.
    pub fn find(client: &mut Client, name: &str) -> Result<Self, Failure> {
        if let Some(look) = unit::look(client, vec![name.to_owned()], Depth::None)?.pop() {
            let view = Box::new(look.view);
            return match view.run_id.filter(|_| view.pid.is_some()) {
                Some(run) => Ok(Self { unit: Some(view), run }),
                None => Err(not_running(render::unit_line(&view), name)),
            };
        }
        let record = match client.call(&Show::of(name)) {
            Ok(record) => record,
            Err(ClientError::Refused(refusal)) if refusal.code == ErrorCode::NotFound => {
                return Err(unit::no_such("unit or run", name, &unit::names(client)?));
            }
            Err(error) => return Err(error.into()),
        };
        let run = record.run_id;
        if record.state == RunState::Exited {
            return Err(not_running(format!("run {run} has ended"), &run.to_string()));
        }
        Ok(Self { unit: None, run })
    }
}

fn not_running(description: String, name: &str) -> Failure {
    let description =
        format!("{description}; it has no screen, see its output with `ostler logs {name}`");
    Failure { exit: Exit::NOT_RUNNING, cause: anyhow::anyhow!(description) }
}

pub fn read(client: &mut Client, run: RunId) -> Result<ScreenText, Failure> {
    Ok(client.call(&Screen::of(run))?)
}

/// The state of the agent; with `is_fresh`, judged from the screen now.
pub fn agent(
    client: &mut Client,
    run: RunId,
    is_fresh: bool,
) -> Result<Option<AgentView>, Failure> {
    let call = agents::Show { run: run.to_string(), fresh: is_fresh };
    Ok(client.call(&call)?.view)
}

/// The lines without trailing spaces, and without empty lines at the end.
pub fn shown(screen: &ScreenText) -> Vec<&str> {
    let mut lines: Vec<&str> = screen.lines.iter().map(|line| line.trim_end()).collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines.truncate(end);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_at_the_end_are_cut_and_others_are_kept() {
        let lines = ["", "a  ", "", "b", "  ", ""].map(str::to_owned).to_vec();
        assert_eq!(shown(&ScreenText { lines, ..ScreenText::default() }), ["", "a", "", "b"]);
        assert!(shown(&ScreenText::default()).is_empty());
    }
}
