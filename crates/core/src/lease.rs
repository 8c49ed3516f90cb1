//! One owner at a time.
//!
//! An instance renews one lease for all its runs. While the lease holds, no other instance may touch them. After it
//! expires, the first instance that changes the owner in the registry has them. Taking over needs both clocks: the
//! wall time is what the record promises (`leaseExpiresAtMs`), and the monotonic time is not affected by clock jumps
//! or suspend.

use crate::Now;
use ostler_model::Settings;

/// Our own lease, as far as this process can know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    length_ms: u64,
    renewed_mono_ms: u64,
    renewal_asked: bool,
}

impl Lease {
    pub(crate) fn new(length_ms: u64, now: Now) -> Self {
        Self { length_ms, renewed_mono_ms: now.mono_ms, renewal_asked: false }
    }

    /// Whether we may act on our runs without asking the registry again.
    pub(crate) fn holds(&self, now: Now) -> bool {
        now.mono_ms < self.renewed_mono_ms + self.length_ms
    }

    pub(crate) fn due_mono_ms(&self) -> u64 {
        self.renewed_mono_ms + (self.length_ms / Settings::RENEWALS_PER_LEASE).max(1)
    }

    /// Returns true once per renewal, so that a burst of events requests only one.
    pub(crate) fn ask(&mut self) -> bool {
        !std::mem::replace(&mut self.renewal_asked, true)
    }

    pub(crate) fn renewed(&mut self, now: Now) {
        self.renewed_mono_ms = now.mono_ms;
        self.renewal_asked = false;
    }
}

/// Another instance's lease, from the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub boot_id: String,
    pub renewed_at_ms: u64,
    pub expires_at_ms: u64,
    pub expires_mono_ms: u64,
}

/// Whether that lease has expired.
pub fn may_steal(claim: &Claim, boot_id: &str, now: Now) -> bool {
    if claim.boot_id != boot_id {
        // The holder died with an earlier boot, and its monotonic clock has no meaning in this one.
        return true;
    }
    // If the wall clock was set back before the renewal, the expiry may be years away.
    let wall_set_back = now.wall_ms < claim.renewed_at_ms;
    now.mono_ms >= claim.expires_mono_ms && (now.wall_ms >= claim.expires_at_ms || wall_set_back)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim {
            boot_id: "b".to_owned(),
            renewed_at_ms: 1_000_000,
            expires_at_ms: 1_030_000,
            expires_mono_ms: 40_000,
        }
    }

    #[test]
    fn an_own_lease_is_over_at_its_last_millisecond() {
        let at = |mono_ms| Now { mono_ms, wall_ms: 1 };
        let lease = Lease::new(30_000, at(10_000));
        assert!(lease.holds(at(39_999)));
        assert!(!lease.holds(at(40_000)), "from then on another instance may take over");
    }

    #[test]
    fn a_renewal_is_requested_once() {
        let now = Now { mono_ms: 10_000, wall_ms: 1 };
        let mut lease = Lease::new(30_000, now);
        assert!(lease.ask());
        assert!(!lease.ask(), "the first request is still open");
        lease.renewed(now);
        assert!(lease.ask());
    }

    #[test]
    fn a_wall_clock_at_the_renewal_is_not_set_back() {
        assert!(!may_steal(&claim(), "b", Now { mono_ms: 40_000, wall_ms: 1_000_000 }));
    }

    #[test]
    fn a_wall_clock_jump_alone_never_ends_a_lease() {
        assert!(!may_steal(&claim(), "b", Now { mono_ms: 39_999, wall_ms: 99_000_000 }));
        assert!(!may_steal(&claim(), "b", Now { mono_ms: 41_000, wall_ms: 1_029_999 }));
        assert!(may_steal(&claim(), "b", Now { mono_ms: 40_000, wall_ms: 1_030_000 }));
    }

    #[test]
    fn a_clock_set_back_does_not_keep_a_dead_owner_alive() {
        assert!(may_steal(&claim(), "b", Now { mono_ms: 40_000, wall_ms: 5 }));
        assert!(!may_steal(&claim(), "b", Now { mono_ms: 39_000, wall_ms: 5 }));
    }

    #[test]
    fn a_lease_of_an_earlier_boot_is_over() {
        assert!(may_steal(&claim(), "other", Now { mono_ms: 1, wall_ms: 1 }));
    }
}
