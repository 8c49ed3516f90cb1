//! When a unit is restarted, after which delay, and when it is given up: one type for all presets.

mod backoff;
mod exit;
mod verdict;

pub use backoff::{is_reached, recent, slow, wait_ms};
pub use exit::{Cause, Death, ExitClass, ExitRule, rule};
pub use verdict::{REQUESTS_MOST, RestartRequests, Verdict, after, after_with, clear};
