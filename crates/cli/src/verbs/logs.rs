use super::lasting::LastingView;
use crate::args::LogsArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::tell;
use ostler_client::{ClientError, Frame};
use ostler_model::wire::{ViewCall, ViewFrom};
use serde_json::json;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::AtomicBool;

pub fn logs(context: &Context, arguments: &LogsArguments) -> Result<Exit, Failure> {
    let from = match (arguments.lines, arguments.since) {
        (Some(lines), _) => ViewFrom::Lines(lines),
        (None, Some(ago)) => ViewFrom::Since(ostler_os::wall_ms().saturating_sub(ago)),
        (None, None) => ViewFrom::Start,
    };
    let call = ViewCall {
        run: arguments.run.clone(),
        from,
        follow: arguments.follow,
        interactive: false,
        size: None,
    };
    let mut view = LastingView::open(context, context.connect()?, call)?;
    let never = AtomicBool::new(false);
    let mut printer = Printer::new(arguments);
    loop {
        let Some(frame) = view.next_frame(&never)? else { break };
        let done = match frame {
            Frame::Stdout(bytes) => printer.add(Stream::Stdout, bytes)?,
            Frame::Stderr(bytes) => printer.add(Stream::Stderr, bytes)?,
            Frame::Time(mark) => {
                printer.at_ms = mark.at_ms;
                Shown::GoOn
            }
            Frame::Gap(gap) => {
                tell!(
                    "ostler: {} bytes (offset {} to {}) are not kept",
                    gap.to - gap.from,
                    gap.from,
                    gap.to
                );
                Shown::GoOn
            }
            Frame::Ended(_) | Frame::Caught => break,
            Frame::Error(refusal) => return Err(ClientError::Refused(refusal).into()),
        };
        if done == Shown::NobodyReads {
            return Ok(Exit::DONE);
        }
    }
    printer.finish()?;
    Ok(Exit::DONE)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    GoOn,
    /// Like `| head`: no error.
    NobodyReads,
}

/// Raw bytes as they are; or lines, where lines are asked for. A line is put together from one stream
/// only, so a character that was written in two parts is whole.
struct Printer<'a> {
    arguments: &'a LogsArguments,
    out: BufWriter<io::Stdout>,
    at_ms: u64,
    parts: [Vec<u8>; 2],
    document: Vec<serde_json::Value>,
    by_line: bool,
}

impl<'a> Printer<'a> {
    fn new(arguments: &'a LogsArguments) -> Self {
        Self {
            arguments,
            out: BufWriter::with_capacity(256 << 10, io::stdout()),
            at_ms: 0,
            parts: [Vec::new(), Vec::new()],
            document: Vec::new(),
            by_line: arguments.json || arguments.timestamps || arguments.grep.is_some(),
        }
    }

    fn add(&mut self, stream: Stream, bytes: &[u8]) -> Result<Shown, Failure> {
        let shown =
            if self.by_line { self.add_lines(stream, bytes) } else { self.out.write_all(bytes) };
        let shown =
            shown.and_then(|()| if self.arguments.follow { self.out.flush() } else { Ok(()) });
        match shown {
            Ok(()) => Ok(Shown::GoOn),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Shown::NobodyReads),
            Err(error) => Err(error.into()),
        }
    }

    fn add_lines(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let mut line = std::mem::take(&mut self.parts[stream as usize]);
            line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            self.line(stream, &line)?;
        }
        self.parts[stream as usize].extend_from_slice(rest);
        Ok(())
    }

    fn line(&mut self, stream: Stream, line: &[u8]) -> io::Result<()> {
        if self.arguments.grep.as_ref().is_some_and(|regex| !regex.is_match(line)) {
            return Ok(());
        }
        if self.arguments.json {
            let name = match stream {
                Stream::Stdout => "stdout",
                Stream::Stderr => "stderr",
            };
            let value = json!({ "atMs": self.at_ms, "stream": name, "text": String::from_utf8_lossy(line) });
            if self.arguments.follow {
                return writeln!(self.out, "{value}");
            }
            self.document.push(value);
            return Ok(());
        }
        if self.arguments.timestamps {
            write!(self.out, "{} ", render::time(self.at_ms))?;
        }
        self.out.write_all(line)?;
        self.out.write_all(b"\n")
    }

    fn finish(&mut self) -> Result<(), Failure> {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = std::mem::take(&mut self.parts[stream as usize]);
            if !rest.is_empty() {
                self.line(stream, &rest)?;
            }
        }
        if self.arguments.json && !self.arguments.follow {
            let document = std::mem::take(&mut self.document);
            writeln!(self.out, "{}", serde_json::Value::Array(document))?;
        }
        match self.out.flush() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
