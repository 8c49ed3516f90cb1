use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// The monotonic clock. It is the same for every process of one boot.
pub fn mono_ms() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64) * 1_000 + (time.tv_nsec as u64) / 1_000_000
}

/// Through the C library, not directly from the kernel: a test, such as the campaign in `faults/`, can preload a false
/// clock there.
#[expect(clippy::disallowed_methods, reason = "the only place that reads the wall clock")]
pub fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}
