use super::look::{look, names, no_such};
use crate::args::CrashesArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render::{self, Align, Cell, Colours, Column, Fit};
use ostler_model::{Depth, UnitEnd};
use serde::Serialize;

const COLUMNS: [Column; 6] = [
    Column { head: "TIME", align: Align::Left, fit: Fit::Dropped(2) },
    Column { head: "UNIT", align: Align::Left, fit: Fit::Shrinks(8) },
    Column { head: "HOW", align: Align::Left, fit: Fit::Shrinks(12) },
    Column { head: "AFTER", align: Align::Right, fit: Fit::Dropped(3) },
    Column { head: "RUN", align: Align::Left, fit: Fit::Dropped(1) },
    Column { head: "THEN", align: Align::Left, fit: Fit::Shrinks(8) },
];

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Crash {
    unit: String,
    #[serde(flatten)]
    end: UnitEnd,
}

/// Prints the last exits of units, newest first.
pub fn crashes(context: &Context, arguments: &CrashesArguments) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    let looks = look(&mut client, arguments.name.clone().into_iter().collect(), Depth::None)?;
    if let Some(name) = &arguments.name
        && looks.is_empty()
    {
        return Err(no_such("unit", name, &names(&mut client)?));
    }
    let of = |unit: String, ends: Vec<UnitEnd>| {
        ends.into_iter().map(move |end| Crash { unit: unit.clone(), end })
    };
    let mut crashes: Vec<Crash> =
        looks.into_iter().flat_map(|look| of(look.view.name, look.view.ends)).collect();
    crashes.sort_by_key(|crash| std::cmp::Reverse(crash.end.at_ms));
    if arguments.json {
        outln!("{}", serde_json::to_string(&crashes)?);
        return Ok(Exit::DONE);
    }
    if crashes.is_empty() {
        outln!("no unit has exited by itself");
        return Ok(Exit::DONE);
    }
    let row = |crash: &Crash| -> Vec<Cell> {
        let run = crash.end.run_id.to_string();
        [
            render::plain_time(crash.end.at_ms),
            crash.unit.clone(),
            crash.end.description.clone(),
            render::duration(crash.end.ran_ms),
            run.rsplit('-').next().unwrap_or(&run).to_owned(),
            crash.end.then.clone(),
        ]
        .map(Cell::from)
        .to_vec()
    };
    let rows: Vec<_> = crashes.iter().map(row).collect();
    let table = render::table(&COLUMNS, &rows, render::width(), Colours::of_output());
    outln!("{table}");
    Ok(Exit::DONE)
}
