//! When units with a schedule are due. Schedules follow the wall clock, which is checked at least once a minute, so
//! that a changed clock is noticed.

use croner::Cron;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ostler_model::{Missed, ScheduleSpec};
use std::collections::BTreeMap;

const LOOK_AGAIN_MS: u64 = 60_000;

#[derive(Default)]
pub(crate) struct Timetable {
    rows: BTreeMap<String, Row>,
}

struct Row {
    spec: ScheduleSpec,
    next_ms: Option<u64>,
}

impl Timetable {
    /// Sets the units with a schedule; the third value is when each was last started.
    pub(crate) fn set(
        &mut self,
        units: impl Iterator<Item = (String, ScheduleSpec, Option<u64>)>,
        now_ms: u64,
    ) {
        let mut rows = BTreeMap::new();
        for (name, spec, fired) in units {
            let row = match self.rows.remove(&name) {
                Some(row) if row.spec == spec => row,
                Some(_) | None => {
                    // A time that was missed while no supervisor ran is made up for, if configured.
                    let from = match (spec.missed, fired) {
                        (Missed::Once, Some(fired)) => fired.min(now_ms),
                        (Missed::Once, None) | (Missed::Skip, _) => now_ms,
                    };
                    Row { next_ms: next(&spec, from), spec }
                }
            };
            rows.insert(name, row);
        }
        self.rows = rows;
    }

    pub(crate) fn next_of(&self, unit: &str) -> Option<u64> {
        self.rows.get(unit)?.next_ms
    }

    /// How long until the next check.
    pub(crate) fn due_in(&self, now_ms: u64) -> Option<u64> {
        let next = self.rows.values().filter_map(|row| row.next_ms).min()?;
        Some(next.saturating_sub(now_ms).min(LOOK_AGAIN_MS))
    }

    /// The units that are due; each once, even if several times have passed.
    pub(crate) fn due(&mut self, now_ms: u64) -> Vec<String> {
        let mut due = Vec::new();
        for (name, row) in &mut self.rows {
            if row.next_ms.is_some_and(|next| next <= now_ms) {
                row.next_ms = next(&row.spec, now_ms);
                due.push(name.clone());
            } else if row.next_ms.is_some_and(|at| Some(at) > next(&row.spec, now_ms)) {
                // The clock was set back.
                row.next_ms = next(&row.spec, now_ms);
            }
        }
        due
    }
}

/// The first scheduled time after `after_ms`, in the schedule's time zone.
fn next(spec: &ScheduleSpec, after_ms: u64) -> Option<u64> {
    let cron: Cron = spec.cron.parse().ok()?;
    let zone = match &spec.time_zone {
        Some(name) => TimeZone::get(name).ok()?,
        None => TimeZone::system(),
    };
    let after = Timestamp::from_millisecond(after_ms as i64).ok()?.to_zoned(zone);
    let found = cron.find_next_occurrence(&after, false).ok()?;
    Some(found.timestamp().as_millisecond() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::Overlap;

    fn spec(cron: &str, zone: &str, missed: Missed) -> ScheduleSpec {
        ScheduleSpec {
            cron: cron.to_owned(),
            time_zone: Some(zone.to_owned()),
            overlap: Overlap::Skip,
            missed,
        }
    }

    fn at(text: &str) -> u64 {
        text.parse::<Timestamp>().expect("a time").as_millisecond() as u64
    }

    #[test]
    fn a_time_is_in_its_own_zone() {
        let spec = spec("30 6 * * *", "Europe/Berlin", Missed::Skip);
        assert_eq!(next(&spec, at("2026-01-10T00:00:00Z")), Some(at("2026-01-10T05:30:00Z")));
        assert_eq!(next(&spec, at("2026-07-10T00:00:00Z")), Some(at("2026-07-10T04:30:00Z")));
    }

    #[test]
    fn missed_times_of_a_schedule_are_run_once_or_skipped() {
        let now = at("2026-01-10T12:02:00Z");
        let long_ago = Some(at("2026-01-09T00:00:00Z"));
        for (missed, expected) in [(Missed::Once, 1), (Missed::Skip, 0)] {
            let mut table = Timetable::default();
            let spec = spec("*/5 * * * *", "UTC", missed);
            table.set([("a".to_owned(), spec, long_ago)].into_iter(), now);
            assert_eq!(table.due(now).len(), expected);
            assert_eq!(table.due(now).len(), 0);
            assert_eq!(table.next_of("a"), Some(at("2026-01-10T12:05:00Z")));
            assert_eq!(table.due_in(now), Some(60_000));
            assert_eq!(table.due(at("2026-01-10T12:05:00Z")), ["a"]);
        }
    }

    #[test]
    fn a_clock_that_was_set_back_is_noticed() {
        let mut table = Timetable::default();
        let now = at("2026-01-10T12:02:00Z");
        let every = spec("*/5 * * * *", "UTC", Missed::Skip);
        table.set([("a".to_owned(), every, None)].into_iter(), now);
        let back = at("2026-01-10T09:02:00Z");
        assert_eq!(table.due(back).len(), 0);
        assert_eq!(table.next_of("a"), Some(at("2026-01-10T09:05:00Z")));
    }
}
