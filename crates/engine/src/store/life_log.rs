//! The daemon's own events for `ostler.log`: starts, adoptions, failures and refusals. All other events are only in the
//! journal.

use ostler_model::{Entry, What};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// A larger file is rotated. The guardian does the same at every start.
const LONG: u64 = 8 << 20;

#[derive(Debug, Default)]
pub(crate) struct LifeLog {
    written: u64,
}

impl LifeLog {
    /// Writes the relevant entries. A failure is ignored.
    pub(crate) fn notify(&mut self, entries: &[Entry], log: &Path) {
        let mut text = String::new();
        for entry in entries.iter().filter(|entry| is_life(entry.what)) {
            write_line(&mut text, entry);
        }
        if text.is_empty() {
            return;
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
        self.written += text.len() as u64;
        // The writes of other processes are not counted, so the size is checked now and then.
        if self.written > LONG / 16 {
            self.written = 0;
            if std::fs::metadata(log).is_ok_and(|file| file.len() > LONG) {
                let _ = ostler_os::rotate_output(log, &log.with_extension("log.1"));
            }
        }
    }
}

/// Writes one line, even if the text has several.
fn write_line(text: &mut String, entry: &Entry) {
    let _ = write!(text, "{} {}:", ostler_sys::utc(entry.at_ms), entry.what.as_str());
    let unit = entry.evidence.get("unit").and_then(serde_json::Value::as_str);
    if let Some(unit) = unit {
        let _ = write!(text, " unit {unit}");
    }
    if let Some(run) = entry.run_id {
        let _ = write!(text, " run {run}");
    }
    let why: String =
        entry.why.chars().take(500).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _ = writeln!(text, " {why}");
}

fn is_life(what: What) -> bool {
    matches!(
        what,
        What::SupervisorStarted
            | What::SupervisorStopping
            | What::SupervisorStopped
            | What::HandedOver
            | What::Rollback
            | What::GuardianLost
            | What::GuardianStarted
            | What::StrayKilled
            | What::RegistryFailed
            | What::RegistryRecovered
            | What::Adopted
            | What::ReconciledStale
            | What::LeaseStolen
            | What::LeaseLost
            | What::Refused
            | What::SpawnFailed
            | What::AppRefused
            | What::UnitAgain
            | What::UnitOver
            | What::BreakerOpened
            | What::NotExtinct
            | What::OutputLost
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::Actor;

    #[test]
    fn an_entry_is_one_line_whatever_is_in_it() {
        let entry = Entry {
            seq: 7,
            at_ms: 1_767_225_600_000,
            who: Actor::Supervisor,
            what: What::UnitAgain,
            run_id: None,
            why: "exit 1:\nboom\u{1b}[31m".to_owned(),
            evidence: serde_json::Map::from_iter([("unit".to_owned(), "web".into())]),
        };
        let mut text = String::new();
        write_line(&mut text, &entry);
        assert_eq!(text, "2026-01-01T00:00:00Z unit-again: unit web exit 1: boom [31m\n");
    }
}
