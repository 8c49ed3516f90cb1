use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

fn millis(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64) * 1_000 + (time.tv_nsec as u64) / 1_000_000
}

/// The monotonic clock. It is the same for every process of one boot.
pub fn mono_ms() -> u64 {
    millis(ClockId::Monotonic)
}

/// When a process started, computed from the kernel's start time.
pub fn started_at_ms(pid: i32) -> Option<u64> {
    let ticks = super::identity::fingerprint_of(pid)?.start_time;
    let started_ms = ticks * 1_000 / rustix::param::clock_ticks_per_second();
    Some(wall_ms().saturating_sub(millis(ClockId::Boottime).saturating_sub(started_ms)))
}

/// Through the C library, not directly from the kernel: a test, such as the campaign in `faults/`, can preload a false
/// clock there.
#[expect(clippy::disallowed_methods, reason = "the only place that reads the wall clock")]
pub fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}
