//! The delay before the next connection attempt: 100 ms, doubled each time, at most 5 s.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { next: FIRST }
    }

    pub(super) fn next(&mut self) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).min(LONGEST);
        delay
    }

    /// A connection that lasted resets the delay.
    pub(super) fn settle(&mut self, lasted: Duration) {
        if lasted > LONGEST {
            self.next = FIRST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_its_longest_and_begins_anew_after_a_good_one() {
        let mut backoff = Backoff::new();
        let delays: Vec<u128> = (0..8).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        backoff.settle(Duration::from_secs(1));
        assert_eq!(backoff.next(), LONGEST);
        backoff.settle(Duration::from_secs(6));
        assert_eq!(backoff.next(), FIRST);
    }
}
