//! Times and durations as text, in the formats of Ostler's files.

/// `2026-02-08T14:30:00Z`
pub fn utc(wall_ms: u64) -> String {
    let (year, month, day) = date(wall_ms / DAY_MS);
    let (hours, minutes, seconds) = time_of_day(wall_ms);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

/// `2026-02-08 14:30:00`, in UTC.
pub fn utc_plain(wall_ms: u64) -> String {
    let (year, month, day) = date(wall_ms / DAY_MS);
    let (hours, minutes, seconds) = time_of_day(wall_ms);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02}")
}

/// `42s`, `3m42s`, `2h34m`, `1d2h34m`
pub fn short_duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m{}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h{minutes}m"),
        (days, hours, minutes) => format!("{days}d{hours}h{minutes}m"),
    }
}

const DAY_MS: u64 = 86_400_000;
/// 400 years, after which the calendar repeats.
const ERA_DAYS: u64 = 146_097;
/// From 1 March of the year 0 to 1 January 1970.
const DAYS_BEFORE_1970: u64 = 719_468;

fn time_of_day(wall_ms: u64) -> (u64, u64, u64) {
    let seconds = wall_ms % DAY_MS / 1_000;
    (seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Year, month and day of a day since 1970. Years are counted from March on, so that a leap day is the last day of its
/// year.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_BEFORE_1970;
    let (era, day_of_era) = (days / ERA_DAYS, days % ERA_DAYS);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // The months from March on have 31, 30, 31, 30, 31 days, twice, and the rest: 153 days for five.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let is_next_year = month_from_march >= 10;
    let month = if is_next_year { month_from_march - 9 } else { month_from_march + 3 };
    (400 * era + year_of_era + u64::from(is_next_year), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_until_2500_is_the_calendars() {
        for day in 0..193_500 {
            let ms = day * DAY_MS + 86_399_999;
            let expected = jiff::Timestamp::from_millisecond(ms as i64).expect("a time");
            assert_eq!(utc(ms), expected.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
        assert_eq!(utc_plain(1_770_561_000_000), "2026-02-08 14:30:00");
    }

    #[test]
    fn durations_are_short() {
        let texts = [999, 42_000, 222_000, 9_240_000, 95_640_000].map(short_duration);
        assert_eq!(texts, ["0s", "42s", "3m42s", "2h34m", "1d2h34m"]);
    }
}
