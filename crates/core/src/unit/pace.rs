//! How fast a unit may be started. Every start goes through here, whatever decided it: a restart policy, a person, a
//! schedule, a check, a changed file.

use std::collections::VecDeque;

/// No unit is started more often than this in a second.
pub const STARTS_MOST: usize = 10;
const WITHIN_MS: u64 = 1_000;

/// When a unit was started lately, on the monotonic clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    starts_ms: VecDeque<u64>,
}

impl Pace {
    /// When it may be started next, if not now.
    pub(crate) fn not_before(&self, now_ms: u64) -> Option<u64> {
        let oldest = *self.starts_ms.front().filter(|_| self.starts_ms.len() == STARTS_MOST)?;
        let next = oldest.saturating_add(WITHIN_MS);
        (now_ms < next).then_some(next)
    }

    pub(crate) fn started(&mut self, now_ms: u64) {
        if self.starts_ms.len() == STARTS_MOST {
            self.starts_ms.pop_front();
        }
        self.starts_ms.push_back(now_ms);
    }
}
