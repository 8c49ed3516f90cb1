//! Prints raw bytes, or lines if an option needs them. With several sources, each line begins with its name.

use super::source::{Cutter, Piece, RawLine};
use crate::args::LogsArguments;
use crate::exit::Failure;
use crate::render::{self, Colours, Paint};
use serde_json::json;
use std::io::{self, BufWriter, Write};
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintOutcome {
    GoOn,
    /// The reader closed the pipe, as `| head` does; no error.
    ReaderGone,
}

/// How lines are printed. The default is raw bytes of what is stored.
#[derive(Clone, Debug, Default)]
pub struct PrintOptions {
    pub follow: bool,
    pub json: bool,
    pub timestamps: bool,
    pub grep: Option<regex::bytes::Regex>,
}

impl From<&LogsArguments> for PrintOptions {
    fn from(arguments: &LogsArguments) -> Self {
        Self {
            follow: arguments.follow,
            json: arguments.json,
            timestamps: arguments.timestamps,
            grep: arguments.grep.clone(),
        }
    }
}

pub struct Printer {
    options: PrintOptions,
    labels: Vec<String>,
    prefixes: Vec<String>,
    out: BufWriter<io::Stdout>,
    cutter: Cutter,
    document: Vec<serde_json::Value>,
    by_line: bool,
}

impl Printer {
    pub fn new(options: PrintOptions, labels: Vec<String>) -> Self {
        let colours = Colours::of_output();
        let width = labels.iter().map(|label| label.width()).max().unwrap_or(0);
        let prefix = |(index, label): (usize, &String)| {
            let gap = " ".repeat(width - label.width());
            format!("{} ", colours.paint(Paint::Nth(index), &format!("{label}{gap} |")))
        };
        let prefixes = match labels.len() {
            0 | 1 => vec![String::new()],
            _ => labels.iter().enumerate().map(prefix).collect(),
        };
        Self {
            by_line: options.json || options.timestamps || options.grep.is_some(),
            options,
            labels,
            prefixes,
            out: BufWriter::with_capacity(256 << 10, io::stdout()),
            cutter: Cutter::default(),
            document: Vec::new(),
        }
    }

    /// Prints a piece of the only source.
    pub fn add(&mut self, piece: &Piece) -> Result<PrintOutcome, Failure> {
        let mut written = Ok(());
        if self.by_line {
            let mut lines = Vec::new();
            self.cutter.add(piece, |line| lines.push(line));
            for line in &lines {
                written = written.and_then(|()| self.write_line(0, line));
            }
        } else {
            written = self.out.write_all(&piece.bytes);
        }
        let flushed =
            written.and_then(|()| if self.options.follow { self.out.flush() } else { Ok(()) });
        shown(flushed)
    }

    pub fn line(&mut self, index: usize, line: &RawLine) -> Result<PrintOutcome, Failure> {
        shown(self.write_line(index, line))
    }

    fn write_line(&mut self, index: usize, line: &RawLine) -> io::Result<()> {
        if self.options.grep.as_ref().is_some_and(|regex| !regex.is_match(&line.text)) {
            return Ok(());
        }
        if self.options.json {
            let value = json!({
                "unit": self.labels[index],
                "runId": line.run,
                "atMs": line.at_ms,
                "stream": line.stream,
                "text": String::from_utf8_lossy(&line.text),
            });
            if self.options.follow {
                return writeln!(self.out, "{value}");
            }
            self.document.push(value);
            return Ok(());
        }
        self.out.write_all(self.prefixes[index].as_bytes())?;
        if self.options.timestamps {
            write!(self.out, "{} ", render::time(line.at_ms))?;
        }
        self.out.write_all(&line.text)?;
        self.out.write_all(b"\n")
    }

    pub fn flush(&mut self) -> Result<PrintOutcome, Failure> {
        shown(self.out.flush())
    }

    pub fn finish(&mut self) -> Result<(), Failure> {
        for line in self.cutter.rest() {
            shown(self.write_line(0, &line))?;
        }
        if self.options.json && !self.options.follow {
            let document = std::mem::take(&mut self.document);
            shown(writeln!(self.out, "{}", serde_json::Value::Array(document)))?;
        }
        self.flush().map(|_| ())
    }
}

fn shown(outcome: io::Result<()>) -> Result<PrintOutcome, Failure> {
    match outcome {
        Ok(()) => Ok(PrintOutcome::GoOn),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(PrintOutcome::ReaderGone),
        Err(error) => Err(error.into()),
    }
}
