//! The display of units: a table row, a line, and sizes.

use super::agent::{state_paint, state_why, state_word};
use super::table::{Align, Cell, Column, Fit};
use super::units::duration;
use ostler_model::{UnitLook, UnitView, Usage};

/// The columns of `ostler ls`. WHY is shortened first, then columns are left out by rank.
pub const UNIT_COLUMNS: [Column; 8] = [
    Column { head: "UNIT", align: Align::Left, fit: Fit::Shrinks(8) },
    Column { head: "STATE", align: Align::Left, fit: Fit::Fixed },
    Column { head: "WHY", align: Align::Left, fit: Fit::Shrinks(12) },
    Column { head: "PID", align: Align::Right, fit: Fit::Dropped(2) },
    Column { head: "UPTIME", align: Align::Right, fit: Fit::Dropped(4) },
    Column { head: "RESTARTS", align: Align::Right, fit: Fit::Dropped(1) },
    Column { head: "CPU", align: Align::Right, fit: Fit::Dropped(3) },
    Column { head: "MEMORY", align: Align::Right, fit: Fit::Dropped(3) },
];

/// A usage sample older than this is shown with its age.
const NOW_MS: u64 = 1_500;

pub fn unit_row(look: &UnitLook, now_ms: u64) -> Vec<Cell> {
    let UnitLook { view, usage, .. } = look;
    let nothing = || "-".to_owned();
    let uptime = view.started_at_ms.filter(|_| view.pid.is_some());
    let changed = if view.changed { "changed since its start" } else { "" };
    let description = state_why(view);
    let why: Vec<&str> =
        [description.as_str(), changed].into_iter().filter(|w| !w.is_empty()).collect();
    let cells = [
        view.name.clone(),
        state_word(view, now_ms),
        why.join("; "),
        view.pid.map_or_else(nothing, |pid| pid.to_string()),
        uptime.map_or_else(nothing, |at| duration(now_ms.saturating_sub(at))),
        view.restarts.to_string(),
        usage.as_ref().map_or_else(nothing, |usage| share(usage.cpu_percent)),
        usage.as_ref().map_or_else(nothing, |usage| memory(usage, now_ms)),
    ];
    let mut row: Vec<Cell> = cells.into_iter().map(Cell::from).collect();
    row[1].paint = state_paint(view);
    row
}

fn memory(usage: &Usage, now_ms: u64) -> String {
    let age_ms = now_ms.saturating_sub(usage.at_ms);
    let size = size(usage.memory_bytes);
    if age_ms < NOW_MS { size } else { format!("{size} ({} ago)", duration(age_ms)) }
}

pub fn share(percent: f64) -> String {
    if percent < 100.0 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

/// `512B`, `4.0K`, `12.3M`, `1.5G`.
pub fn size(bytes: u64) -> String {
    const STEPS: [&str; 4] = ["K", "M", "G", "T"];
    if bytes < 1_024 {
        return format!("{bytes}B");
    }
    let mut value = bytes as f64 / 1_024.0;
    let mut step = 0;
    while value >= 1_023.95 && step + 1 < STEPS.len() {
        value /= 1_024.0;
        step += 1;
    }
    format!("{value:.1}{}", STEPS[step])
}

/// One unit in one line.
pub fn unit_line(view: &UnitView) -> String {
    let pid = view.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    let why = if view.why.is_empty() { String::new() } else { format!(" ({})", view.why) };
    format!("{}: {}{why}{pid}", view.name, view.state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_sample_shows_its_age() {
        let usage = Usage {
            at_ms: 10_000,
            cpu_percent: 0.0,
            over_ms: 1,
            cpu_ms: 0,
            memory_bytes: 2_048,
            processes: 1,
            read_bytes: 0,
            written_bytes: 0,
            descriptors: 0,
            tree: Vec::new(),
        };
        assert_eq!(memory(&usage, 10_900), "2.0K");
        assert_eq!(memory(&usage, 15_000), "2.0K (5.0s ago)");
    }

    #[test]
    fn sizes_are_short() {
        let shown = [0, 1_023, 4_096, 12_900_000, 1_610_612_736, 1_048_575].map(size);
        assert_eq!(shown, ["0B", "1023B", "4.0K", "12.3M", "1.5G", "1.0M"]);
        assert_eq!([0.0, 3.25, 99.9, 250.4].map(share), ["0.0%", "3.2%", "99.9%", "250%"]);
    }
}
