//! The clocks. An app does not depend on Ostler's other crates, so it reads the time itself.

use std::time::{Duration, Instant, SystemTime};

#[expect(clippy::disallowed_methods, reason = "an app is built without ostler_os")]
pub(super) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "an app is built without ostler_os")]
pub(super) fn wall() -> SystemTime {
    SystemTime::now()
}

/// Milliseconds since 1970, as on the wire.
pub(super) fn wall_ms() -> u64 {
    let since = wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    as_ms(since)
}

pub(super) fn as_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
