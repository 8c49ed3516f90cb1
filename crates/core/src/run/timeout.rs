//! Which timeout a run exceeded, in the words that set it.

use crate::duration;
use ostler_model::{RunRecord, TimeoutKind};

/// `exceeded --timeout 1s`; of a unit's run: `exceeded timeout 1s`.
pub(crate) fn exceeded(record: &RunRecord, kind: TimeoutKind) -> String {
    let is_of_unit = record.unit.is_some();
    let (silence, key, limit_ms) = match kind {
        TimeoutKind::Overall if is_of_unit => ("", "timeout", record.timeout_ms),
        TimeoutKind::Overall => ("", "--timeout", record.timeout_ms),
        TimeoutKind::NoOutput if is_of_unit => {
            ("no output, ", "no_output_timeout", record.no_output_timeout_ms)
        }
        TimeoutKind::NoOutput => {
            ("no output, ", "--no-output-timeout", record.no_output_timeout_ms)
        }
    };
    let limit = limit_ms.map(|ms| format!(" {}", duration::option(ms))).unwrap_or_default();
    format!("{silence}exceeded {key}{limit}")
}
