use crate::args::EventsArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call, EntryFilter};
use std::io::Write;

pub fn events(context: &Context, arguments: &EventsArguments) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    let mut filter = EntryFilter {
        run: arguments.run.clone(),
        unit: None,
        after_seq: None,
        newest: arguments.last,
        follow: arguments.follow,
    };
    client.ask(Call::Entries(filter.clone()))?;
    let mut out = std::io::stdout().lock();
    loop {
        let entries = match client.next_answer() {
            Ok(Answer::Entries(entries)) => entries,
            Ok(_) => return Err(ClientError::Unexpected.into()),
            Err(ClientError::Lost(_)) if arguments.follow => {
                // It was stopped while we followed, or it died and the next is on its way.
                let Some(successor) = context.connect_successor()? else { return Ok(Exit::DONE) };
                client = successor;
                // If this one is lost too, its answer says so.
                let _ = client.ask(Call::Entries(filter.clone()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if arguments.json && !arguments.follow {
            println_safe(&mut out, &serde_json::to_string(&entries)?)?;
            return Ok(Exit::DONE);
        }
        for entry in &entries {
            filter.after_seq = Some(entry.seq);
            filter.newest = None;
            let line = if arguments.json {
                serde_json::to_string(entry)?
            } else {
                render::entry_line(entry)
            };
            if println_safe(&mut out, &line)? == Shown::NobodyReads {
                return Ok(Exit::DONE);
            }
        }
        if !arguments.follow {
            return Ok(Exit::DONE);
        }
    }
}

#[derive(PartialEq, Eq)]
enum Shown {
    Yes,
    NobodyReads,
}

fn println_safe(out: &mut impl Write, line: &str) -> Result<Shown, Failure> {
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(Shown::Yes),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Shown::NobodyReads),
        Err(error) => Err(error.into()),
    }
}
