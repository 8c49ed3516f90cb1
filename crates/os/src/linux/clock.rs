use rustix::time::{ClockId, clock_gettime};

pub use ostler_sys::{mono_ms, wall_ms};

/// When a process started, computed from the kernel's start time.
pub fn started_at_ms(pid: i32) -> Option<u64> {
    let ticks = super::identity::fingerprint_of(pid)?.start_time;
    let started_ms = ticks * 1_000 / rustix::param::clock_ticks_per_second();
    let now = clock_gettime(ClockId::Boottime);
    let now_ms = (now.tv_sec as u64) * 1_000 + (now.tv_nsec as u64) / 1_000_000;
    Some(wall_ms().saturating_sub(now_ms.saturating_sub(started_ms)))
}
