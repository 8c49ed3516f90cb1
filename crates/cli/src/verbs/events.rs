use crate::args::EventsArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use ostler_client::{ClientError, Journal};
use ostler_model::Entry;
use ostler_ops::journal::{Entries, Follow};
use std::io::{self, StdoutLock, Write};

/// The journal, oldest first. It is read and written a slice at a time, however long it is.
pub fn events(context: &Context, arguments: &EventsArguments) -> Result<Exit, Failure> {
    let filter =
        Entries { run: arguments.run.clone(), unit: None, after_seq: None, newest: arguments.last };
    let mut out = std::io::stdout().lock();
    match (arguments.follow, arguments.json) {
        (true, _) => follow(context, filter, arguments, &mut out),
        (false, true) => {
            let mut client = context.connect()?;
            let mut journal = Journal::new(filter);
            let mut slice = journal.next_slice(&mut client)?;
            let mut before = "[";
            while let Some(entries) = &slice {
                let written = write_list(&mut out, entries, &mut before);
                if received(written.and_then(|()| out.flush()))? == Heard::No {
                    return Ok(Exit::DONE);
                }
                slice = journal.next_slice(&mut client)?;
            }
            let end = if before == "[" { "[]" } else { "]" };
            received(writeln!(out, "{end}").and_then(|()| out.flush())).map(|_| Exit::DONE)
        }
        (false, false) => {
            let mut client = context.connect()?;
            let mut journal = Journal::new(filter);
            while let Some(entries) = journal.next_slice(&mut client)? {
                if show(&mut out, &entries, false)? == Heard::No {
                    break;
                }
            }
            Ok(Exit::DONE)
        }
    }
}

/// Until the daemon is stopped, or nobody reads what is shown.
fn follow(
    context: &Context,
    mut filter: Entries,
    arguments: &EventsArguments,
    out: &mut StdoutLock<'_>,
) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    client.ask(&Follow { entries: filter.clone(), output: true })?;
    loop {
        let entries = match client.next_response::<Vec<Entry>>() {
            Ok(entries) => entries,
            Err(ClientError::Lost(_)) => {
                // It was stopped while we followed, or it died and the next is on its way.
                let Some(successor) = context.connect_successor()? else { return Ok(Exit::DONE) };
                client = successor;
                // If this one is lost too, its answer says so.
                let _ = client.ask(&Follow { entries: filter.clone(), output: true });
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        // An output heartbeat is in no journal.
        if let Some(last) = entries.iter().rfind(|entry| entry.seq > 0) {
            filter.after_seq = Some(last.seq);
            filter.newest = None;
        }
        if show(out, &entries, arguments.json)? == Heard::No {
            return Ok(Exit::DONE);
        }
    }
}

/// Entries of a JSON list that goes on; `before` is what stands before the next one.
pub fn write_list(
    out: &mut impl Write,
    entries: &[Entry],
    before: &mut &'static str,
) -> io::Result<()> {
    for entry in entries {
        out.write_all(before.as_bytes())?;
        serde_json::to_writer(&mut *out, entry)?;
        *before = ",";
    }
    Ok(())
}

fn show(out: &mut impl Write, entries: &[Entry], json: bool) -> Result<Heard, Failure> {
    let mut text = String::new();
    for entry in entries {
        text += &if json { serde_json::to_string(entry)? } else { render::entry_line(entry) };
        text.push('\n');
    }
    received(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Whether somebody still reads what we write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Yes,
    No,
}

pub fn received(outcome: io::Result<()>) -> Result<Heard, Failure> {
    match outcome {
        Ok(()) => Ok(Heard::Yes),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Heard::No),
        Err(error) => Err(error.into()),
    }
}
