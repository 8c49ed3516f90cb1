//! Reads from the screen when a usage limit ends.

use crate::pattern::Pattern;
use jiff::civil::{Date, Time};
use jiff::{Span, Zoned};

/// Returns milliseconds since 1970.
pub(crate) fn until(pattern: &Pattern, line: &str, now: &Zoned) -> Option<u64> {
    let at = if let Some(seconds) = pattern.group(line, "seconds") {
        now.checked_add(Span::new().seconds(seconds.parse::<i64>().ok()?)).ok()?
    } else if let Some(span) = pattern.group(line, "in") {
        now.checked_add(Span::new().seconds(span_s(span)?)).ok()?
    } else {
        let zone = pattern.group(line, "zone").map(|zone| zone.trim_matches(['(', ')', ' ']));
        let now = match zone {
            Some(zone) => now.in_tz(zone).ok()?,
            None => now.clone(),
        };
        let time = clock(pattern.group(line, "clock")?)?;
        match pattern.group(line, "date") {
            Some(text) => date(text)?.to_datetime(time).to_zoned(now.time_zone().clone()).ok()?,
            None => nearest(time, &now)?,
        }
    };
    u64::try_from(at.timestamp().as_millisecond()).ok()
}

/// `2h 5m`, `3 days 4 hours`, `45 minutes`: in seconds.
fn span_s(text: &str) -> Option<i64> {
    let mut seconds = 0i64;
    let mut number = String::new();
    let mut unit = String::new();
    let mut is_found = false;
    let mut take = |number: &mut String, unit: &mut String| -> Option<()> {
        if number.is_empty() {
            return Some(());
        }
        let of_one = match unit.as_str() {
            "d" | "day" | "days" => 86_400,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600,
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "s" | "sec" | "secs" | "second" | "seconds" => 1,
            _ => return None,
        };
        seconds = seconds.checked_add(number.parse::<i64>().ok()?.checked_mul(of_one)?)?;
        is_found = true;
        number.clear();
        unit.clear();
        Some(())
    };
    for c in text.to_lowercase().chars() {
        if c.is_ascii_digit() {
            if !unit.is_empty() {
                take(&mut number, &mut unit)?;
            }
            number.push(c);
        } else if c.is_ascii_alphabetic() {
            unit.push(c);
        }
    }
    take(&mut number, &mut unit)?;
    is_found.then_some(seconds)
}

/// `3am`, `3:30pm`, `15:30`.
fn clock(text: &str) -> Option<Time> {
    let text = text.to_lowercase().replace(' ', "");
    let (digits, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (_, Some(digits)) => (digits, Some(12)),
        (None, None) => (text.as_str(), None),
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(noon) => hour % 12 + noon,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).ok()
}

/// The next such time, or the last one if that is less than an hour ago: an agent may show a limit that is just over.
fn nearest(time: Time, now: &Zoned) -> Option<Zoned> {
    let over = now.checked_sub(Span::new().hours(1)).ok()?;
    let on = |days: i64| {
        let day = now.date().checked_add(Span::new().days(days)).ok()?;
        day.to_datetime(time).to_zoned(now.time_zone().clone()).ok()
    };
    (-1..=1).filter_map(on).find(|at| *at > over)
}

/// `2026-11-19`, `Nov 19th, 2026`.
fn date(text: &str) -> Option<Date> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    if let Ok(date) = text.trim().parse::<Date>() {
        return Some(date);
    }
    let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let name = words.next()?.to_lowercase();
    let month = MONTHS.iter().position(|month| name.starts_with(month))?;
    let day = words.next()?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let year = words.next()?.parse().ok()?;
    Date::new(year, i8::try_from(month + 1).ok()?, day).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(pattern: &str, line: &str) -> Option<String> {
        let now: Zoned = "2026-11-16T12:00:00[UTC]".parse().expect("a time");
        let pattern: Pattern = serde_json::from_value(pattern.into()).expect("a pattern");
        let ms = until(&pattern, line, &now)?;
        Some(jiff::Timestamp::from_millisecond(ms as i64).expect("in range").to_string())
    }

    #[test]
    fn a_limit_is_over_at_a_clock_time_or_after_a_span() {
        let clock = r"resets (?<clock>[0-9:]+ ?[ap]m)(?: \((?<zone>[^)]+)\))?";
        let ten = "2026-11-17T03:30:00Z";
        assert_eq!(at(clock, "limit reached, resets 3:30am (UTC)").as_deref(), Some(ten));
        assert_eq!(at(clock, "resets 3pm").as_deref(), Some("2026-11-16T15:00:00Z"));
        assert_eq!(at(clock, "resets 12am").as_deref(), Some("2026-11-17T00:00:00Z"));
        assert_eq!(
            at(clock, "resets 3pm (Europe/Berlin)").as_deref(),
            Some("2026-11-16T14:00:00Z")
        );
        assert_eq!(at(clock, "resets soon"), None);
        assert_eq!(at(clock, "resets 11:30am").as_deref(), Some("2026-11-16T11:30:00Z"), "over");
        assert_eq!(at(clock, "resets 10:30am").as_deref(), Some("2026-11-17T10:30:00Z"));
        let dated = r"on (?<date>.+?) at (?<clock>[0-9:]+( [AP]M)?)( (?<zone>UTC))?";
        let day = "2026-11-19T04:14:00Z";
        assert_eq!(at(dated, "regain access on 2026-11-19 at 04:14 UTC").as_deref(), Some(day));
        assert_eq!(at(dated, "on Nov 19th, 2026 at 4:14 AM").as_deref(), Some(day));
        let span = r"try again in (?<in>[0-9a-z ]+)";
        assert_eq!(at(span, "try again in 2h 5m").as_deref(), Some("2026-11-16T14:05:00Z"));
        assert_eq!(at(span, "try again in 1 day 3 hours").as_deref(), Some("2026-11-17T15:00:00Z"));
        assert_eq!(at(span, "try again in a while"), None);
    }
}
