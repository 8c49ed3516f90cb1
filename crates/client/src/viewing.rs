//! The two directions of an attached viewer.

use crate::error::ClientError;
use ostler_model::RunResult;
use ostler_model::TerminalSize;
use ostler_ops::runs::{ViewFrom, Viewing};
use ostler_ops::wire::{FrameKind, Gap, TimeMark, WireError};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

/// A frame for the viewer.
#[derive(Debug)]
pub enum Frame<'a> {
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
    Gap(Gap),
    Time(TimeMark),
    Ended(RunResult),
    /// There is nothing more at the moment.
    Caught,
    Error(WireError),
}

#[derive(Debug)]
pub struct View {
    pub viewing: Viewing,
    reading: BufReader<UnixStream>,
    writing: UnixStream,
    kind: FrameKind,
    payload: Vec<u8>,
    /// The end of the log that was shown.
    offset: u64,
    /// The first frame is a screen image, not a part of the log.
    is_picture_next: bool,
}

impl View {
    pub(crate) fn new(
        viewing: Viewing,
        from: ViewFrom,
        reading: BufReader<UnixStream>,
        writing: UnixStream,
    ) -> Self {
        Self {
            offset: viewing.offset,
            is_picture_next: viewing.pty && matches!(from, ViewFrom::Screen),
            viewing,
            reading,
            writing,
            kind: FrameKind::Caught,
            payload: Vec::new(),
        }
    }

    /// The offset at which another view would continue.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns a sender for input and resizes, for another thread.
    pub fn sender(&self) -> Result<FrameSender, ClientError> {
        Ok(FrameSender { writing: self.writing.try_clone().map_err(ClientError::Lost)? })
    }

    /// Waits for the next frame.
    pub fn advance(&mut self) -> Result<(), ClientError> {
        let mut header = [0u8; FrameKind::HEADER];
        self.reading.read_exact(&mut header).map_err(ClientError::Lost)?;
        let (kind, length) = FrameKind::parse(header).map_err(|_| ClientError::Unexpected)?;
        self.payload.resize(length, 0);
        self.reading.read_exact(&mut self.payload).map_err(ClientError::Lost)?;
        self.kind = kind;
        match kind {
            FrameKind::Stdout if std::mem::take(&mut self.is_picture_next) => {}
            FrameKind::Stdout | FrameKind::Stderr => self.offset += length as u64,
            FrameKind::Gap => {
                if let Ok(gap) = serde_json::from_slice::<Gap>(&self.payload) {
                    self.offset = gap.to;
                }
            }
            FrameKind::Time
            | FrameKind::Ended
            | FrameKind::Caught
            | FrameKind::Error
            | FrameKind::Input
            | FrameKind::EndOfInput
            | FrameKind::Resize
            | FrameKind::Detach => {}
        }
        Ok(())
    }

    /// The last frame.
    pub fn frame(&self) -> Result<Frame<'_>, ClientError> {
        let payload = &self.payload;
        fn json<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ClientError> {
            serde_json::from_slice(bytes).map_err(|_| ClientError::Unexpected)
        }
        Ok(match self.kind {
            FrameKind::Stdout => Frame::Stdout(payload),
            FrameKind::Stderr => Frame::Stderr(payload),
            FrameKind::Gap => Frame::Gap(json(payload)?),
            FrameKind::Time => Frame::Time(json(payload)?),
            FrameKind::Ended => Frame::Ended(json(payload)?),
            FrameKind::Caught => Frame::Caught,
            FrameKind::Error => Frame::Error(json(payload)?),
            FrameKind::Input | FrameKind::EndOfInput | FrameKind::Resize | FrameKind::Detach => {
                return Err(ClientError::Unexpected);
            }
        })
    }
}

#[derive(Debug)]
pub struct FrameSender {
    writing: UnixStream,
}

impl FrameSender {
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { writing: self.writing.try_clone()? })
    }

    pub fn input(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send(FrameKind::Input, bytes)
    }

    pub fn end_of_input(&mut self) -> io::Result<()> {
        self.send(FrameKind::EndOfInput, &[])
    }

    pub fn resize(&mut self, size: TerminalSize) -> io::Result<()> {
        self.send(FrameKind::Resize, &serde_json::to_vec(&size)?)
    }

    pub fn detach(&mut self) -> io::Result<()> {
        self.send(FrameKind::Detach, &[])
    }

    /// Ends both directions of the view.
    pub fn close(&mut self) -> io::Result<()> {
        self.writing.shutdown(std::net::Shutdown::Both)
    }

    /// Writes each frame in one call, so that two senders do not mix.
    fn send(&mut self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(FrameKind::HEADER + payload.len());
        frame.extend_from_slice(&kind.header(payload.len()));
        frame.extend_from_slice(payload);
        self.writing.write_all(&frame)
    }
}
