//! A run's standard input, or its terminal's keyboard.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::sync::Mutex;

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
