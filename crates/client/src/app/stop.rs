//! A stop request: its reason and its time limit.

use super::clock;
use std::time::{Duration, Instant};

/// Who requested the stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopRequester {
    Ostlers,
    /// A signal or the app itself; Ostler does not know of it yet.
    Own,
}

/// A stop request. The first one wins, because Ostler may send an event and a signal.
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

    /// The given reason, or the name of the signal.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The time for the complete shutdown, from the request on.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The remaining time. After it, Ostler kills the process and all it has started.
    pub fn left(&self) -> Duration {
        (self.asked_at + self.timeout).saturating_duration_since(clock::now())
    }

    pub(super) fn wish(&self) -> StopRequester {
        self.wish
    }

    /// A little less than the timeout, so that the process can still log why it ends.
    pub(super) fn own_limit(&self) -> Duration {
        self.timeout.mul_f64(0.95)
    }

    pub(super) fn give_up_at(&self) -> Instant {
        self.asked_at + self.own_limit()
    }
}
