//! Why an app ends, and how long it has for it.

use super::clock;
use std::time::{Duration, Instant};

/// Who wants it to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopRequester {
    Ostlers,
    /// A signal's, or the app's: Ostler does not know of it yet.
    Own,
}

/// A request to end. The first one decides; Ostler may well send both an event and a signal.
#[derive(Clone, Debug)]
pub struct Stop {
    reason: String,
    timeout: Duration,
    asked_at: Instant,
    wish: StopRequester,
}

impl Stop {
    pub(super) fn new(reason: &str, timeout: Duration, wish: StopRequester) -> Self {
        Self { reason: reason.to_owned(), timeout, asked_at: clock::now(), wish }
    }

    /// The reason that was given, or the signal's name.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// How long all of it may take, from when it was asked on.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How much of that is left. When none is, the process and all it has started are killed.
    pub fn left(&self) -> Duration {
        (self.asked_at + self.timeout).saturating_duration_since(clock::now())
    }

    pub(super) fn wish(&self) -> StopRequester {
        self.wish
    }

    /// When the time is up the process is killed: a little earlier it can still say why.
    pub(super) fn own_limit(&self) -> Duration {
        self.timeout.mul_f64(0.95)
    }

    pub(super) fn give_up_at(&self) -> Instant {
        self.asked_at + self.own_limit()
    }
}
