//! Judges a unit by its heartbeats.
//!
//! A heartbeat is expected every interval. A unit that declared itself busy is not expected to beat until that time.
//! Silence of at least the timeout means unhealthy. If the allowed number of beats is missed as well, the unit is
//! dead and is restarted. Silence counts from the last beat or from the end of the busy time, whichever is later.

use ostler_model::HeartbeatSpec;

/// The longest busy time that a unit may declare at once. Without a limit, "busy" would hide a hang for ever.
pub const BUSY_MOST_MS: u64 = 3_600_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// If the unit stays silent, the judgement cannot change before then.
    Healthy {
        until_ms: u64,
    },
    Unhealthy {
        silent_ms: u64,
        until_ms: u64,
    },
    Dead {
        silent_ms: u64,
        missed: u64,
    },
}

/// All times are on the monotonic clock.
pub fn judge(
    spec: &HeartbeatSpec,
    last_ms: u64,
    busy_until_ms: Option<u64>,
    now_ms: u64,
) -> Judgement {
    let from_ms = busy_until_ms.map_or(last_ms, |busy| busy.max(last_ms));
    let interval_ms = spec.interval_ms.max(1);
    let dead_ms = interval_ms.saturating_mul(u64::from(spec.misses.max(1))).max(spec.timeout_ms);
    let silent_ms = now_ms.saturating_sub(from_ms);
    if silent_ms >= dead_ms {
        Judgement::Dead { silent_ms, missed: silent_ms / interval_ms }
    } else if silent_ms >= spec.timeout_ms {
        Judgement::Unhealthy { silent_ms, until_ms: from_ms.saturating_add(dead_ms) }
    } else {
        Judgement::Healthy { until_ms: from_ms.saturating_add(spec.timeout_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: HeartbeatSpec =
        HeartbeatSpec { interval_ms: 30_000, timeout_ms: 90_000, misses: 3 };

    /// A5: with the numbers of the original document, 90 s of silence are three missed beats.
    #[test]
    fn the_documents_numbers() {
        assert_eq!(judge(&DOCUMENT, 0, None, 89_999), Judgement::Healthy { until_ms: 90_000 });
        let dead = Judgement::Dead { silent_ms: 90_000, missed: 3 };
        assert_eq!(judge(&DOCUMENT, 0, None, 90_000), dead);
    }

    /// A5: unhealthy comes before dead if the timeout is shorter than the allowed missed beats.
    #[test]
    fn unhealthy_first() {
        let spec = HeartbeatSpec { interval_ms: 100, timeout_ms: 150, misses: 3 };
        assert_eq!(judge(&spec, 1_000, None, 1_149), Judgement::Healthy { until_ms: 1_150 });
        let unhealthy = Judgement::Unhealthy { silent_ms: 150, until_ms: 1_300 };
        assert_eq!(judge(&spec, 1_000, None, 1_150), unhealthy);
        let dead = Judgement::Dead { silent_ms: 300, missed: 3 };
        assert_eq!(judge(&spec, 1_000, None, 1_300), dead);
    }

    /// A5: silence during the declared busy time is not death; it counts from the end of that time.
    #[test]
    fn silence_while_busy_is_no_death() {
        let busy = Some(600_000);
        assert_eq!(judge(&DOCUMENT, 0, busy, 599_000), Judgement::Healthy { until_ms: 690_000 });
        assert!(matches!(judge(&DOCUMENT, 0, busy, 690_000), Judgement::Dead { .. }));
        // A later heartbeat counts instead.
        assert_eq!(
            judge(&DOCUMENT, 650_000, busy, 700_000),
            Judgement::Healthy { until_ms: 740_000 }
        );
    }

    /// A5: for all settings, a unit that beats in time stays well, and a unit that is silent for ever is dead.
    #[test]
    fn no_numbers_kill_what_beats_or_spare_what_does_not() {
        for interval_ms in [1, 7, 100, 30_000] {
            for timeout_ms in [1, 50, 90_000] {
                for misses in [0, 1, 3, 10] {
                    let spec = HeartbeatSpec { interval_ms, timeout_ms, misses };
                    assert!(matches!(judge(&spec, 500, None, 500), Judgement::Healthy { .. }));
                    let ever = 500 + 10 * interval_ms.max(timeout_ms) * 10;
                    assert!(matches!(judge(&spec, 500, None, ever), Judgement::Dead { .. }));
                }
            }
        }
    }
}
