//! Reads frames from a caller. Reading and parsing are separate, so that a read can be cancelled without losing part
//! of a frame, and a disconnect is noticed while input is delivered. Input is passed on as it arrives, whatever the
//! length of its frame, so that little of it is held in memory.

use crate::connection::Reading;
use crate::find::error;
use ostler_ops::wire::{ErrorCode, FrameKind, WireError};
use std::future::Future;
use std::time::Duration;
use tokio::io::{AsyncReadExt, Interest};

/// How much input is buffered while the run does not read.
const AHEAD_MOST: usize = 32 << 10;
/// The maximum size of a frame that is not input.
const OTHER_MOST: usize = 4 << 10;
/// How often the connection is checked while that buffer is full.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: Vec<u8>,
    taken: usize,
    /// The remaining bytes of an input frame.
    input_left: usize,
}

/// The caller disconnected, or sent an invalid frame.
#[derive(Debug)]
pub(crate) enum Stop {
    HungUp,
    Bad(WireError),
}

impl Frames {
    /// The next frame; for input, the part that has arrived.
    pub(crate) async fn next(
        &mut self,
        reading: &mut Reading,
    ) -> Result<(FrameKind, Vec<u8>), Stop> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(frame);
            }
            self.fill(reading).await?;
        }
    }

    /// Waits for `work` while the caller is connected.
    pub(crate) async fn while_read<T>(
        &mut self,
        reading: &mut Reading,
        work: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        let mut work = std::pin::pin!(work);
        loop {
            if self.buffer.len() - self.taken < AHEAD_MOST {
                tokio::select! {
                    biased;
                    done = &mut work => return Ok(done),
                    filled = self.fill(reading) => filled?,
                }
            } else {
                // Nothing more is read, so a disconnect is not visible as the end of input.
                tokio::select! {
                    biased;
                    done = &mut work => return Ok(done),
                    () = tokio::time::sleep(LOOK_EVERY) => {
                        let ready = reading.get_ref().ready(Interest::READABLE).await;
                        if ready.is_ok_and(|ready| ready.is_read_closed()) {
                            return Err(Stop::HungUp);
                        }
                    }
                }
            }
        }
    }

    async fn fill(&mut self, reading: &mut Reading) -> Result<(), Stop> {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        match reading.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => Err(Stop::HungUp),
            Ok(_) => Ok(()),
        }
    }

    fn take(&mut self) -> Result<Option<(FrameKind, Vec<u8>)>, Stop> {
        if self.input_left > 0 {
            let there = self.buffer.len() - self.taken;
            return Ok((there > 0).then(|| self.take_input()));
        }
        let Some((header, rest)) =
            self.buffer[self.taken..].split_first_chunk::<{ FrameKind::HEADER }>()
        else {
            return Ok(None);
        };
        let bad = |message: String| Stop::Bad(error(ErrorCode::InvalidRequest, message));
        let (kind, length) = FrameKind::parse(*header).map_err(bad)?;
        if kind == FrameKind::Input {
            self.taken += FrameKind::HEADER;
            self.input_left = length;
            return if length == 0 { Ok(Some((kind, Vec::new()))) } else { self.take() };
        }
        if length > OTHER_MOST {
            return Err(bad(format!("a {kind:?} frame may have at most {OTHER_MOST} bytes")));
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let payload = payload.to_vec();
        self.taken += FrameKind::HEADER + length;
        Ok(Some((kind, payload)))
    }

    fn take_input(&mut self) -> (FrameKind, Vec<u8>) {
        let rest = &self.buffer[self.taken..];
        let bytes = rest[..rest.len().min(self.input_left)].to_vec();
        self.taken += bytes.len();
        self.input_left -= bytes.len();
        (FrameKind::Input, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes are split, the input is the same, and the next frame follows.
    #[test]
    fn frames_are_read_however_the_input_is_cut() {
        let mut sent = FrameKind::Input.header(10).to_vec();
        sent.extend(b"0123456789");
        sent.extend(FrameKind::Input.header(0));
        sent.extend(FrameKind::EndOfInput.header(0));
        for cut in 0..=sent.len() {
            let mut frames = Frames::default();
            let (mut input, mut ends) = (Vec::new(), 0);
            for part in [&sent[..cut], &sent[cut..]] {
                frames.buffer.extend_from_slice(part);
                while let Some((kind, bytes)) = frames.take().expect("frames") {
                    match kind {
                        FrameKind::Input => input.extend(bytes),
                        other => {
                            assert_eq!(other, FrameKind::EndOfInput);
                            ends += 1;
                        }
                    }
                }
            }
            assert_eq!((input.as_slice(), ends), (b"0123456789".as_slice(), 1), "cut at {cut}");
        }
    }
}
