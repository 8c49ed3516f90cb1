//! `supervisor.json`, for people and scripts. Ostler itself never reads it.

use ostler_sys::{Durability, utc, write_atomic};
use std::io::{self};
use std::path::Path;

/// Counted from `start` to `stop`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub started_at_ms: u64,
    pub crash_count: u64,
    pub last_crash_at_ms: Option<u64>,
    /// Determines the next wait.
    pub crashes_in_a_row: u32,
}

impl Counters {
    /// For `OSTLER_GUARDIAN_COUNTERS`.
    pub fn to_text(self) -> String {
        let last = self.last_crash_at_ms.unwrap_or(0);
        format!("{} {} {last} {}", self.started_at_ms, self.crash_count, self.crashes_in_a_row)
    }

    pub fn from_text(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(|number| number.parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        Some(Self {
            started_at_ms: next()?,
            crash_count: next()?,
            last_crash_at_ms: Some(next()?).filter(|at| *at > 0),
            crashes_in_a_row: next()?.try_into().ok()?,
        })
    }

    pub(crate) fn save(&self, pid: u32, gateway_pid: Option<i32>) -> io::Result<()> {
        let mut fields = vec![format!("\"pid\": {pid}")];
        fields.extend(gateway_pid.map(|pid| format!("\"gateway_pid\": {pid}")));
        fields.push(format!("\"started_at\": \"{}\"", utc(self.started_at_ms)));
        fields.push(format!("\"crash_count\": {}", self.crash_count));
        fields
            .extend(self.last_crash_at_ms.map(|at| format!("\"last_crash_at\": \"{}\"", utc(at))));
        replace(Path::new("supervisor.json"), &format!("{{\n  {}\n}}\n", fields.join(",\n  ")))
    }
}

/// Replaces the file atomically. Only this user may read it.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    write_atomic(path, text.as_bytes(), 0o600, Durability::Cached)
}
