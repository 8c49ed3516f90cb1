use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `950ms`, `3.2s`, `4m05s`, `2h34m`, `3d04h`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms}ms"),
        1..60 => format!("{}.{}s", seconds, ms % 1_000 / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// As it is written in an option: `10m`, `90s`, `300ms`.
pub fn option_duration(ms: u64) -> String {
    match ms {
        ms if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        ms if ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

/// `just now`, `5m ago`, `2h ago`, `3d ago`.
pub fn ago(ms: u64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes}m ago"),
        60..1_440 => format!("{}h ago", minutes / 60),
        _ => format!("{}d ago", minutes / 1_440),
    }
}

/// `2026-02-08 14:30:00`, in the local time zone.
pub fn plain_time(at_ms: u64) -> String {
    let timestamp = Timestamp::from_millisecond(at_ms as i64).unwrap_or_default();
    timestamp.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `1 run`, `2 runs`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// `2026-02-08 14:30:00.000`, in the local time zone.
pub fn time(at_ms: u64) -> String {
    match Timestamp::from_millisecond(at_ms as i64) {
        Ok(timestamp) => {
            timestamp.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
        }
        Err(_) => format!("{at_ms} ms"),
    }
}

pub fn signal(number: i32) -> String {
    let name = match number {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        7 => "BUS",
        8 => "FPE",
        9 => "KILL",
        10 => "USR1",
        11 => "SEGV",
        12 => "USR2",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        24 => "XCPU",
        25 => "XFSZ",
        31 => "SYS",
        _ => return format!("signal {number}"),
    };
    format!("SIG{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let shown: Vec<String> =
            [0, 950, 3_249, 245_000, 9_240_000, 273_600_000].map(duration).to_vec();
        assert_eq!(shown, ["0ms", "950ms", "3.2s", "4m05s", "2h34m", "3d04h"]);
    }
}
