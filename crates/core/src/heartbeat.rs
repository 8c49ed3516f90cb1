//! What a unit's silence means.
//!
//! A beat is expected every interval. Whoever declared to be busy is not expected to beat until then. Silence
//! as long as the timeout is unhealthy; when so many beats were missed as well, it is dead to us and is started
//! anew. Silence is counted from the last beat or from the end of what was declared, whichever is later.

use ostler_model::HeartbeatSpec;

/// The longest that a unit may declare at once: a promise that never ends is no sign of life.
pub const BUSY_MOST_MS: u64 = 3_600_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Nothing can change before then, if it stays silent.
    Well {
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

/// All times are of one clock that nobody sets.
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
        Judgement::Well { until_ms: from_ms.saturating_add(spec.timeout_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: HeartbeatSpec =
        HeartbeatSpec { interval_ms: 30_000, timeout_ms: 90_000, misses: 3 };

    /// A5: with the document's numbers, 90 s of silence are three missed beats.
    #[test]
    fn the_documents_numbers() {
        assert_eq!(judge(&DOCUMENT, 0, None, 89_999), Judgement::Well { until_ms: 90_000 });
        let dead = Judgement::Dead { silent_ms: 90_000, missed: 3 };
        assert_eq!(judge(&DOCUMENT, 0, None, 90_000), dead);
    }

    /// A5: unhealthy comes before dead where the timeout is shorter than the beats that may be missed.
    #[test]
    fn unhealthy_first() {
        let spec = HeartbeatSpec { interval_ms: 100, timeout_ms: 150, misses: 3 };
        assert_eq!(judge(&spec, 1_000, None, 1_149), Judgement::Well { until_ms: 1_150 });
        let unhealthy = Judgement::Unhealthy { silent_ms: 150, until_ms: 1_300 };
        assert_eq!(judge(&spec, 1_000, None, 1_150), unhealthy);
        let dead = Judgement::Dead { silent_ms: 300, missed: 3 };
        assert_eq!(judge(&spec, 1_000, None, 1_300), dead);
    }

    /// A5: silence inside what was declared is not death, and counts only from its end.
    #[test]
    fn silence_while_busy_is_no_death() {
        let busy = Some(600_000);
        assert_eq!(judge(&DOCUMENT, 0, busy, 599_000), Judgement::Well { until_ms: 690_000 });
        assert!(matches!(judge(&DOCUMENT, 0, busy, 690_000), Judgement::Dead { .. }));
        // A beat after it is what counts.
        assert_eq!(judge(&DOCUMENT, 650_000, busy, 700_000), Judgement::Well { until_ms: 740_000 });
    }

    /// A5: whatever the numbers, a unit that beats in time is never judged, and one that is silent for ever is.
    #[test]
    fn no_numbers_kill_what_beats_or_spare_what_does_not() {
        for interval_ms in [1, 7, 100, 30_000] {
            for timeout_ms in [1, 50, 90_000] {
                for misses in [0, 1, 3, 10] {
                    let spec = HeartbeatSpec { interval_ms, timeout_ms, misses };
                    assert!(matches!(judge(&spec, 500, None, 500), Judgement::Well { .. }));
                    let ever = 500 + 10 * interval_ms.max(timeout_ms) * 10;
                    assert!(matches!(judge(&spec, 500, None, ever), Judgement::Dead { .. }));
                }
            }
        }
    }
}
