//! A view that outlasts the supervisor it began with: the run goes on, and so does whoever looks at it.

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

    /// Behind the last byte of the log that was shown.
    pub fn offset(&self) -> u64 {
        self.view.offset()
    }

    /// For other threads, to type and resize.
    pub fn line(&self) -> Line {
        self.line.clone()
    }

    /// The next that is to be shown, from whichever supervisor. `None` once we have left.
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

    /// From where we were; a screen is drawn anew.
    fn again(&mut self) -> Result<(), Failure> {
        let is_drawn = matches!(self.call.from, ViewFrom::Screen) && self.view.viewing.pty;
        let call = runs::View {
            run: self.view.viewing.run_id.to_string(),
            from: if is_drawn { ViewFrom::Screen } else { ViewFrom::Offset(self.view.offset()) },
            ..self.call.clone()
        };
        // One that ends while it shows us the run may have been ended by anything. One that ends before it
        // has begun to may have been ended by the request.
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

/// What is typed, to whichever supervisor is there.
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

    /// What was given to a supervisor that died before it passed it on is lost with it.
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
