use rustix::time::{ClockId, clock_gettime};

fn millis(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64) * 1_000 + (time.tv_nsec as u64) / 1_000_000
}

/// The clock nobody sets. The same for every process of one boot.
pub fn mono_ms() -> u64 {
    millis(ClockId::Monotonic)
}

pub fn wall_ms() -> u64 {
    millis(ClockId::Realtime)
}
