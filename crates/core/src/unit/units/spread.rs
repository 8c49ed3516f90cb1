//! Spreads restarts that are due at the same moment, to avoid a load spike.

use super::super::phase::Phase;
use super::super::state::Unit;
use super::Units;

/// Restarts within this time of each other are near.
const NEAR_MS: u64 = 250;
/// More of them than this are spread,
const NEAR_MOST: usize = 3;
/// by this much each, and by no more than half of the delay.
const STEP_MS: u64 = 50;

impl Units {
    pub(super) fn spread(&mut self, name: &str) {
        let until = |unit: &Unit| unit.phase.delayed_until();
        let Some(own) = self.get(name).and_then(until) else { return };
        let near = |other: &Unit| until(other).is_some_and(|at| at.abs_diff(own) < NEAR_MS);
        let near_count = self.iter().filter(|other| near(other)).count();
        if near_count > NEAR_MOST
            && let Some(unit) = self.get_mut(name)
            && let Phase::Backoff(delay) = &mut unit.phase
        {
            let later = STEP_MS * (near_count - NEAR_MOST) as u64;
            delay.until_mono_ms += later.min(delay.wait_ms / 2);
        }
    }
}
