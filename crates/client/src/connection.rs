//! Requests and responses, one line each.

use crate::error::ClientError;
use crate::start::{HomePaths, RESENDS_MOST, successor};
use crate::viewing::View;
use ostler_ops::wire::{FrameKind, Request, Response};
use ostler_ops::{Operation, runs, units};
use serde::de::{DeserializeOwned, IgnoredAny};
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// One connection. It sends one request at a time.
#[derive(Debug)]
pub struct Client {
    reading: BufReader<UnixStream>,
    writing: UnixStream,
    next_id: u64,
    patience: Cell<Option<Duration>>,
    /// The home in which to look for a successor.
    place: Option<HomePaths>,
    replaced: u32,
}

/// A guardian restarts a crashing supervisor after growing delays. A request waits no longer than this, and then
/// fails.
const SUCCESSOR_WITHIN: Duration = Duration::from_secs(60);

impl Client {
    pub(crate) fn new(stream: UnixStream) -> Result<Self, ClientError> {
        let writing = stream.try_clone().map_err(ClientError::Lost)?;
        Ok(Self {
            writing,
            reading: BufReader::with_capacity(64 << 10, stream),
            next_id: 0,
            patience: Cell::new(None),
            place: None,
            replaced: 0,
        })
    }

    /// Sends requests again to the successor of a supervisor that ends.
    #[must_use]
    pub fn reconnecting(mut self, place: &HomePaths) -> Self {
        self.place = Some(place.clone());
        self
    }

    /// The timeout for an answer; `None` is no limit.
    pub fn be_patient(&self, patience: Option<Duration>) -> Result<(), ClientError> {
        self.patience.set(patience);
        self.writing.set_read_timeout(patience).map_err(ClientError::Lost)
    }

    /// Whether nothing arrives within this time. Sets the timeout.
    pub(crate) fn is_silent_for(&mut self, within: Duration) -> Result<bool, ClientError> {
        self.be_patient(Some(within))?;
        Ok(self.reading.fill_buf().is_err_and(|error| is_impatience(&error)))
    }

    /// Sends a request without waiting for the response.
    pub fn ask<O: Operation>(&mut self, operation: &O) -> Result<u64, ClientError> {
        self.next_id += 1;
        let line = Request::line(self.next_id, operation).map_err(|_| ClientError::Unexpected)?;
        self.write_request(&line)?;
        Ok(self.next_id)
    }

    fn write_request(&mut self, line: &[u8]) -> Result<(), ClientError> {
        let Err(error) = self.writing.write_all(line) else { return Ok(()) };
        // If the supervisor stopped reading, it may have sent a refusal.
        match self.next_response::<IgnoredAny>() {
            Err(ClientError::Refused(refusal)) => Err(ClientError::Refused(refusal)),
            Ok(_) | Err(_) => Err(ClientError::Lost(error)),
        }
    }

    /// Reads the next response, of any request.
    pub fn next_response<R: DeserializeOwned>(&mut self) -> Result<R, ClientError> {
        response(&self.next_line()?)
    }

    pub(crate) fn next_line(&mut self) -> Result<Vec<u8>, ClientError> {
        let mut line = Vec::new();
        self.reading.read_until(b'\n', &mut line).map_err(ClientError::Lost)?;
        // An incomplete response means that the supervisor has ended.
        if line.last() != Some(&b'\n') {
            return Err(ClientError::Lost(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(line)
    }

    /// Calls an operation. If the supervisor ends before it answers, the request is sent to its successor, unless it
    /// must not be repeated.
    pub fn call<O: Operation>(&mut self, operation: &O) -> Result<O::Response, ClientError> {
        let mut deaths = 0;
        loop {
            match self.call_once(operation) {
                Err(ClientError::Lost(error)) => {
                    deaths += 1;
                    self.replace(operation.may_repeat(), operation.only_waits(), deaths, error)?;
                }
                outcome => return outcome,
            }
        }
    }

    /// Continues with the successor of a supervisor that ended.
    fn replace(
        &mut self,
        may_repeat: bool,
        only_waits: bool,
        deaths: u32,
        error: io::Error,
    ) -> Result<(), ClientError> {
        let place = match self.place.clone() {
            Some(place) if may_repeat && !is_impatience(&error) => place,
            Some(_) | None => return Err(ClientError::Lost(error)),
        };
        if deaths > RESENDS_MOST && !only_waits {
            return Err(ClientError::Deadly { home: place.home, deaths });
        }
        let successor = successor(&place, Some(SUCCESSOR_WITHIN).filter(|_| !only_waits))?;
        successor.be_patient(self.patience.get())?;
        *self = Self { replaced: self.replaced + 1, ..successor };
        Ok(())
    }

    /// How often a request was sent again to a successor.
    pub fn replaced(&self) -> u32 {
        self.replaced
    }

    fn call_once<O: Operation>(&mut self, operation: &O) -> Result<O::Response, ClientError> {
        self.ask(operation)?;
        self.next_response()
    }

    /// Starts, stops or restarts units.
    pub fn ask_units(&mut self, names: Vec<String>, ask: UnitAsk) -> Result<(), ClientError> {
        match ask {
            UnitAsk::Start => self.call(&units::Start { names }),
            UnitAsk::Stop => self.call(&units::Stop { names }),
            UnitAsk::Restart => self.call(&units::Restart { names }),
        }
        .map(|_| ())
    }

    /// Becomes readable when an answer arrives.
    pub fn waiting(&self) -> BorrowedFd<'_> {
        self.writing.as_fd()
    }

    /// Starts to view a run.
    pub fn view(mut self, view: &runs::View) -> Result<View, ClientError> {
        let viewing = self.call(view)?;
        Ok(View::new(viewing, view.from, self.reading, self.writing))
    }

    /// Copies all of `source` to a run's standard input; returns the number of bytes.
    pub fn give(
        &mut self,
        run: &str,
        mut source: impl Read,
        eof: bool,
    ) -> Result<u64, ClientError> {
        self.call(&runs::Write::of(run))?;
        let mut buffer = vec![0u8; 64 << 10];
        let mut given = 0;
        let sent = loop {
            match source.read(&mut buffer) {
                Ok(0) => {
                    let last = if eof { FrameKind::EndOfInput } else { FrameKind::Detach };
                    break self.send(last, &[]);
                }
                Ok(length) => {
                    if let Err(error) = self.send(FrameKind::Input, &buffer[..length]) {
                        break Err(error);
                    }
                    given += length as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        let unknown = || ClientError::InputUnknown { run: run.to_owned(), given };
        match (self.next_response::<runs::Written>(), sent) {
            (Ok(written), Ok(())) => Ok(written.bytes),
            (Err(ClientError::Lost(_)), _) | (Ok(_), Err(_)) => Err(unknown()),
            (Err(error), _) => Err(error),
        }
    }

    fn send(&mut self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        self.writing.write_all(&kind.header(payload.len()))?;
        self.writing.write_all(payload)
    }
}

/// Parses a response line.
pub(crate) fn response<R: DeserializeOwned>(line: &[u8]) -> Result<R, ClientError> {
    let read: Response<R> = serde_json::from_slice(line).map_err(|_| ClientError::Unexpected)?;
    match (read.ok, read.error) {
        (Some(response), _) => Ok(response),
        (None, Some(refusal)) => Err(ClientError::Refused(refusal)),
        (None, None) => Err(ClientError::Unexpected),
    }
}

/// The operations on units by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitAsk {
    Start,
    Stop,
    Restart,
}

/// Whether the supervisor is there, but exceeded the timeout.
fn is_impatience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
