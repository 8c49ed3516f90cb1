//! Who has a place. A connection counts as a stranger's until a request on it had a valid token.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::AbortHandle;

pub const CONNECTIONS_MOST: usize = 128;
/// Strangers get no more than half.
const STRANGERS_MOST: usize = CONNECTIONS_MOST / 2;

/// Whether a connection has shown a valid token.
#[derive(Clone, Debug, Default)]
pub struct TokenShown(Arc<AtomicBool>);

impl TokenShown {
    pub fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The strangers, the oldest first.
#[derive(Debug, Default)]
pub struct Slots {
    strangers: VecDeque<(TokenShown, AbortHandle)>,
}

impl Slots {
    /// Whether there is a place for one more of `all` connections. A stranger that came earlier makes room for it, so that
    /// a short request such as `/healthz` is answered however many connections are held open.
    pub fn make_room(&mut self, all: usize) -> bool {
        self.strangers.retain(|(proven, task)| !proven.is() && !task.is_finished());
        if self.strangers.len() < STRANGERS_MOST && all < CONNECTIONS_MOST {
            return true;
        }
        match self.strangers.pop_front() {
            Some((_, task)) => {
                task.abort();
                true
            }
            None => false,
        }
    }

    pub fn add(&mut self, proven: TokenShown, task: AbortHandle) {
        self.strangers.push_back((proven, task));
    }
}
