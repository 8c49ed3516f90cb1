//! Waiting with a deadline, for events that no descriptor reports.

use std::time::{Duration, Instant};

/// The time limit of every wait. Generous, because the machine may be loaded.
pub const PATIENCE: Duration = Duration::from_secs(30);

const STEP: Duration = Duration::from_millis(5);

/// Polls until `look` returns a value; panics with `what` after the time limit.
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    eventually_within(PATIENCE, what, look)
}

pub fn eventually_within<T>(
    patience: Duration,
    what: &str,
    mut look: impl FnMut() -> Option<T>,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < patience, "waited {patience:?} without success: {what}");
        std::thread::sleep(STEP);
    }
}
