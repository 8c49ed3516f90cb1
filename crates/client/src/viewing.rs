//! The two directions of an attached viewer.

use crate::error::ClientError;
use ostler_model::RunResult;
use ostler_model::TerminalSize;
use ostler_model::wire::{FrameKind, Gap, TimeMark, Viewing, WireError};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

/// What a viewer is shown.
#[derive(Debug)]
pub enum Frame<'a> {
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
    Gap(Gap),
    Time(TimeMark),
    Ended(RunResult),
    /// There is nothing more for now.
    Caught,
    Error(WireError),
}

#[derive(Debug)]
pub struct View {
    pub viewing: Viewing,
    reading: BufReader<UnixStream>,
    writing: UnixStream,
    payload: Vec<u8>,
}

impl View {
    pub(crate) fn new(
        viewing: Viewing,
        reading: BufReader<UnixStream>,
        writing: UnixStream,
    ) -> Self {
        Self { viewing, reading, writing, payload: Vec::new() }
    }

    /// For another thread, to type and resize.
    pub fn sender(&self) -> Result<FrameSender, ClientError> {
        Ok(FrameSender { writing: self.writing.try_clone().map_err(ClientError::Lost)? })
    }

    pub fn next_frame(&mut self) -> Result<Frame<'_>, ClientError> {
        let mut header = [0u8; FrameKind::HEADER];
        self.reading.read_exact(&mut header).map_err(ClientError::Lost)?;
        let (kind, length) = FrameKind::parse(header).map_err(|_| ClientError::Unexpected)?;
        self.payload.resize(length, 0);
        self.reading.read_exact(&mut self.payload).map_err(ClientError::Lost)?;
        let payload = &self.payload;
        fn json<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ClientError> {
            serde_json::from_slice(bytes).map_err(|_| ClientError::Unexpected)
        }
        Ok(match kind {
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

    /// Ends the view for both directions.
    pub fn close(&mut self) -> io::Result<()> {
        self.writing.shutdown(std::net::Shutdown::Both)
    }

    /// One write a frame, so that two senders do not mix.
    fn send(&mut self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(FrameKind::HEADER + payload.len());
        frame.extend_from_slice(&kind.header(payload.len()));
        frame.extend_from_slice(payload);
        self.writing.write_all(&frame)
    }
}
