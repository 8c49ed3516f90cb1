//! A run's standard input or terminal input.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Writers take turns, so that the bytes of two callers do not mix.
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
