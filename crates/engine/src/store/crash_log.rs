//! `crash.log` also records the crashes of units, in the format of the supervisor's own crashes. It is never pruned: it
//! keeps the last lines of a run whose log may be long gone. A unit that crashes all day adds its lines up to a limit,
//! and after that only the fact that it crashed.

use crate::output::{LogReader, OutputState, Piece};
use crate::supervisor::Supervisor;
use ostler_model::RunRecord;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

const LINES: usize = 50;
/// The limit for the last lines, however long they are.
const BYTES_MOST: u64 = 64 << 10;
/// The limit per unit and day.
const DAY_MOST: u64 = 1 << 20;
const DAY_MS: u64 = 86_400_000;

/// How much each unit has added, and since when.
#[derive(Default)]
pub(crate) struct CrashBudget {
    spent: HashMap<String, (u64, u64)>,
}

impl CrashBudget {
    /// Whether the last lines of another crash are kept.
    fn allows(&mut self, unit: &str, now_ms: u64) -> bool {
        let (since_ms, bytes) = self.spent.entry(unit.to_owned()).or_insert((now_ms, 0));
        if now_ms.saturating_sub(*since_ms) >= DAY_MS {
            (*since_ms, *bytes) = (now_ms, 0);
        }
        *bytes < DAY_MOST
    }

    fn spend(&mut self, unit: &str, bytes: u64) {
        if let Some((_, spent)) = self.spent.get_mut(unit) {
            *spent += bytes;
        }
    }
}

impl Supervisor {
    /// Records a crash. A failure is ignored: it must not prevent the restart of the unit.
    pub(crate) fn log_crash(
        &mut self,
        unit: &str,
        run: &RunRecord,
        ran_ms: u64,
        description: &str,
    ) {
        let path = self.identity.home.path().join("crash.log");
        let now_ms = ostler_os::wall_ms();
        let ended_ms = run.ended_at_ms.unwrap_or(now_ms);
        let mut entry = head(unit, run, ended_ms, ran_ms, description).into_bytes();
        if self.store.crash_budget.allows(unit, now_ms) {
            let folder = self.identity.home.run_folder(run.run_id);
            let lines = last_lines(&folder, run.output_bytes);
            self.store.crash_budget.spend(unit, lines.len() as u64);
            entry.extend(lines);
        } else {
            let description = "(omitted: this unit reached its daily limit)\n";
            entry.extend_from_slice(description.as_bytes());
        }
        if std::fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
            entry.insert(0, b'\n');
        }
        // One write call, because the guardian writes to the same file.
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let _ = file.and_then(|mut file| file.write_all(&entry));
    }
}

fn head(unit: &str, run: &RunRecord, at_ms: u64, ran_ms: u64, description: &str) -> String {
    let at = ostler_sys::utc_plain(at_ms);
    let description: String =
        description.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!(
        "=== CRASH {at} ===\nUnit: {unit} (run {})\nRan for: {}\nExit code: {}\nError: {description}\n\
         Last {LINES} lines of output:\n",
        run.run_id,
        ostler_sys::short_duration(ran_ms),
        run.exit_code.unwrap_or(-1),
    )
}

/// The last lines, as far as they can be read.
fn last_lines(folder: &Path, output_bytes: u64) -> Vec<u8> {
    let state = OutputState::of_ended(folder.to_owned(), output_bytes);
    let mut reader = LogReader::new(Arc::new(state));
    let Ok(end) = reader.end() else { return Vec::new() };
    let mut offset = end.saturating_sub(BYTES_MOST);
    let is_cut = offset > 0;
    let mut text = Vec::new();
    loop {
        match reader.next(offset) {
            Ok(Piece::Bytes { bytes, .. }) if !bytes.is_empty() => {
                offset += bytes.len() as u64;
                text.extend(bytes);
            }
            Ok(Piece::Gap { to, .. }) if to > offset => offset = to,
            Ok(Piece::Bytes { .. } | Piece::Gap { .. } | Piece::CaughtUp) | Err(_) => break,
        }
    }
    last_of(&text, is_cut)
}

/// The last lines, each whole unless it is the only one, without control characters.
fn last_of(text: &[u8], is_cut: bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut lines: Vec<&str> = text.lines().collect();
    if is_cut && lines.len() > 1 {
        lines.remove(0);
    }
    let from = lines.len().saturating_sub(LINES);
    let mut kept = String::new();
    for line in &lines[from..] {
        kept.extend(line.chars().filter(|c| !c.is_control() || *c == '\t'));
        kept.push('\n');
    }
    kept.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_fifty_lines_are_kept_whole() {
        let text: String = (1..=60).map(|n| format!("line {n}\r\n")).collect();
        let kept = String::from_utf8(last_of(text.as_bytes(), false)).expect("text");
        assert_eq!(kept.lines().count(), 50);
        assert!(kept.starts_with("line 11\n") && kept.ends_with("line 60\n"), "{kept}");
        assert_eq!(last_of(b"half\nwhole\n", true), b"whole\n");
        assert_eq!(last_of(b"one long", true), b"one long\n");
        assert_eq!(last_of(b"\x1b[31mred\n", false), b"[31mred\n");
    }

    #[test]
    fn the_crash_log_of_a_unit_that_crashes_all_day_is_bounded() {
        let mut budget = CrashBudget::default();
        assert!(budget.allows("a", 0));
        budget.spend("a", DAY_MOST);
        assert!(!budget.allows("a", DAY_MS - 1));
        assert!(budget.allows("b", DAY_MS - 1), "each has its own");
        assert!(budget.allows("a", DAY_MS), "and another day");
    }
}
