use crate::args::EventsArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use ostler_client::{ClientError, Journal};
use ostler_model::Entry;
use ostler_ops::journal::{Entries, Follow};
use std::io::{self, StdoutLock, Write};

/// Prints the journal, oldest entry first. It is read and printed in slices, so memory use does not depend on its size.
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
                if received(written.and_then(|()| out.flush()))? == OutputReader::Gone {
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
                if show(&mut out, &entries, false)? == OutputReader::Gone {
                    break;
                }
            }
            Ok(Exit::DONE)
        }
    }
}

/// Prints new entries until the daemon is stopped or the reader closes the pipe.
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
                // The daemon was stopped, or the supervisor died and its successor is starting.
                let Some(successor) = context.connect_successor()? else { return Ok(Exit::DONE) };
                client = successor;
                // If this connection is lost too, reading the response reports it.
                let _ = client.ask(&Follow { entries: filter.clone(), output: true });
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        // Output heartbeats have the number 0, because they are not in the journal.
        if let Some(last) = entries.iter().rfind(|entry| entry.seq > 0) {
            filter.after_seq = Some(last.seq);
            filter.newest = None;
        }
        if show(out, &entries, arguments.json)? == OutputReader::Gone {
            return Ok(Exit::DONE);
        }
    }
}

/// Writes entries of an unfinished JSON list; `before` is the separator before the next entry.
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

fn show(out: &mut impl Write, entries: &[Entry], json: bool) -> Result<OutputReader, Failure> {
    let mut text = String::new();
    for entry in entries {
        text += &if json { serde_json::to_string(entry)? } else { render::entry_line(entry) };
        text.push('\n');
    }
    received(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Whether the reader of the output still reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputReader {
    Reads,
    Gone,
}

pub fn received(outcome: io::Result<()>) -> Result<OutputReader, Failure> {
    match outcome {
        Ok(()) => Ok(OutputReader::Reads),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(OutputReader::Gone),
        Err(error) => Err(error.into()),
    }
}
