use super::events::{OutputReader, received, write_list};
use super::unit;
use crate::args::WhyArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render;
use ostler_client::{Client, ClientError, Journal};
use ostler_model::{Depth, Entry, UnitView};
use ostler_ops::journal::Entries;
use ostler_ops::runs::Show;
use ostler_ops::wire::ErrorCode;
use serde::Serialize;
use std::io::Write;

/// How many events are shown without `--all`.
const SHOWN: usize = 50;

/// Prints the events that led to the present state of a unit or run.
pub fn why(context: &Context, arguments: &WhyArguments) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    let name = &arguments.name;
    let looks = unit::look(&mut client, vec![name.clone()], Depth::None)?;
    if let Some(look) = looks.first() {
        return why_unit(&mut client, &look.view, arguments);
    }
    let record = match client.call(&Show::of(name)) {
        Ok(record) => record,
        Err(ClientError::Refused(refusal)) if refusal.code == ErrorCode::NotFound => {
            return Err(unit::no_such("unit or run", name, &unit::names(&mut client)?));
        }
        Err(error) => return Err(error.into()),
    };
    let filter = Entries { run: Some(record.run_id.to_string()), ..Entries::default() };
    if arguments.json {
        return print_json(&mut client, filter, "run", &record);
    }
    outln!("run {}", record.run_id);
    outln!("  {}", render::cut(&record.command, usize::MAX));
    outln!("  {}\n", render::state_line(&record, ostler_os::wall_ms()));
    print_history(&mut client, filter, arguments)?;
    if let Some(error) = &record.error {
        outln!("\n  {error}");
    }
    Ok(Exit::DONE)
}

/// Prints a unit's own events and those of all its runs.
fn why_unit(
    client: &mut Client,
    view: &UnitView,
    arguments: &WhyArguments,
) -> Result<Exit, Failure> {
    let filter = Entries { unit: Some(view.name.clone()), ..Entries::default() };
    if arguments.json {
        return print_json(client, filter, "unit", view);
    }
    let why = render::state_why(view);
    let why = if why.is_empty() { why } else { format!(": {}", render::cut(&why, usize::MAX)) };
    let now_ms = ostler_os::wall_ms();
    let since_ms = render::agent_of(view).and_then(render::agent_since_ms).unwrap_or(view.since_ms);
    let since = render::duration(now_ms.saturating_sub(since_ms));
    outln!("unit {}", view.name);
    outln!("  {}", render::cut(&view.command, usize::MAX));
    let state = render::state_word(view, now_ms);
    outln!("  {state} for {since}{why}; wanted {}\n", view.desired);
    print_history(client, filter, arguments)?;
    Ok(Exit::DONE)
}

/// Prints one object with the unit or run and all its events, written as they are read.
fn print_json(
    client: &mut Client,
    filter: Entries,
    name: &str,
    about: &impl Serialize,
) -> Result<Exit, Failure> {
    let mut out = std::io::stdout().lock();
    let mut journal = Journal::new(filter);
    let mut slice = journal.next_slice(client)?;
    let head = format!("{{\"{name}\":{},\"events\":[", serde_json::to_string(about)?);
    if received(out.write_all(head.as_bytes()))? == OutputReader::Gone {
        return Ok(Exit::DONE);
    }
    let mut before = "";
    while let Some(entries) = slice {
        let written = write_list(&mut out, &entries, &mut before).and_then(|()| out.flush());
        if received(written)? == OutputReader::Gone {
            return Ok(Exit::DONE);
        }
        slice = journal.next_slice(client)?;
    }
    received(writeln!(out, "]}}").and_then(|()| out.flush())).map(|_| Exit::DONE)
}

/// Prints the events; times are relative to the first shown event.
fn print_history(
    client: &mut Client,
    mut filter: Entries,
    arguments: &WhyArguments,
) -> Result<(), Failure> {
    filter.newest = (!arguments.all).then_some(SHOWN as u64 + 1);
    let mut journal = Journal::new(filter);
    let mut begun_ms = None;
    let mut waiting: Vec<Entry> = Vec::new();
    while let Some(entries) = journal.next_slice(client)? {
        // One more entry is read than shown, to detect that there are more.
        waiting.extend(entries);
        if arguments.all {
            if notify(&waiting, &mut begun_ms)? == OutputReader::Gone {
                return Ok(());
            }
            waiting.clear();
        }
    }
    let hidden = waiting.len().saturating_sub(SHOWN);
    if hidden > 0 {
        outln!("  the last {SHOWN} events; show all with --all");
    }
    notify(&waiting[hidden..], &mut begun_ms).map(drop)
}

fn notify(entries: &[Entry], begun_ms: &mut Option<u64>) -> Result<OutputReader, Failure> {
    let mut text = String::new();
    for entry in entries {
        text += &render::story_line(entry, *begun_ms.get_or_insert(entry.at_ms));
        text.push('\n');
    }
    let mut out = std::io::stdout().lock();
    received(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}
