//! A source of output: one run, or the runs of one unit one after the other.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::errln;
use crate::verbs::reconnecting_view::ReconnectingView;
use crate::verbs::unit;
use ostler_client::{Client, ClientError, Frame};
use ostler_model::{Depth, Entry, RunId, RunRecord, UnitState};
use ostler_ops::journal::{Entries, Follow};
use ostler_ops::runs::{List, View, ViewFrom};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

/// How many past runs of a unit are read.
const RUNS_MOST: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    Stdout,
    Stderr,
}

#[derive(Clone, Debug)]
pub enum Target {
    Unit(String),
    Run { name: String, id: RunId },
}

impl Target {
    pub fn label(&self) -> &str {
        match self {
            Target::Unit(name) | Target::Run { name, .. } => name,
        }
    }
}

/// Some bytes of one stream.
#[derive(Clone, Debug)]
pub struct Piece {
    pub at_ms: u64,
    pub stream: Stream,
    pub run: RunId,
    pub bytes: Vec<u8>,
}

/// The runs to print: a unit's newest run, or the previous one, or with `since` all runs that were live in that time.
pub fn runs(
    client: &mut Client,
    target: &Target,
    from: ViewFrom,
    previous: bool,
) -> Result<VecDeque<RunId>, Failure> {
    let unit = match target {
        Target::Run { .. } if previous => {
            return Err(Failure::usage("--previous works only with unit names, not with run ids"));
        }
        Target::Run { id, .. } => return Ok(VecDeque::from([*id])),
        Target::Unit(unit) => unit,
    };
    let runs = runs_of(client, unit)?;
    if previous {
        let Some(run) = runs.get(1) else {
            let message = format!("{unit} has no previous run");
            return Err(Failure { exit: Exit::NO_SUCH, cause: anyhow::anyhow!(message) });
        };
        return Ok(VecDeque::from([run.run_id]));
    }
    let reaches = |run: &&RunRecord| match from {
        ViewFrom::Since(at_ms) => run.ended_at_ms.is_none_or(|ended| ended >= at_ms),
        ViewFrom::Start | ViewFrom::Offset(_) | ViewFrom::Lines(_) | ViewFrom::Screen => false,
    };
    let mut meant: VecDeque<RunId> =
        runs.iter().filter(reaches).map(|run| run.run_id).rev().collect();
    if meant.is_empty() {
        meant.extend(runs.first().map(|run| run.run_id));
    }
    Ok(meant)
}

/// The runs of a unit, newest first.
fn runs_of(client: &mut Client, unit: &str) -> Result<Vec<RunRecord>, Failure> {
    let filter =
        List { live_only: false, newest_ended: Some(RUNS_MOST), unit: Some(unit.to_owned()) };
    Ok(client.call(&filter)?)
}

pub struct Source {
    context: Context,
    target: Target,
    /// Runs not shown yet.
    runs: VecDeque<RunId>,
    from: ViewFrom,
    is_following: bool,
    /// A unit that is in error has ended. Otherwise it may be started again, and that is awaited.
    ends_at_error: bool,
    view: Option<ReconnectingView>,
    at_ms: u64,
    /// The run shown last, and the offset reached.
    shown: Option<(RunId, u64)>,
}

impl Source {
    pub fn new(context: &Context, target: Target, runs: VecDeque<RunId>, from: ViewFrom) -> Self {
        Self {
            context: context.clone(),
            target,
            runs,
            from,
            is_following: false,
            ends_at_error: false,
            view: None,
            at_ms: 0,
            shown: None,
        }
    }

    /// The output ends when the unit has failed for good.
    pub fn that_may_fail(self) -> Self {
        Self { ends_at_error: true, ..self }
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// From now on waits for new output.
    pub fn follow(&mut self) -> Result<(), Failure> {
        self.is_following = true;
        if let Some((run, offset)) = self.shown {
            self.open(run, ViewFrom::Offset(offset))?;
        }
        Ok(())
    }

    fn open(&mut self, run: RunId, from: ViewFrom) -> Result<(), Failure> {
        let call = View {
            run: run.to_string(),
            from,
            // An older run has ended, so its view ends and the next run follows.
            follow: self.is_following,
            interactive: false,
            size: None,
        };
        let client = self.context.connect_again()?;
        self.view = Some(ReconnectingView::open(&self.context, client, call)?);
        Ok(())
    }

    /// The next piece of output. With [`Source::follow`], waits for it.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Failure> {
        loop {
            let Some(view) = &mut self.view else {
                let next = match self.runs.pop_front() {
                    Some(run) => Some(run),
                    None if self.is_following => self.next_run()?,
                    None => None,
                };
                let Some(run) = next else { return Ok(None) };
                // The start position applies only to the first run shown.
                let is_first = self.shown.is_none();
                let from = match self.from {
                    ViewFrom::Since(at_ms) => ViewFrom::Since(at_ms),
                    from if is_first => from,
                    _ => ViewFrom::Start,
                };
                self.shown = Some((run, 0));
                self.open(run, from)?;
                continue;
            };
            let run = view.viewing().run_id;
            let never = AtomicBool::new(false);
            let Some(frame) = view.next_frame(&never)? else { return Ok(None) };
            let (stream, bytes) = match frame {
                Frame::Stdout(bytes) => (Stream::Stdout, bytes),
                Frame::Stderr(bytes) => (Stream::Stderr, bytes),
                Frame::Time(mark) => {
                    self.at_ms = mark.at_ms;
                    continue;
                }
                Frame::Gap(gap) => {
                    let (from, to) = (gap.from, gap.to);
                    errln!("ostler: {} bytes (offset {from} to {to}) are not stored", to - from);
                    continue;
                }
                Frame::Ended(_) | Frame::Caught => {
                    self.shown = Some((run, view.offset()));
                    self.view = None;
                    continue;
                }
                Frame::Error(refusal) => return Err(ClientError::Refused(refusal).into()),
            };
            return Ok(Some(Piece { at_ms: self.at_ms, stream, run, bytes: bytes.to_vec() }));
        }
    }

    /// Waits for the unit's next run. `None` if there will be none: the unit is stopped, done, or removed.
    fn next_run(&mut self) -> Result<Option<RunId>, Failure> {
        let unit = match &self.target {
            Target::Unit(unit) => unit.clone(),
            Target::Run { .. } => return Ok(None),
        };
        let last = self.shown.map(|(run, _)| run);
        let entries = Entries { unit: Some(unit.clone()), newest: Some(1), ..Entries::default() };
        let follow = Follow { entries, output: false };
        let mut is_reported = false;
        'anew: loop {
            let Some(mut journal) = self.context.connect_successor()? else { return Ok(None) };
            let Some(mut client) = self.context.connect_successor()? else { return Ok(None) };
            if journal.ask(&follow).is_err() {
                continue;
            }
            loop {
                // The subscription is open before the runs are listed, so no new run is missed.
                match journal.next_response::<Vec<Entry>>() {
                    Ok(_) => {}
                    Err(ClientError::Lost(_)) => continue 'anew,
                    Err(error) => return Err(error.into()),
                }
                let newer: Vec<RunId> = match runs_of(&mut client, &unit) {
                    Ok(runs) => runs
                        .iter()
                        .map(|run| run.run_id)
                        .take_while(|run| Some(*run) != last)
                        .collect(),
                    Err(_) => continue 'anew,
                };
                if let Some(oldest) = newer.last() {
                    self.runs = newer.iter().rev().skip(1).copied().collect();
                    return Ok(Some(*oldest));
                }
                let Ok(looks) = unit::look(&mut client, vec![unit.clone()], Depth::None) else {
                    continue 'anew;
                };
                let Some(look) = looks.first() else { return Ok(None) };
                match look.view.state {
                    UnitState::Stopped | UnitState::Done => return Ok(None),
                    UnitState::Error if self.ends_at_error => return Ok(None),
                    UnitState::Error if !is_reported => {
                        is_reported = true;
                        errln!("ostler: {unit} is not restarted: {}", look.view.why);
                    }
                    UnitState::Error
                    | UnitState::Waiting
                    | UnitState::Queued
                    | UnitState::Suspended
                    | UnitState::Starting
                    | UnitState::Ready
                    | UnitState::Stopping
                    | UnitState::Backoff
                    | UnitState::Scheduled => {}
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct RawLine {
    pub at_ms: u64,
    pub stream: Stream,
    pub run: RunId,
    pub text: Vec<u8>,
}

/// Assembles lines from pieces. A line belongs to one stream of one run, so a multi-byte character written in two parts
/// stays whole.
pub struct LineAssembler {
    source: Source,
    cutter: Cutter,
    ready: VecDeque<RawLine>,
}

impl LineAssembler {
    pub fn new(source: Source) -> Self {
        Self { source, cutter: Cutter::default(), ready: VecDeque::new() }
    }

    pub fn follow(&mut self) -> Result<(), Failure> {
        self.source.follow()
    }

    pub fn next_line(&mut self) -> Result<Option<RawLine>, Failure> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            let Some(piece) = self.source.next_piece()? else { return Ok(None) };
            self.cutter.add(&piece, |line| self.ready.push_back(line));
        }
    }

    /// The last lines without a newline.
    pub fn rest(&mut self) -> Vec<RawLine> {
        self.cutter.rest()
    }
}

#[derive(Default)]
pub struct Cutter {
    parts: [Vec<u8>; 2],
    of: Option<(RunId, u64)>,
}

impl Cutter {
    pub fn add(&mut self, piece: &Piece, mut line: impl FnMut(RawLine)) {
        if self.of.is_some_and(|(run, _)| run != piece.run) {
            for rest in self.rest() {
                line(rest);
            }
        }
        self.of = Some((piece.run, piece.at_ms));
        let (at_ms, stream, run) = (piece.at_ms, piece.stream, piece.run);
        let part = &mut self.parts[stream as usize];
        let mut rest = piece.bytes.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let mut text = std::mem::take(part);
            text.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            line(RawLine { at_ms, stream, run, text });
        }
        part.extend_from_slice(rest);
    }

    pub fn rest(&mut self) -> Vec<RawLine> {
        let Some((run, at_ms)) = self.of else { return Vec::new() };
        let mut lines = Vec::new();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let text = std::mem::take(&mut self.parts[stream as usize]);
            if !text.is_empty() {
                lines.push(RawLine { at_ms, stream, run, text });
            }
        }
        lines
    }
}
