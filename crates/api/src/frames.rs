//! Frames from a caller. Reading and taking are apart, so that a read can be given up at any moment
//! without losing half a frame, and a caller that hangs up is noticed while its input is being delivered.

use crate::connection::Reading;
use crate::find::error;
use ostler_model::wire::{ErrorCode, FrameKind, WireError};
use std::future::Future;
use std::time::Duration;
use tokio::io::{AsyncReadExt, Interest};

/// How far a caller may be ahead of the run that reads its input.
const AHEAD_MOST: usize = 2 * FrameKind::MAX_PAYLOAD;
/// How often a caller that is so far ahead is looked after.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: Vec<u8>,
    taken: usize,
}

/// The caller hung up, or sent what is not a frame.
#[derive(Debug)]
pub(crate) enum Stop {
    HungUp,
    Bad(WireError),
}

impl Frames {
    /// The next frame.
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

    /// Waits for `work` while the caller is there to see it done.
    pub(crate) async fn while_heard<T>(
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
                // Not read any further; so its leaving does not show as the end of what it sent.
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
        let Some((header, rest)) =
            self.buffer[self.taken..].split_first_chunk::<{ FrameKind::HEADER }>()
        else {
            return Ok(None);
        };
        let (kind, length) = FrameKind::parse(*header)
            .map_err(|message| Stop::Bad(error(ErrorCode::InvalidRequest, message)))?;
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let payload = payload.to_vec();
        self.taken += FrameKind::HEADER + length;
        Ok(Some((kind, payload)))
    }
}
