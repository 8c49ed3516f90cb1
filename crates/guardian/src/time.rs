//! Clocks, and time as text.

use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn mono_ms() -> u64 {
    millis(ClockId::Monotonic)
}

/// Through the C library, so that a test can preload a false clock.
#[expect(clippy::disallowed_methods, reason = "the guardian's only reader of the wall clock")]
pub(crate) fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

fn millis(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000 + time.tv_nsec as u64 / 1_000_000
}

/// `2026-02-08T14:30:00Z`
pub(crate) fn rfc3339(wall_ms: u64) -> String {
    written(wall_ms, "%Y-%m-%dT%H:%M:%SZ")
}

/// `2026-02-08 14:30:00`, in UTC.
pub(crate) fn plain(wall_ms: u64) -> String {
    written(wall_ms, "%Y-%m-%d %H:%M:%S")
}

fn written(wall_ms: u64, format: &str) -> String {
    let time = jiff::Timestamp::from_millisecond(wall_ms as i64).unwrap_or_default();
    time.strftime(format).to_string()
}

/// `42s`, `3m42s`, `2h34m`, `1d2h34m`
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m{}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h{minutes}m"),
        (days, hours, minutes) => format!("{days}d{hours}h{minutes}m"),
    }
}
