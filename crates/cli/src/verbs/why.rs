use crate::args::TargetArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call, EntryFilter, Target};
use serde_json::json;

pub fn why(context: &Context, arguments: &TargetArguments) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    let Answer::Run(record) = client.call(Call::Show(Target { run: arguments.run.clone() }))?
    else {
        return Err(ClientError::Unexpected.into());
    };
    // A unit's story is that of all its runs.
    let filter = match &record.unit {
        Some(unit) if *unit == arguments.run => {
            EntryFilter { unit: Some(unit.clone()), ..EntryFilter::default() }
        }
        Some(_) | None => {
            EntryFilter { run: Some(record.run_id.to_string()), ..EntryFilter::default() }
        }
    };
    let Answer::Entries(entries) = client.call(Call::Entries(filter))? else {
        return Err(ClientError::Unexpected.into());
    };
    if arguments.json {
        say!("{}", json!({ "run": *record, "events": entries }));
        return Ok(Exit::DONE);
    }
    say!("run {}", record.run_id);
    say!("  {}", record.command);
    say!("  {}\n", render::state_line(&record, ostler_os::wall_ms()));
    for entry in &entries {
        say!("{}", render::story_line(entry, record.created_at_ms));
    }
    if let Some(error) = &record.error {
        say!("\n  {error}");
    }
    Ok(Exit::DONE)
}
