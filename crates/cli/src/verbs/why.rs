use super::unit;
use crate::args::WhyArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use ostler_client::{Client, ClientError};
use ostler_model::wire::{Answer, Call, EntryFilter, ErrorCode, Target};
use ostler_model::{Depth, Entry, UnitView};
use serde_json::json;

/// How many events are shown unasked.
const SHOWN: usize = 50;

/// The chain of events behind the present state of a unit, or of a run.
pub fn why(context: &Context, arguments: &WhyArguments) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    let name = &arguments.name;
    let looks = unit::look(&mut client, vec![name.clone()], Depth::None)?;
    if let Some(look) = looks.first() {
        return why_unit(&mut client, &look.view, arguments);
    }
    let record = match client.call(Call::Show(Target { run: name.clone() })) {
        Ok(Answer::Run(record)) => record,
        Ok(_) => return Err(ClientError::Unexpected.into()),
        Err(ClientError::Refused(refusal)) if refusal.code == ErrorCode::NoSuchRun => {
            return Err(unit::no_such("unit or run", name, &unit::names(&mut client)?));
        }
        Err(error) => return Err(error.into()),
    };
    let filter = EntryFilter { run: Some(record.run_id.to_string()), ..EntryFilter::default() };
    let events = entries(&mut client, filter)?;
    if arguments.json {
        say!("{}", json!({ "run": *record, "events": events }));
        return Ok(Exit::DONE);
    }
    say!("run {}", record.run_id);
    say!("  {}", record.command);
    say!("  {}\n", render::state_line(&record, ostler_os::wall_ms()));
    tell_story(&events, arguments);
    if let Some(error) = &record.error {
        say!("\n  {error}");
    }
    Ok(Exit::DONE)
}

/// A unit's story is that of all its runs, and of itself.
fn why_unit(
    client: &mut Client,
    view: &UnitView,
    arguments: &WhyArguments,
) -> Result<Exit, Failure> {
    let most = (!arguments.all && !arguments.json).then_some(SHOWN as u64 + 1);
    let filter =
        EntryFilter { unit: Some(view.name.clone()), newest: most, ..EntryFilter::default() };
    let events = entries(client, filter)?;
    if arguments.json {
        say!("{}", json!({ "unit": view, "events": events }));
        return Ok(Exit::DONE);
    }
    let why = render::state_why(view);
    let why = if why.is_empty() { why } else { format!(": {}", render::cut(&why, usize::MAX)) };
    let now_ms = ostler_os::wall_ms();
    let since_ms = render::agent_of(view).map_or(view.since_ms, |agent| agent.since_ms);
    let since = render::duration(now_ms.saturating_sub(since_ms));
    say!("unit {}", view.name);
    say!("  {}", view.command);
    let state = render::state_word(view, now_ms);
    say!("  {state} for {since}{why}; wanted {}\n", view.desired);
    tell_story(&events, arguments);
    Ok(Exit::DONE)
}

fn entries(client: &mut Client, filter: EntryFilter) -> Result<Vec<Entry>, Failure> {
    match client.call(Call::Entries(filter))? {
        Answer::Entries(entries) => Ok(entries),
        _ => Err(ClientError::Unexpected.into()),
    }
}

/// Times are relative to the first that is shown.
fn tell_story(events: &[Entry], arguments: &WhyArguments) {
    let is_cut = !arguments.all && events.len() > SHOWN;
    let shown = if is_cut { &events[events.len() - SHOWN..] } else { events };
    if is_cut {
        say!("  the last {SHOWN} events; --all shows every one");
    }
    let begun_ms = shown.first().map_or(0, |entry| entry.at_ms);
    for entry in shown {
        say!("{}", render::story_line(entry, begun_ms));
    }
}
