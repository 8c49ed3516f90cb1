//! A view of a run that reconnects after a supervisor restart.

use crate::context::Context;
use crate::exit::Failure;
use ostler_client::{Client, ClientError, Frame, FrameSender, RESENDS_MOST, View};
use ostler_model::TerminalSize;
use ostler_ops::runs::{self, ViewFrom, Viewing};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub struct ReconnectingView {
    context: Context,
    call: runs::View,
    view: View,
    line: Line,
}

impl ReconnectingView {
    pub fn open(context: &Context, mut client: Client, call: runs::View) -> Result<Self, Failure> {
        let mut deaths = 0;
        let view = loop {
            match client.view(&call) {
                Err(ClientError::Lost(_)) if deaths < RESENDS_MOST => {
                    deaths += 1;
                    client = context.connect_again()?;
                }
                Err(ClientError::Lost(_)) => return Err(context.deadly().into()),
                view => break view?,
            }
        };
        let line = Line { sender: Arc::new(Mutex::new(view.sender()?)) };
        Ok(Self { context: context.clone(), call, view, line })
    }

    pub fn viewing(&self) -> &Viewing {
        &self.view.viewing
    }

    /// The offset after the last shown byte of the log.
    pub fn offset(&self) -> u64 {
        self.view.offset()
    }

    /// The sending side, for the threads that type and resize.
    pub fn line(&self) -> Line {
        self.line.clone()
    }

    /// The next frame, from the present supervisor. `None` after a detach.
    pub fn next_frame(&mut self, left: &AtomicBool) -> Result<Option<Frame<'_>>, Failure> {
        loop {
            match self.view.advance() {
                Ok(()) => break,
                Err(ClientError::Lost(_)) if left.load(Ordering::Acquire) => return Ok(None),
                Err(ClientError::Lost(_)) => self.again()?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(self.view.frame()?))
    }

    /// Reconnects and continues at the last offset; a screen is redrawn.
    fn again(&mut self) -> Result<(), Failure> {
        let is_drawn = matches!(self.call.from, ViewFrom::Screen) && self.view.viewing.pty;
        let call = runs::View {
            run: self.view.viewing.run_id.to_string(),
            from: if is_drawn { ViewFrom::Screen } else { ViewFrom::Offset(self.view.offset()) },
            ..self.call.clone()
        };
        // A supervisor that dies while it sends output may have died for any reason. One that dies before it accepts
        // the view may have died from the request, so those deaths are counted.
        for _ in 0..=RESENDS_MOST {
            match self.context.connect_again()?.view(&call) {
                Ok(view) => {
                    *self.line.lock() = view.sender()?;
                    self.view = view;
                    return Ok(());
                }
                Err(ClientError::Lost(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(self.context.deadly().into())
    }
}

/// Sends input to the present supervisor.
#[derive(Clone, Debug)]
pub struct Line {
    sender: Arc<Mutex<FrameSender>>,
}

impl Line {
    const TRIES: u32 = 600;
    const PAUSE: Duration = Duration::from_millis(50);

    fn lock(&self) -> MutexGuard<'_, FrameSender> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends input. Input that a supervisor received but did not write before it died is lost.
    pub fn input(&self, bytes: &[u8]) -> io::Result<()> {
        self.insist(|sender| sender.input(bytes))
    }

    pub fn end_of_input(&self) -> io::Result<()> {
        self.insist(FrameSender::end_of_input)
    }

    fn insist(&self, send: impl Fn(&mut FrameSender) -> io::Result<()>) -> io::Result<()> {
        let mut tries = 0;
        loop {
            let outcome = send(&mut self.lock());
            tries += 1;
            if outcome.is_ok() || tries == Self::TRIES {
                return outcome;
            }
            ostler_os::nap(Self::PAUSE);
        }
    }

    pub fn resize(&self, size: TerminalSize) {
        let _ = self.lock().resize(size);
    }

    pub fn detach(&self) {
        let _ = self.lock().detach();
        self.close();
    }

    pub fn close(&self) {
        let _ = self.lock().close();
    }
}
