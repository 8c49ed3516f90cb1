use rustix::time::{ClockId, clock_gettime};

fn millis(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64) * 1_000 + (time.tv_nsec as u64) / 1_000_000
}

/// The clock nobody sets. The same for every process of one boot.
pub fn mono_ms() -> u64 {
    millis(ClockId::Monotonic)
}

/// When a process began, by the kernel's account.
pub fn started_at_ms(pid: i32) -> Option<u64> {
    let ticks = super::identity::fingerprint_of(pid)?.start_time;
    let started_ms = ticks * 1_000 / rustix::param::clock_ticks_per_second();
    Some(wall_ms() - millis(ClockId::Boottime).saturating_sub(started_ms))
}

pub fn wall_ms() -> u64 {
    millis(ClockId::Realtime)
}
