//! The rate limit of one connection.

/// Requests per second that are always read, and the size of a burst.
pub(crate) const RATE: u64 = 5_000;
const BURST: u64 = 2 * RATE;

#[derive(Debug)]
pub(crate) struct Rate {
    /// In thousandths of a request.
    left: u64,
    at_ms: u64,
}

impl Rate {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { left: BURST * 1_000, at_ms: now_ms }
    }

    /// Counts requests, and returns the delay before the next read.
    pub(crate) fn count(&mut self, requests: u64, now_ms: u64) -> u64 {
        let earned = now_ms.saturating_sub(self.at_ms).saturating_mul(RATE);
        self.left = self.left.saturating_add(earned).min(BURST * 1_000);
        self.at_ms = now_ms;
        let wanted = requests * 1_000;
        if wanted <= self.left {
            self.left -= wanted;
            return 0;
        }
        let missing = wanted - self.left;
        self.left = 0;
        // The requests of this delay are already used up.
        let wait_ms = missing.div_ceil(RATE);
        self.at_ms = now_ms + wait_ms;
        wait_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_slowed_down_to_the_rate() {
        let (mut rate, mut now_ms, mut read) = (Rate::new(0), 0, 0);
        while now_ms < 10_000 {
            now_ms += rate.count(100, now_ms);
            read += 100;
            if read > BURST && now_ms == 0 {
                panic!("{read} at once");
            }
        }
        assert!((10 * RATE..=12 * RATE + 100).contains(&read), "{read}");
        // The rate budget refills while the app is idle.
        assert_eq!(rate.count(RATE, now_ms + 5_000), 0);
    }
}
