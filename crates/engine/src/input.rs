//! A run's standard input, or its terminal's keyboard.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::Mutex;

#[derive(Debug, Error)]
pub enum InputError {
    #[error("run {run} was started without --stdin: its standard input is empty")]
    NotOpen { run: ostler_model::RunId },
    #[error("the standard input of run {run} was closed (--eof)")]
    Closed { run: ostler_model::RunId },
}

/// What can be written to. One writer at a time: two callers' bytes do not mix.
#[derive(Debug)]
pub enum Input {
    Closed,
    Pipe(Mutex<Option<Arc<OwnedFd>>>),
    Terminal { master: Arc<OwnedFd>, turn: Mutex<()> },
}

impl Input {
    pub fn is_writable(&self) -> bool {
        !matches!(self, Input::Closed)
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self, Input::Terminal { .. })
    }
}
