//! The thread that reads the output of all runs and writes their logs.
//!
//! It waits in the poller. In each turn every ready stream gets one read, so a flooding run cannot starve a quiet one.
//! A pipe that is ready again and again is in flood: the writer makes it larger and stops polling it, because a polled
//! pipe makes each write of the program slower; instead it reads the pipe in every turn. While little data comes at a
//! time, the thread sleeps briefly between two reads, so that a program that writes one line per call does not wake it
//! for each line.
//!
//! Bytes are never only in our memory. The kernel moves them from the run into a splice pipe, and from there into the
//! log. The guardian also holds the splice pipe, with a note of which run its bytes belong to. If the supervisor is
//! killed in between, the next one writes the rest, and no byte is lost or written twice.

use super::open_logs::{LogWriter, OpenLogs, WriteOutcome};
use super::segment::StreamKind;
use super::splice::OutputSplice;
use super::state::OutputState;
use super::total::{OutputTotal, Swept};
use crate::guardian_link::ThreadHeartbeats;
use ostler_model::RunId;
use ostler_os::{Interest, Note, Poller, Ready, SplicePipe, Waker};
use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Events that the output writer reports.
#[derive(Debug)]
pub(crate) enum OutputEvent {
    Ended {
        run: RunId,
    },
    /// Output from this offset on could not be stored.
    GapBegan {
        run: RunId,
        from: u64,
        error: String,
    },
    GapEnded {
        run: RunId,
        from: u64,
        to: u64,
    },
    /// All runs together have more output than the limit.
    TooMuch,
    /// The result of removing output.
    Swept(Swept),
}

/// A run whose output is to be read.
#[derive(Debug)]
pub(crate) struct NewLog {
    pub(crate) run: RunId,
    pub(crate) state: Arc<OutputState>,
    pub(crate) sources: Vec<Source>,
    pub(crate) most_bytes: u64,
    /// Set for the log of an adopted run.
    pub(crate) resumed: Option<Resumed>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Resumed {
    /// The stream of this run whose bytes are in the splice pipe.
    pub(crate) leftover: Option<StreamKind>,
}

/// Shared, because the guardian also holds the descriptor, and a terminal is also written to.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Stdout(Arc<OwnedFd>),
    Stderr(Arc<OwnedFd>),
    Terminal(Arc<OwnedFd>),
}

enum WriterCommand {
    Add(NewLog),
    /// The run is over: stop reading, even if a process still holds the other end.
    Close(RunId),
    /// The rest of one run's output belongs to another run from now on.
    MoveOutput {
        from: RunId,
        to: RunId,
        state: Arc<OutputState>,
        most_bytes: u64,
    },
    RemoveFolder(PathBuf),
    /// Removes the oldest output until at most `keeps` bytes are left.
    Trim {
        run: RunId,
        keeps: u64,
    },
    /// No adopted run owns the bytes in the splice pipe.
    EmptySplice,
    Liveness(u64),
    Quit,
}

/// The dispatcher's side.
pub(crate) struct OutputWriter {
    orders: mpsc::Sender<WriterCommand>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl OutputWriter {
    /// `notify` is called on the writer's thread and must not block.
    pub(crate) fn start(
        splice_pipe: Option<(SplicePipe, Note)>,
        heartbeats_seen: Arc<ThreadHeartbeats>,
        total: Arc<OutputTotal>,
        notify: impl Fn(OutputEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        let waker = Waker::new(&poller, WAKER)?;
        let (orders, inbox) = mpsc::channel();
        let own_waker = waker.clone();
        let thread = std::thread::Builder::new()
            .name("output-writer".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                Worker {
                    poller,
                    waker: own_waker,
                    inbox,
                    notify: Box::new(notify),
                    streams: HashMap::new(),
                    logs: HashMap::new(),
                    next_token: WAKER + 1,
                    open: OpenLogs::default(),
                    buffer: Vec::new(),
                    heartbeats_seen,
                    total,
                    splice_pipe: splice_pipe
                        .map(|(splice_pipe, note)| OutputSplice::new(splice_pipe, note)),
                    flooding: Vec::new(),
                    large_pipes: 0,
                }
                .work();
            })?;
        Ok(Self { orders, waker, thread: Some(thread) })
    }

    pub(crate) fn add(&self, log: NewLog) {
        self.order(WriterCommand::Add(log));
    }

    pub(crate) fn close(&self, run: RunId) {
        self.order(WriterCommand::Close(run));
    }

    pub(crate) fn move_output(
        &self,
        from: RunId,
        to: RunId,
        state: Arc<OutputState>,
        most_bytes: u64,
    ) {
        self.order(WriterCommand::MoveOutput { from, to, state, most_bytes });
    }

    pub(crate) fn remove_folder(&self, folder: PathBuf) {
        self.order(WriterCommand::RemoveFolder(folder));
    }

    pub(crate) fn trim(&self, run: RunId, keeps: u64) {
        self.order(WriterCommand::Trim { run, keeps });
    }

    pub(crate) fn empty_splice(&self) {
        self.order(WriterCommand::EmptySplice);
    }

    pub(crate) fn liveness(&self, liveness: u64) {
        self.order(WriterCommand::Liveness(liveness));
    }

    fn order(&self, order: WriterCommand) {
        if self.orders.send(order).is_ok() {
            self.waker.wake();
        }
    }

    /// Writes everything that was read before it returns.
    pub(crate) fn finish(&mut self) {
        self.order(WriterCommand::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for OutputWriter {
    fn drop(&mut self) {
        self.finish();
    }
}

const WAKER: u64 = 0;
const READ_MOST: usize = 1 << 20;
/// A terminal returns less than this at a time, and a larger buffer costs memory.
const TERMINAL_MOST: usize = 16 << 10;
/// The default size of a pipe; reading this much at once means that it was full.
const PIPE_SMALL: usize = 64 << 10;
const PIPE_LARGE: usize = 1 << 20;
/// The kernel limits the pages of all pipes of one user.
const LARGE_PIPES_MOST: usize = 16;

struct Stream {
    run: RunId,
    kind: StreamKind,
    source: Arc<OwnedFd>,
    is_terminal: bool,
    is_drawn: bool,
    is_large: bool,
    is_flooding: bool,
    /// Reads in quick succession.
    streak: u32,
    /// Empty reads in a row during a flood.
    misses: u32,
    last_mono_ms: u64,
}

/// How the bytes were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadMethod {
    /// Copied into the buffer, without a splice pipe.
    Copied,
    /// In the splice pipe.
    Moved,
    /// In the splice pipe, and too many to copy into memory.
    Passed,
}

struct Log {
    state: Arc<OutputState>,
    writer: LogWriter,
    tokens: Vec<u64>,
    number: u64,
}

struct Worker {
    poller: Poller,
    waker: Waker,
    inbox: mpsc::Receiver<WriterCommand>,
    notify: Box<dyn Fn(OutputEvent) + Send>,
    streams: HashMap<u64, Stream>,
    logs: HashMap<RunId, Log>,
    next_token: u64,
    open: OpenLogs,
    buffer: Vec<u8>,
    heartbeats_seen: Arc<ThreadHeartbeats>,
    total: Arc<OutputTotal>,
    /// Used where the kernel can move bytes instead of copying them.
    splice_pipe: Option<OutputSplice>,
    /// Read in every turn; they are not polled.
    flooding: Vec<u64>,
    large_pipes: usize,
}

/// This many quick reads begin a flood; this many empty reads end it.
const STREAK_BEFORE_FLOOD: u32 = 16;
const MISSES_AFTER_FLOOD: u32 = 4;
/// A program that writes one line per call fills only a small part of a large pipe in this time.
const NAP: Duration = Duration::from_micros(200);

enum Flow {
    On,
    Quit,
}

impl Worker {
    fn work(mut self) {
        ostler_os::spin_down_timer_slack();
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let timeout = (!self.flooding.is_empty()).then_some(0);
            if self.poller.wait(timeout, &mut ready).is_err() {
                return;
            }
            // Before the ready streams: standard output that was written before standard error must be read first.
            let was_flooding = !self.flooding.is_empty();
            let most = self.read_flooding();
            for event in std::mem::take(&mut ready) {
                if event.token == WAKER {
                    self.waker.rest();
                    if matches!(self.take_orders(), Flow::Quit) {
                        return;
                    }
                } else {
                    self.read(event.token);
                }
            }
            // A program that writes in bulk fills more than a small pipe each time, and is best read at once.
            if was_flooding && most < PIPE_SMALL {
                ostler_os::nap(NAP);
            }
        }
    }

    /// Returns the size of the largest read.
    fn read_flooding(&mut self) -> usize {
        let mut most = 0;
        for token in self.flooding.clone() {
            let length = self.read(token);
            most = most.max(length);
            let Some(stream) = self.streams.get_mut(&token) else { continue };
            stream.misses = if length == 0 { stream.misses + 1 } else { 0 };
            if stream.misses >= MISSES_AFTER_FLOOD {
                self.end_flood(token);
            }
        }
        most
    }

    fn begin_flood(&mut self, token: u64) {
        let Some(stream) = self.streams.get_mut(&token) else { return };
        // A terminal buffers little, and output for a screen must pass through our memory.
        if stream.is_terminal || stream.is_drawn {
            return;
        }
        let descriptor = &stream.source;
        if !stream.is_large && self.large_pipes < LARGE_PIPES_MOST {
            ostler_os::set_capacity(descriptor, PIPE_LARGE);
            stream.is_large = true;
            self.large_pipes += 1;
        }
        self.poller.remove(descriptor);
        stream.is_flooding = true;
        stream.misses = 0;
        self.flooding.push(token);
    }

    fn end_flood(&mut self, token: u64) {
        self.flooding.retain(|other| *other != token);
        let Some(stream) = self.streams.get_mut(&token) else { return };
        stream.is_flooding = false;
        stream.streak = 0;
        let added = self.poller.add(&stream.source, token, Interest::Readable);
        if added.is_err() {
            // Without the poller, nothing would report it.
            self.begin_flood(token);
        }
    }

    fn take_orders(&mut self) -> Flow {
        while let Ok(order) = self.inbox.try_recv() {
            match order {
                WriterCommand::Add(log) => self.add(log),
                WriterCommand::Close(run) => self.close(run),
                WriterCommand::MoveOutput { from, to, state, most_bytes } => {
                    self.move_output(from, to, state, most_bytes)
                }
                WriterCommand::RemoveFolder(folder) => {
                    let _ = std::fs::remove_dir_all(folder);
                }
                WriterCommand::Trim { run, keeps } => {
                    if let Some(log) = self.logs.get_mut(&run) {
                        log.writer.trim(keeps);
                    }
                }
                WriterCommand::EmptySplice => {
                    if let Some(splice_pipe) = &mut self.splice_pipe {
                        splice_pipe.splice_pipe.spill(&mut vec![0; READ_MOST]);
                    }
                }
                WriterCommand::Liveness(liveness) => {
                    self.heartbeats_seen.output_writer.store(liveness, Ordering::Release)
                }
                WriterCommand::Quit => return Flow::Quit,
            }
        }
        Flow::On
    }

    fn add(&mut self, new: NewLog) {
        let mut tokens = Vec::new();
        for source in new.sources {
            let token = self.next_token;
            self.next_token += 1;
            let (kind, is_terminal, source) = match source {
                Source::Stdout(descriptor) => (StreamKind::Stdout, false, descriptor),
                Source::Stderr(descriptor) => (StreamKind::Stderr, false, descriptor),
                Source::Terminal(descriptor) => (StreamKind::Stdout, true, descriptor),
            };
            if self.poller.add(&source, token, Interest::Readable).is_ok() {
                let stream = Stream {
                    run: new.run,
                    kind,
                    source,
                    is_terminal,
                    is_drawn: new.state.is_drawn(),
                    is_large: false,
                    is_flooding: false,
                    streak: 0,
                    misses: 0,
                    last_mono_ms: 0,
                };
                self.streams.insert(token, stream);
                tokens.push(token);
            }
        }
        let folder = new.state.folder().to_owned();
        let log = Log {
            writer: match new.resumed {
                None => LogWriter::new(folder, new.most_bytes),
                Some(_) => LogWriter::resumed(folder, new.most_bytes, new.state.written()),
            },
            state: new.state,
            tokens,
            number: self.next_token,
        };
        self.next_token += 1;
        let is_over = log.tokens.is_empty();
        self.logs.insert(new.run, log);
        if let Some(kind) = new.resumed.and_then(|resumed| resumed.leftover)
            && let Some(splice_pipe) = &self.splice_pipe
        {
            let length = splice_pipe.splice_pipe.held_bytes();
            if length > 0 {
                self.buffer.resize(READ_MOST, 0);
                self.keep(new.run, kind, length, ReadMethod::Moved, ostler_os::mono_ms());
            }
        }
        if is_over {
            self.end_log(new.run);
        }
    }

    fn end_log(&mut self, run: RunId) {
        let Some(log) = self.logs.remove(&run) else { return };
        log.state.end();
        self.open.forget(log.number);
        (self.notify)(OutputEvent::Ended { run });
    }

    /// Reads one stream once; returns the number of bytes.
    fn read(&mut self, token: u64) -> usize {
        let Some(stream) = self.streams.get(&token) else { return 0 };
        if self.buffer.is_empty() {
            self.buffer = vec![0; READ_MOST];
        }
        let source = &stream.source;
        let most = if stream.is_terminal { TERMINAL_MOST } else { READ_MOST };
        let how = match (&self.splice_pipe, stream.is_flooding) {
            (Some(_), true) => ReadMethod::Passed,
            (Some(_), false) => ReadMethod::Moved,
            (None, _) => ReadMethod::Copied,
        };
        let taken = match &mut self.splice_pipe {
            Some(splice_pipe) => splice_pipe.take(stream.run, stream.kind, source, most),
            None => ostler_os::read_some(source, &mut self.buffer),
        };
        let length = match taken {
            Ok(Some(0)) | Err(_) => {
                self.end_stream(token);
                return 0;
            }
            Ok(None) => return 0,
            Ok(Some(length)) => length,
        };
        let (run, kind) = (stream.run, stream.kind);
        let mono_ms = ostler_os::mono_ms();
        self.keep(run, kind, length, how, mono_ms);
        let Some(stream) = self.streams.get_mut(&token) else { return length };
        let is_quick = mono_ms.saturating_sub(stream.last_mono_ms) <= 1;
        stream.streak = if is_quick { stream.streak + 1 } else { 0 };
        stream.last_mono_ms = mono_ms;
        if !stream.is_flooding && (length >= PIPE_SMALL || stream.streak >= STREAK_BEFORE_FLOOD) {
            self.begin_flood(token);
        }
        length
    }

    fn keep(&mut self, run: RunId, kind: StreamKind, length: usize, how: ReadMethod, mono_ms: u64) {
        let wall_ms = ostler_os::wall_ms();
        let Some(log) = self.logs.get_mut(&run) else { return };
        let number = log.number;
        let written = match (how, &mut self.splice_pipe) {
            (ReadMethod::Moved | ReadMethod::Passed, Some(OutputSplice { splice_pipe, .. })) => {
                let mut is_refused = false;
                let buffer = &mut self.buffer;
                let written = log.writer.append_with(kind, length, wall_ms, |file| {
                    match splice_pipe.pour(&*file) {
                        // This file system does not support `splice`.
                        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                            is_refused = true;
                            let spilt = splice_pipe.spill(buffer);
                            file.write_all(&buffer[..spilt])
                        }
                        outcome => outcome,
                    }
                });
                // Bytes that did not reach the disk are at least in memory.
                let spilt = splice_pipe.spill(buffer);
                let poured = length - spilt;
                let read = &mut buffer[spilt..];
                if how == ReadMethod::Moved
                    && spilt == 0
                    && log.writer.read_back(&mut read[..poured])
                {
                    log.state.add(kind, &read[..poured], mono_ms, wall_ms);
                } else {
                    log.state.pass(poured as u64, mono_ms, wall_ms);
                }
                if spilt > 0 {
                    log.state.add(kind, &buffer[..spilt], mono_ms, wall_ms);
                }
                if is_refused {
                    self.splice_pipe = None;
                }
                written
            }
            (ReadMethod::Copied, _) | (ReadMethod::Moved | ReadMethod::Passed, None) => {
                let bytes = &self.buffer[..length];
                let written = log.writer.append(kind, bytes, wall_ms);
                log.state.add(kind, bytes, mono_ms, wall_ms);
                written
            }
        };
        if matches!(written, WriteOutcome::Kept | WriteOutcome::GapEnded { .. })
            && self.total.add(length as u64)
        {
            (self.notify)(OutputEvent::TooMuch);
        }
        match written {
            WriteOutcome::Kept | WriteOutcome::Lost => {}
            WriteOutcome::GapBegan { from, error } => {
                (self.notify)(OutputEvent::GapBegan { run, from, error: error.to_string() });
            }
            WriteOutcome::GapEnded { from, to } => {
                (self.notify)(OutputEvent::GapEnded { run, from, to })
            }
        }
        if let Some(unused) = self.open.use_log(number)
            && let Some(log) = self.logs.values_mut().find(|log| log.number == unused)
        {
            OpenLogs::close(&mut log.writer);
        }
    }

    fn end_stream(&mut self, token: u64) {
        let Some(stream) = self.drop_stream(token) else { return };
        let Some(log) = self.logs.get_mut(&stream.run) else { return };
        log.tokens.retain(|other| *other != token);
        if log.tokens.is_empty() {
            self.end_log(stream.run);
        }
    }

    fn drop_stream(&mut self, token: u64) -> Option<Stream> {
        let stream = self.streams.remove(&token)?;
        if stream.is_flooding {
            self.flooding.retain(|other| *other != token);
        } else {
            self.poller.remove(&stream.source);
        }
        if stream.is_large {
            self.large_pipes -= 1;
        }
        Some(stream)
    }

    fn move_output(&mut self, from: RunId, to: RunId, state: Arc<OutputState>, most_bytes: u64) {
        let Some(old) = self.logs.remove(&from) else {
            state.end();
            (self.notify)(OutputEvent::Ended { run: to });
            return;
        };
        for token in &old.tokens {
            if let Some(stream) = self.streams.get_mut(token) {
                stream.run = to;
            }
        }
        self.open.forget(old.number);
        old.state.end();
        (self.notify)(OutputEvent::Ended { run: from });
        let writer = LogWriter::new(state.folder().to_owned(), most_bytes);
        self.logs.insert(to, Log { state, writer, tokens: old.tokens, number: old.number });
    }

    fn close(&mut self, run: RunId) {
        let Some(log) = self.logs.remove(&run) else { return };
        for token in &log.tokens {
            self.drop_stream(*token);
        }
        self.open.forget(log.number);
        log.state.end();
    }
}
