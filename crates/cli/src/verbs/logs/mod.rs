//! `ostler logs`: the output of one run or unit byte by byte, or of several line by line in order of time.

mod printer;
mod source;

use crate::args::LogsArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::verbs::unit;
use ostler_client::{Client, ClientError};
use ostler_ops::runs::{Show, ViewFrom};
use ostler_ops::wire::ErrorCode;
pub use printer::{PrintOptions, PrintOutcome, Printer};
use serde::Serialize;
pub use source::RawLine;
pub use source::Stream;
use source::{LineAssembler, Source, Target};
use std::sync::mpsc;

/// A line of output.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    pub at_ms: u64,
    pub stream: Stream,
    pub text: String,
}

pub fn logs(context: &Context, arguments: &LogsArguments) -> Result<Exit, Failure> {
    let from = match (arguments.lines, arguments.since) {
        (Some(lines), _) => ViewFrom::Lines(lines),
        (None, Some(ago)) => ViewFrom::Since(ostler_os::wall_ms().saturating_sub(ago)),
        (None, None) => ViewFrom::Start,
    };
    let mut client = context.connect()?;
    let units = unit::names(&mut client)?;
    let names = match arguments.names.is_empty() {
        true => unit::expanded(&mut client, &["*".to_owned()])?,
        false => unit::expanded(&mut client, &arguments.names)?,
    };
    let mut sources = Vec::new();
    for name in &names {
        let target = resolve(&mut client, name, &units)?;
        let runs = source::runs(&mut client, &target, from, arguments.previous)?;
        sources.push(Source::new(context, target, runs, from));
    }
    let labels = sources.iter().map(|source| source.target().label().to_owned()).collect();
    let mut printer = Printer::new(arguments.into(), labels);
    if sources.len() == 1 {
        let Some(source) = sources.pop() else { return Ok(Exit::DONE) };
        one(source, arguments.follow, &mut printer)?;
    } else {
        several(sources, arguments.follow, &mut printer)?;
    }
    printer.finish()?;
    Ok(Exit::DONE)
}

/// Finds a unit by its name, or a run by a part of its id.
fn resolve(client: &mut Client, name: &str, units: &[String]) -> Result<Target, Failure> {
    if units.iter().any(|unit| unit == name) {
        return Ok(Target::Unit(name.to_owned()));
    }
    match client.call(&Show::of(name)) {
        Ok(record) => Ok(Target::Run { name: name.to_owned(), id: record.run_id }),
        Err(ClientError::Refused(refusal)) if refusal.code == ErrorCode::NotFound => {
            Err(unit::no_such("unit or run", name, units))
        }
        Err(error) => Err(error.into()),
    }
}

/// Prints one source, as raw bytes unless an option needs lines.
fn one(mut source: Source, follow: bool, printer: &mut Printer) -> Result<PrintOutcome, Failure> {
    if follow {
        source.follow()?;
    }
    while let Some(piece) = source.next_piece()? {
        if printer.add(&piece)? == PrintOutcome::ReaderGone {
            return Ok(PrintOutcome::ReaderGone);
        }
    }
    Ok(PrintOutcome::GoOn)
}

/// Prints several sources: existing lines in order of time, new lines as they arrive.
fn several(
    sources: Vec<Source>,
    follow: bool,
    printer: &mut Printer,
) -> Result<PrintOutcome, Failure> {
    let mut liners: Vec<LineAssembler> = sources.into_iter().map(LineAssembler::new).collect();
    let mut heads: Vec<Option<RawLine>> = Vec::new();
    for liner in &mut liners {
        heads.push(liner.next_line()?);
    }
    let first = |heads: &[Option<RawLine>]| {
        let at = |index: &usize| heads[*index].as_ref().map(|line| line.at_ms);
        (0..heads.len()).filter(|index| heads[*index].is_some()).min_by_key(at)
    };
    while let Some(index) = first(&heads) {
        if let Some(line) = heads[index].take()
            && printer.line(index, &line)? == PrintOutcome::ReaderGone
        {
            return Ok(PrintOutcome::ReaderGone);
        }
        heads[index] = liners[index].next_line()?;
    }
    if !follow {
        for (index, liner) in liners.iter_mut().enumerate() {
            for line in liner.rest() {
                printer.line(index, &line)?;
            }
        }
        return Ok(PrintOutcome::GoOn);
    }
    printer.flush()?;
    let (sender, lines) = mpsc::sync_channel(1_024);
    for (index, liner) in liners.into_iter().enumerate() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let description = follow_one(index, liner, &sender);
            if let Err(failure) = description {
                let _ = sender.send(Err(failure));
            }
        });
    }
    drop(sender);
    for received in lines {
        let (index, line) = received?;
        let shown = printer.line(index, &line)?;
        printer.flush()?;
        if shown == PrintOutcome::ReaderGone {
            return Ok(PrintOutcome::ReaderGone);
        }
    }
    Ok(PrintOutcome::GoOn)
}

/// Passes on the output that a unit writes from this time on, across restarts, until the unit ends for good or the
/// receiver is gone.
pub fn follow_since(
    context: &Context,
    unit: &str,
    since_ms: u64,
    mut pass_on: impl FnMut(RawLine) -> Result<(), ReceiverGone>,
) -> Result<(), Failure> {
    let target = Target::Unit(unit.to_owned());
    let from = ViewFrom::Since(since_ms);
    let runs = source::runs(&mut context.connect_again()?, &target, from, false)?;
    let mut liner = LineAssembler::new(Source::new(context, target, runs, from).that_may_fail());
    liner.follow()?;
    while let Some(line) = liner.next_line()? {
        if pass_on(line).is_err() {
            return Ok(());
        }
    }
    for line in liner.rest() {
        let _ = pass_on(line);
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
pub struct ReceiverGone;

type NextLine = Result<(usize, RawLine), Failure>;

fn follow_one(
    index: usize,
    mut liner: LineAssembler,
    sender: &mpsc::SyncSender<NextLine>,
) -> Result<(), Failure> {
    liner.follow()?;
    while let Some(line) = liner.next_line()? {
        if sender.send(Ok((index, line))).is_err() {
            return Ok(());
        }
    }
    for line in liner.rest() {
        let _ = sender.send(Ok((index, line)));
    }
    Ok(())
}

/// Sends the newest lines of a unit and then new lines, until the receiver is dropped.
#[cfg(feature = "top")]
pub fn follow_unit(context: &Context, unit: &str, most: u64) -> mpsc::Receiver<Line> {
    let (sender, lines) = mpsc::sync_channel(1_024);
    let (context, target) = (context.clone(), Target::Unit(unit.to_owned()));
    let now = |text: String| Line { at_ms: ostler_os::wall_ms(), stream: Stream::Stderr, text };
    std::thread::spawn(move || {
        let follow = || -> Result<(), Failure> {
            let from = ViewFrom::Lines(most);
            let runs = source::runs(&mut context.connect_running()?, &target, from, false)?;
            let mut liner = LineAssembler::new(Source::new(&context, target, runs, from));
            liner.follow()?;
            while let Some(line) = liner.next_line()? {
                if sender.send(show(&line)).is_err() {
                    return Ok(());
                }
            }
            let _ = sender.send(now("(stopped)".to_owned()));
            Ok(())
        };
        if let Err(failure) = follow() {
            let _ = sender.send(now(failure.description()));
        }
    });
    lines
}

fn show(line: &RawLine) -> Line {
    Line {
        at_ms: line.at_ms,
        stream: line.stream,
        text: String::from_utf8_lossy(&line.text).into_owned(),
    }
}

/// The newest lines of a unit.
pub fn last_lines(context: &Context, unit: &str, most: u64) -> Result<Vec<Line>, Failure> {
    let mut client = context.connect_running()?;
    let target = Target::Unit(unit.to_owned());
    let from = ViewFrom::Lines(most);
    let runs = source::runs(&mut client, &target, from, false)?;
    let mut liner = LineAssembler::new(Source::new(context, target, runs, from));
    let mut lines = Vec::new();
    while let Some(line) = liner.next_line()? {
        lines.push(line);
    }
    lines.extend(liner.rest());
    let skipped = lines.len().saturating_sub(most as usize);
    Ok(lines.iter().skip(skipped).map(show).collect())
}
