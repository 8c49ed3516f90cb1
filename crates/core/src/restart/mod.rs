//! When a unit is started again, after how long, and when no more: one type for every document.

mod backoff;
mod exit;
mod verdict;

pub use backoff::{is_reached, slow, wait_ms};
pub use exit::{Cause, Death, ExitClass, ExitRule, rule};
pub use verdict::{Verdict, WISHES_MOST, Wishes, after, after_with, clear};
