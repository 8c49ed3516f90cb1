//! Restart delay and restart limit.

use ostler_model::{Backoff, RestartLimit};

/// The delay after this many restarts in a row.
pub fn wait_ms(backoff: &Backoff, steps: u32) -> u64 {
    let factor = backoff.factor.max(1.0);
    let wait = backoff.initial_ms as f64 * factor.powi(steps.min(1_000) as i32);
    if wait.is_finite() { (wait.round() as u64).min(backoff.max_ms) } else { backoff.max_ms }
}

/// The limit for a slow crash loop, one that stays below the first limit: four times the count within sixty times the
/// window.
pub fn slow(limit: RestartLimit) -> RestartLimit {
    RestartLimit {
        count: limit.count.saturating_mul(4),
        window_ms: limit.window_ms.saturating_mul(60),
    }
}

/// Whether these ends, the last one included, reach the limit.
pub fn is_reached(limit: RestartLimit, ends_ms: &[u64], now_ms: u64) -> bool {
    limit.count > 0 && recent(limit, ends_ms, now_ms) >= limit.count as usize
}

/// How many of these ends are within the limit's window.
pub fn recent(limit: RestartLimit, ends_ms: &[u64], now_ms: u64) -> usize {
    ends_ms.iter().filter(|at| now_ms.saturating_sub(**at) < limit.window_ms).count()
}
