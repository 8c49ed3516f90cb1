//! One connection. This module handles lines and does not interpret them.

use super::clock;
use super::error::AppError;
use super::wire::{MAX_INCOMING, Message, decode};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// If Ostler reads nothing for this time, the connection is considered broken.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of reading a line.
#[derive(Debug)]
pub(super) enum Received {
    Message(Message),
    Garbage(Vec<u8>),
}

/// The reading half.
#[derive(Debug)]
pub(super) struct Connection {
    reading: BufReader<UnixStream>,
    /// The part of the next line that has arrived.
    line: Vec<u8>,
}

impl Connection {
    pub(super) fn open(path: &Path) -> Result<(Self, Writer), AppError> {
        let failed = |source| AppError::ConnectFailed { path: path.to_owned(), source };
        let stream = UnixStream::connect(path).map_err(failed)?;
        let writing = stream.try_clone().map_err(failed)?;
        writing.set_write_timeout(Some(WRITE_TIMEOUT)).map_err(failed)?;
        Ok((Self { reading: BufReader::new(stream), line: Vec::new() }, Writer { writing }))
    }

    /// Returns the next line, or a timeout. An incomplete line at the end of the connection is dropped.
    pub(super) fn next(&mut self, until: Option<Instant>) -> io::Result<Received> {
        loop {
            let left = until.map(|end| end.saturating_duration_since(clock::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.reading.get_ref().set_read_timeout(left)?;
            let remaining = (MAX_INCOMING - self.line.len()) as u64;
            let mut limited = self.reading.by_ref().take(remaining);
            let read = match limited.read_until(b'\n', &mut self.line) {
                // The loop checks the deadline above.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                read => read?,
            };
            if self.line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                return Ok(match decode(&line) {
                    Some(message) => Received::Message(message),
                    None => Received::Garbage(line),
                });
            }
            if read == 0 || self.line.len() >= MAX_INCOMING {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// The writing half.
#[derive(Debug)]
pub(super) struct Writer {
    writing: UnixStream,
}

impl Writer {
    pub(super) fn send(&mut self, line: &[u8]) -> io::Result<()> {
        let sent = self.writing.write_all(line);
        if sent.is_err() {
            // Part of a line may have been sent, so nothing can follow it.
            self.end();
        }
        sent
    }

    /// Shuts down both directions, which also ends the reading half. Data sent before still arrives.
    pub(super) fn end(&self) {
        let _ = self.writing.shutdown(Shutdown::Both);
    }
}
