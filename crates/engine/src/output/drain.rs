//! The thread that reads every run's output and writes it down.
//!
//! It waits for the kernel's word. Each turn every ready stream gets one read, so a flooding run cannot
//! starve a quiet one. A stream that is ready again and again gets a larger pipe, and the thread naps
//! for a moment between reads so that a program which writes one line a call is not woken for each.

use super::open_logs::{LogWriter, OpenLogs, Written};
use super::segment::StreamKind;
use super::state::OutputState;
use ostler_model::RunId;
use ostler_os::{Interest, Poller, Ready, Waker};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the drain has to say.
#[derive(Debug)]
pub(crate) enum DrainEvent {
    Ended {
        run: RunId,
    },
    /// Output from this offset on could not be kept.
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
}

/// A run whose output is to be read.
#[derive(Debug)]
pub(crate) struct NewLog {
    pub(crate) run: RunId,
    pub(crate) state: Arc<OutputState>,
    pub(crate) sources: Vec<Source>,
    pub(crate) most_bytes: u64,
}

#[derive(Debug)]
pub(crate) enum Source {
    Stdout(OwnedFd),
    Stderr(OwnedFd),
    /// Shared with whoever types into it.
    Terminal(Arc<OwnedFd>),
}

enum Order {
    Add(NewLog),
    /// The run is over: stop reading, whoever still holds the other end.
    Close(RunId),
    /// What is left of one run's output is another's from here on.
    Hand {
        from: RunId,
        to: RunId,
        state: Arc<OutputState>,
        most_bytes: u64,
    },
    RemoveFolder(PathBuf),
    Quit,
}

/// The dispatcher's end.
pub(crate) struct Drain {
    orders: mpsc::Sender<Order>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Drain {
    /// `tell` is called on the drain's thread and must not block.
    pub(crate) fn start(tell: impl Fn(DrainEvent) + Send + 'static) -> io::Result<Self> {
        let poller = Poller::new()?;
        let waker = Waker::new(&poller, WAKER)?;
        let (orders, inbox) = mpsc::channel();
        let own_waker = waker.clone();
        let thread = std::thread::Builder::new()
            .name("drain".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                Worker {
                    poller,
                    waker: own_waker,
                    inbox,
                    tell: Box::new(tell),
                    streams: HashMap::new(),
                    logs: HashMap::new(),
                    next_token: WAKER + 1,
                    open: OpenLogs::default(),
                    buffer: Vec::new(),
                    flood: Flood::default(),
                    large_pipes: 0,
                }
                .work();
            })?;
        Ok(Self { orders, waker, thread: Some(thread) })
    }

    pub(crate) fn add(&self, log: NewLog) {
        self.order(Order::Add(log));
    }

    pub(crate) fn close(&self, run: RunId) {
        self.order(Order::Close(run));
    }

    pub(crate) fn hand(&self, from: RunId, to: RunId, state: Arc<OutputState>, most_bytes: u64) {
        self.order(Order::Hand { from, to, state, most_bytes });
    }

    pub(crate) fn remove_folder(&self, folder: PathBuf) {
        self.order(Order::RemoveFolder(folder));
    }

    fn order(&self, order: Order) {
        if self.orders.send(order).is_ok() {
            self.waker.wake();
        }
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.order(Order::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

const WAKER: u64 = 0;
const READ_MOST: usize = 1 << 20;
/// A pipe as the kernel makes it; reading this much at once means it was full.
const PIPE_SMALL: usize = 64 << 10;
const PIPE_LARGE: usize = 1 << 20;
/// The kernel gives one user a limited number of pages for all pipes.
const LARGE_PIPES_MOST: usize = 16;

struct Stream {
    run: RunId,
    kind: StreamKind,
    source: StreamSource,
    is_large: bool,
}

enum StreamSource {
    Own(OwnedFd),
    Shared(Arc<OwnedFd>),
}

impl StreamSource {
    fn descriptor(&self) -> &OwnedFd {
        match self {
            StreamSource::Own(descriptor) => descriptor,
            StreamSource::Shared(descriptor) => descriptor,
        }
    }
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
    inbox: mpsc::Receiver<Order>,
    tell: Box<dyn Fn(DrainEvent) + Send>,
    streams: HashMap<u64, Stream>,
    logs: HashMap<RunId, Log>,
    next_token: u64,
    open: OpenLogs,
    buffer: Vec<u8>,
    flood: Flood,
    large_pipes: usize,
}

/// Whether to let bytes gather before the next read.
#[derive(Debug, Default)]
struct Flood {
    turns: u32,
}

impl Flood {
    const TURNS_BEFORE: u32 = 16;
    /// A program that writes a line a call fills a small part of a large pipe in this time.
    const NAP: Duration = Duration::from_micros(200);

    /// After a turn in which something was read, without a wait before it: `most` is the largest read.
    fn busy(&mut self, most: usize) -> Option<Duration> {
        self.turns += 1;
        // Who writes in bulk gives more than this each time and is best read at once.
        (self.turns >= Self::TURNS_BEFORE && most < PIPE_SMALL).then_some(Self::NAP)
    }

    fn quiet(&mut self) {
        *self = Self::default();
    }
}

enum Flow {
    On,
    Quit,
}

impl Worker {
    fn work(mut self) {
        ostler_os::spin_down_timer_slack();
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            // First a look without waiting: if there is nothing, the flood is over.
            if self.flood.turns > 0 {
                if self.poller.wait(Some(0), &mut ready).is_err() {
                    return;
                }
                if ready.is_empty() {
                    self.flood.quiet();
                }
            }
            if self.flood.turns == 0 && self.poller.wait(None, &mut ready).is_err() {
                return;
            }
            let mut most = 0;
            for event in std::mem::take(&mut ready) {
                if event.token == WAKER {
                    self.waker.rest();
                    if matches!(self.take_orders(), Flow::Quit) {
                        return;
                    }
                } else {
                    most = most.max(self.read(event.token));
                }
            }
            if most == 0 {
                self.flood.quiet();
            } else if let Some(nap) = self.flood.busy(most) {
                ostler_os::nap(nap);
            }
        }
    }

    fn take_orders(&mut self) -> Flow {
        while let Ok(order) = self.inbox.try_recv() {
            match order {
                Order::Add(log) => self.add(log),
                Order::Close(run) => self.close(run),
                Order::Hand { from, to, state, most_bytes } => {
                    self.hand(from, to, state, most_bytes)
                }
                Order::RemoveFolder(folder) => {
                    let _ = std::fs::remove_dir_all(folder);
                }
                Order::Quit => return Flow::Quit,
            }
        }
        Flow::On
    }

    fn add(&mut self, new: NewLog) {
        let mut tokens = Vec::new();
        for source in new.sources {
            let token = self.next_token;
            self.next_token += 1;
            let (kind, source) = match source {
                Source::Stdout(descriptor) => (StreamKind::Stdout, StreamSource::Own(descriptor)),
                Source::Stderr(descriptor) => (StreamKind::Stderr, StreamSource::Own(descriptor)),
                Source::Terminal(descriptor) => {
                    (StreamKind::Stdout, StreamSource::Shared(descriptor))
                }
            };
            if self.poller.add(source.descriptor(), token, Interest::Readable).is_ok() {
                self.streams.insert(token, Stream { run: new.run, kind, source, is_large: false });
                tokens.push(token);
            }
        }
        let log = Log {
            writer: LogWriter::new(new.state.folder().to_owned(), new.most_bytes),
            state: new.state,
            tokens,
            number: self.next_token,
        };
        self.next_token += 1;
        if log.tokens.is_empty() {
            log.state.end();
            (self.tell)(DrainEvent::Ended { run: new.run });
            return;
        }
        self.logs.insert(new.run, log);
    }

    /// One read of one stream; returns how much it gave.
    fn read(&mut self, token: u64) -> usize {
        let Some(stream) = self.streams.get_mut(&token) else { return 0 };
        if self.buffer.is_empty() {
            self.buffer = vec![0; READ_MOST];
        }
        let length = match ostler_os::read_some(stream.source.descriptor(), &mut self.buffer) {
            Ok(Some(0)) | Err(_) => {
                self.end_stream(token);
                return 0;
            }
            Ok(None) => return 0,
            Ok(Some(length)) => length,
        };
        let flooding = length >= PIPE_SMALL || self.flood.turns >= Flood::TURNS_BEFORE;
        if flooding && !stream.is_large && self.large_pipes < LARGE_PIPES_MOST {
            if let StreamSource::Own(descriptor) = &stream.source {
                ostler_os::set_capacity(descriptor, PIPE_LARGE);
            }
            stream.is_large = true;
            self.large_pipes += 1;
        }
        let (run, kind) = (stream.run, stream.kind);
        self.keep(run, kind, length);
        length
    }

    fn keep(&mut self, run: RunId, kind: StreamKind, length: usize) {
        let Some(log) = self.logs.get_mut(&run) else { return };
        let number = log.number;
        let bytes = &self.buffer[..length];
        let wall_ms = ostler_os::wall_ms();
        let written = log.writer.append(kind, bytes, wall_ms);
        log.state.add(kind, bytes, ostler_os::mono_ms(), wall_ms);
        match written {
            Written::Kept | Written::Lost => {}
            Written::GapBegan { from, error } => {
                (self.tell)(DrainEvent::GapBegan { run, from, error: error.to_string() });
            }
            Written::GapEnded { from, to } => (self.tell)(DrainEvent::GapEnded { run, from, to }),
        }
        if let Some(unused) = self.open.use_log(number)
            && let Some(log) = self.logs.values_mut().find(|log| log.number == unused)
        {
            OpenLogs::close(&mut log.writer);
        }
    }

    fn end_stream(&mut self, token: u64) {
        let Some(stream) = self.streams.remove(&token) else { return };
        self.poller.remove(stream.source.descriptor());
        if stream.is_large {
            self.large_pipes -= 1;
        }
        let Some(log) = self.logs.get_mut(&stream.run) else { return };
        log.tokens.retain(|other| *other != token);
        if log.tokens.is_empty() {
            log.state.end();
            self.open.forget(log.number);
            self.logs.remove(&stream.run);
            (self.tell)(DrainEvent::Ended { run: stream.run });
        }
    }

    fn hand(&mut self, from: RunId, to: RunId, state: Arc<OutputState>, most_bytes: u64) {
        let Some(old) = self.logs.remove(&from) else {
            state.end();
            (self.tell)(DrainEvent::Ended { run: to });
            return;
        };
        for token in &old.tokens {
            if let Some(stream) = self.streams.get_mut(token) {
                stream.run = to;
            }
        }
        self.open.forget(old.number);
        old.state.end();
        (self.tell)(DrainEvent::Ended { run: from });
        let writer = LogWriter::new(state.folder().to_owned(), most_bytes);
        self.logs.insert(to, Log { state, writer, tokens: old.tokens, number: old.number });
    }

    fn close(&mut self, run: RunId) {
        let Some(log) = self.logs.remove(&run) else { return };
        for token in &log.tokens {
            if let Some(stream) = self.streams.remove(token) {
                self.poller.remove(stream.source.descriptor());
                if stream.is_large {
                    self.large_pipes -= 1;
                }
            }
        }
        self.open.forget(log.number);
        log.state.end();
    }
}
