//! Follows a run in the foreground: shows its output and sends it the user's keys, until it ends or the user detaches.

use super::reconnecting_view::{Line, ReconnectingView};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use ostler_client::{ClientError, Frame};
use ostler_model::{RunId, RunResult};
use ostler_ops::runs::Cancel;
use ostler_ops::wire::ErrorCode;
use ostler_os::{Foreground, ForegroundEvents, RawMode};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The source of the run's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    None,
    /// Standard input of this process; `close` says whether its end closes the run's input.
    Stdin {
        close: bool,
    },
    /// The terminal of this process, in raw mode; the key `detach` ends the view.
    Terminal {
        detach: u8,
    },
}

/// The reaction to SIGINT, SIGTERM or a closed terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInterrupt {
    /// Cancel the run: `ostler run`.
    Cancel,
    /// Leave the run alone: closing the window of `ostler attach` must not stop an agent.
    Leave,
}

#[derive(Debug)]
pub enum Ending {
    Ended(RunResult),
    Detached,
}

/// The state of the display that is needed at the end.
#[derive(Debug)]
pub struct Follow {
    run: RunId,
    captured: Option<(Vec<u8>, Vec<u8>)>,
    inside_a_line: bool,
}

impl Follow {
    pub fn new(run: RunId, capture: bool) -> Self {
        Self { run, captured: capture.then(|| (Vec::new(), Vec::new())), inside_a_line: false }
    }

    pub fn captured(&self) -> Option<(&[u8], &[u8])> {
        self.captured.as_ref().map(|(stdout, stderr)| (stdout.as_slice(), stderr.as_slice()))
    }

    pub fn ended_inside_a_line(&self) -> bool {
        self.inside_a_line
    }

    pub fn until_ended(
        &mut self,
        context: &Context,
        mut view: ReconnectingView,
        keys: Keys,
        events: ForegroundEvents,
        on_interrupt: OnInterrupt,
    ) -> Result<Ending, Failure> {
        let raw = match keys {
            // The terminal is restored before any message is printed, also after an error.
            Keys::Terminal { .. } => Some(RawMode::enter()?),
            Keys::None | Keys::Stdin { .. } => None,
        };
        let left = Arc::new(AtomicBool::new(false));
        if keys != Keys::None {
            let line = view.line();
            let left = Arc::clone(&left);
            std::thread::spawn(move || type_keys(&line, keys, on_interrupt, &left));
        }
        self.receive(context, view.line(), events, keys, on_interrupt, Arc::clone(&left));
        let outcome = self.show(&mut view, &left);
        drop(raw);
        outcome
    }

    /// Handles signals: the second interrupt ends this process in any case; a new window size is passed to the run.
    fn receive(
        &self,
        context: &Context,
        line: Line,
        events: ForegroundEvents,
        keys: Keys,
        on_interrupt: OnInterrupt,
        left: Arc<AtomicBool>,
    ) {
        let run = self.run.to_string();
        let context = context.clone();
        let is_terminal = matches!(keys, Keys::Terminal { .. });
        std::thread::spawn(move || {
            let mut interrupted = false;
            while let Ok(event) = events.wait() {
                match event {
                    Foreground::WindowChanged => {
                        if let Some(size) = ostler_os::own_terminal_size().filter(|_| is_terminal) {
                            line.resize(size);
                        }
                    }
                    Foreground::Interrupted if interrupted => leave_now(),
                    Foreground::Interrupted => {
                        interrupted = true;
                        if on_interrupt == OnInterrupt::Leave {
                            left.store(true, Ordering::Release);
                            line.close();
                        } else if let Ok(mut client) = context.connect_running() {
                            let _ = client.call(&Cancel::of(&run));
                        }
                    }
                }
            }
        });
    }

    fn show(&mut self, view: &mut ReconnectingView, left: &AtomicBool) -> Result<Ending, Failure> {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        loop {
            let Some(frame) = view.next_frame(left)? else { return Ok(Ending::Detached) };
            // If the reader of our output closes the pipe, the run continues; only the display stops.
            match frame {
                Frame::Stdout(bytes) => {
                    self.inside_a_line = bytes.last().is_some_and(|byte| *byte != b'\n');
                    match &mut self.captured {
                        Some((kept, _)) => {
                            self.inside_a_line = false;
                            kept.extend_from_slice(bytes);
                        }
                        None => {
                            let _ =
                                stdout.lock().write_all(bytes).and_then(|()| stdout.lock().flush());
                        }
                    }
                }
                Frame::Stderr(bytes) => match &mut self.captured {
                    Some((_, kept)) => kept.extend_from_slice(bytes),
                    None => {
                        let _ = stderr.lock().write_all(bytes);
                    }
                },
                Frame::Gap(gap) => {
                    let _ = writeln!(
                        stderr.lock(),
                        "ostler: {} bytes of output (offset {} to {}) could not be stored",
                        gap.to - gap.from,
                        gap.from,
                        gap.to
                    );
                }
                Frame::Time(_) => {}
                Frame::Ended(result) => return Ok(Ending::Ended(result)),
                Frame::Caught => return Ok(Ending::Detached),
                // The run no longer accepts input; the display continues.
                Frame::Error(refusal) if refusal.code == ErrorCode::Conflict => {}
                Frame::Error(refusal) => return Err(ClientError::Refused(refusal).into()),
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the second Ctrl-C exits immediately, from the thread that receives it"
)]
fn leave_now() -> ! {
    std::process::exit(i32::from(Exit(130).0))
}

fn type_keys(line: &Line, keys: Keys, on_interrupt: OnInterrupt, left: &AtomicBool) {
    let mut buffer = [0u8; 64 << 10];
    let mut stdin = io::stdin().lock();
    loop {
        let length = match stdin.read(&mut buffer) {
            Ok(0) | Err(_) => {
                match keys {
                    Keys::Stdin { close: true } => {
                        let _ = line.end_of_input();
                    }
                    // The window is closed. With `Leave` the run continues. With `Cancel` the SIGHUP that comes
                    // with it cancels the run.
                    Keys::Terminal { .. } if on_interrupt == OnInterrupt::Leave => {
                        left.store(true, Ordering::Release);
                        line.close();
                    }
                    Keys::Terminal { .. } | Keys::Stdin { close: false } | Keys::None => {}
                }
                return;
            }
            Ok(length) => length,
        };
        let bytes = &buffer[..length];
        let leaving = match keys {
            Keys::Terminal { detach } => bytes.iter().position(|byte| *byte == detach),
            Keys::None | Keys::Stdin { .. } => None,
        };
        let typed = &bytes[..leaving.unwrap_or(length)];
        if !typed.is_empty() && line.input(typed).is_err() {
            return;
        }
        if leaving.is_some() {
            left.store(true, Ordering::Release);
            line.detach();
            return;
        }
    }
}
