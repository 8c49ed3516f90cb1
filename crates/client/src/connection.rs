//! Requests and answers, one line each.

use crate::error::ClientError;
use crate::repeat::{may_repeat, only_waits};
use crate::start::{Place, RESENDS_MOST, successor};
use crate::viewing::View;
use ostler_model::wire::{Answer, Call, FrameKind, Request, Target, ViewCall, WireError};
use serde::Deserialize;
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A `Response` as it is read: a thousand units in a few milliseconds, which a flattened type does not do.
#[derive(Deserialize)]
struct Heard {
    ok: Option<Answer>,
    error: Option<WireError>,
}

/// One connection. Questions are asked one after the other.
#[derive(Debug)]
pub struct Client {
    reading: BufReader<UnixStream>,
    writing: UnixStream,
    next_id: u64,
    patience: Cell<Option<Duration>>,
    /// Where a successor is found.
    place: Option<Place>,
    replaced: u32,
}

/// A guardian whose supervisors crash one after the other waits ever longer. Whoever asks for something is told so.
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

    /// Its questions are put again to the successor of a supervisor that goes away.
    #[must_use]
    pub fn lasting(mut self, place: &Place) -> Self {
        self.place = Some(place.clone());
        self
    }

    /// How long to wait for an answer; without a limit if none is given.
    pub fn be_patient(&self, patience: Option<Duration>) -> Result<(), ClientError> {
        self.patience.set(patience);
        self.writing.set_read_timeout(patience).map_err(ClientError::Lost)
    }

    /// Asks, without waiting for the answer.
    pub fn ask(&mut self, call: Call) -> Result<u64, ClientError> {
        self.next_id += 1;
        let request = Request { id: self.next_id, call };
        let mut line = serde_json::to_vec(&request).map_err(|_| ClientError::Unexpected)?;
        line.push(b'\n');
        // If it will not listen to the end, it has said why.
        if let Err(error) = self.writing.write_all(&line) {
            return match self.next_answer() {
                Err(ClientError::Refused(refusal)) => Err(ClientError::Refused(refusal)),
                Ok(_) | Err(_) => Err(ClientError::Lost(error)),
            };
        }
        Ok(self.next_id)
    }

    /// The next answer, to whichever question.
    pub fn next_answer(&mut self) -> Result<Answer, ClientError> {
        let mut line = Vec::new();
        self.reading.read_until(b'\n', &mut line).map_err(ClientError::Lost)?;
        // Half an answer is none: who gave it has gone.
        if line.last() != Some(&b'\n') {
            return Err(ClientError::Lost(io::ErrorKind::UnexpectedEof.into()));
        }
        let heard: Heard = serde_json::from_slice(&line).map_err(|_| ClientError::Unexpected)?;
        match (heard.ok, heard.error) {
            (Some(answer), _) => Ok(answer),
            (None, Some(refusal)) => Err(ClientError::Refused(refusal)),
            (None, None) => Err(ClientError::Unexpected),
        }
    }

    /// The answer. A supervisor that goes away before it has answered is followed by another, which is asked again if
    /// asking twice does no harm.
    pub fn call(&mut self, call: Call) -> Result<Answer, ClientError> {
        let Some(place) = self.place.clone().filter(|_| may_repeat(&call)) else {
            return self.call_once(call);
        };
        let mut deaths = 0;
        loop {
            match self.call_once(call.clone()) {
                Err(ClientError::Lost(error)) if !is_impatience(&error) => {
                    deaths += 1;
                    if deaths > RESENDS_MOST && !only_waits(&call) {
                        return Err(ClientError::Deadly { home: place.home, deaths });
                    }
                    let within = Some(SUCCESSOR_WITHIN).filter(|_| !only_waits(&call));
                    let successor = successor(&place, within)?;
                    successor.be_patient(self.patience.get())?;
                    *self = Self { replaced: self.replaced + 1, ..successor };
                }
                outcome => return outcome,
            }
        }
    }

    /// How often a supervisor went away under a question that was then put to its successor.
    pub fn replaced(&self) -> u32 {
        self.replaced
    }

    fn call_once(&mut self, call: Call) -> Result<Answer, ClientError> {
        self.ask(call)?;
        self.next_answer()
    }

    /// Becomes readable when an answer comes.
    pub fn waiting(&self) -> BorrowedFd<'_> {
        self.writing.as_fd()
    }

    /// Begins to look at a run.
    pub fn view(mut self, call: ViewCall) -> Result<View, ClientError> {
        let from = call.from;
        match self.call(Call::View(call))? {
            Answer::Viewing(viewing) => Ok(View::new(viewing, from, self.reading, self.writing)),
            _ => Err(ClientError::Unexpected),
        }
    }

    /// Gives everything `source` has to a run's standard input; returns how much it was.
    pub fn give(
        &mut self,
        run: &str,
        mut source: impl Read,
        eof: bool,
    ) -> Result<u64, ClientError> {
        match self.call(Call::Write(Target { run: run.to_owned() }))? {
            Answer::Writing => {}
            _ => return Err(ClientError::Unexpected),
        }
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
        match (self.next_answer(), sent) {
            (Ok(Answer::Written(length)), Ok(())) => Ok(length),
            (Err(ClientError::Lost(_)), _) | (Ok(_), Err(_)) => Err(unknown()),
            (Err(error), _) => Err(error),
            (Ok(_), Ok(())) => Err(ClientError::Unexpected),
        }
    }

    fn send(&mut self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        self.writing.write_all(&kind.header(payload.len()))?;
        self.writing.write_all(payload)
    }
}

/// It is there, but took longer than we wanted to wait.
fn is_impatience(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
