//! Rate limit for the starts of a unit. Every start passes here, whether a restart policy, a person, a schedule, a
//! check or a changed file caused it.

use std::collections::VecDeque;

/// The most starts of one unit within a second.
pub const STARTS_MOST: usize = 10;
const WITHIN_MS: u64 = 1_000;

/// The recent starts of a unit, on the monotonic clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    starts_ms: VecDeque<u64>,
}

impl Pace {
    /// The earliest time of the next start, if it is not now.
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
