//! Connection slots. A connection is unproven until one of its requests had a valid token.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::AbortHandle;

pub const CONNECTIONS_MOST: usize = 128;
/// At most half of the slots are for unproven connections.
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

/// The unproven connections, oldest first.
#[derive(Debug, Default)]
pub struct Slots {
    strangers: VecDeque<(TokenShown, AbortHandle)>,
}

impl Slots {
    /// Whether there is a slot for one more connection in addition to `all`. If there is none, the oldest unproven
    /// connection is closed, so that a short request such as `/healthz` is answered even if many connections are held
    /// open.
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
