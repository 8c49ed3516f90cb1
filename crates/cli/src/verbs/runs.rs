use crate::args::RunsArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render::{self, Colours};
use ostler_model::RunState;
use ostler_ops::runs::List;

/// How many ended runs the table shows without `--all`.
const ENDED_SHOWN: u64 = 20;

pub fn runs(context: &Context, arguments: &RunsArguments) -> Result<Exit, Failure> {
    let everything = arguments.json || arguments.all || arguments.session.is_some();
    let filter = List {
        live_only: arguments.live,
        newest_ended: (!everything).then_some(ENDED_SHOWN + 1),
        unit: None,
    };
    let mut runs = context.ask(&filter)?;
    if let Some(session) = &arguments.session {
        runs.retain(|run| &run.session_id == session);
    }
    if arguments.json {
        outln!("{}", serde_json::to_string(&runs)?);
        return Ok(Exit::DONE);
    }
    let ended = runs.iter().filter(|run| run.state == RunState::Exited).count() as u64;
    let cut = !everything && ended > ENDED_SHOWN;
    if cut {
        runs.remove(0);
    }
    if runs.is_empty() {
        if arguments.live || arguments.session.is_some() {
            outln!("no such runs; list every recorded run with `ostler runs --all`");
        } else {
            outln!("no runs yet; start one with `ostler run -- CMD`");
        }
        return Ok(Exit::DONE);
    }
    let now_ms = ostler_os::wall_ms();
    let families = render::families(runs);
    let rows: Vec<_> =
        families.iter().map(|(depth, run)| render::run_row(*depth, run, now_ms)).collect();
    let table = render::table(&render::RUN_COLUMNS, &rows, render::width(), Colours::of_output());
    outln!("{table}");
    if cut {
        outln!("older ended runs are not shown; list them with `ostler runs --all`");
    }
    Ok(Exit::DONE)
}
