//! Waiting with a deadline, for what nobody can tell us.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up. Generous: a loaded machine is no failure.
pub const PATIENCE: Duration = Duration::from_secs(30);

const STEP: Duration = Duration::from_millis(5);

/// Waits until the answer is there; panics with `what` if it does not come.
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
        assert!(began.elapsed() < patience, "waited {patience:?} in vain: {what}");
        std::thread::sleep(STEP);
    }
}
