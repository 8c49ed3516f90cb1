//! Parsers for durations, sizes and other argument values.

pub use ostler_config::parse_duration;
use ostler_config::parse_port;
use ostler_model::{Limits, TerminalSize};
use ostler_ops::runs::Cancel;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Checks that the text is a duration, and returns the text unchanged.
pub(super) fn parse_time(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned())
}

/// A size in bytes, with the kernel's units: 1K is 1024.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 1 << 20;
    let wrong = || format!("{text:?} is not a size; write it as 512M, 2G or 256MiB");
    let number = text.trim().trim_end_matches("iB");
    let (number, shift) = match number.char_indices().last() {
        Some((at, 'K')) => (&number[..at], 10),
        Some((at, 'M')) => (&number[..at], 20),
        Some((at, 'G')) => (&number[..at], 30),
        Some((at, 'T')) => (&number[..at], 40),
        Some(_) | None => (number, 0),
    };
    let number: u64 = number.trim().parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes < LEAST {
        return Err(format!("{text:?} is too small; the minimum is 1M"));
    }
    Ok(bytes)
}

pub(super) fn parse_grace(text: &str) -> Result<u64, String> {
    let grace = parse_duration(text)?;
    if grace > Limits::MAX_GRACE_MS {
        return Err(format!(
            "a grace period of {text} is too long; at most {}s",
            Limits::MAX_GRACE_MS / 1_000
        ));
    }
    Ok(grace)
}

pub(super) fn parse_port_argument(text: &str) -> Result<u16, String> {
    parse_port(text).ok_or_else(|| format!("{text:?} is not a port; use a number from 1 to 65535"))
}

/// A reason as free text.
pub(super) fn parse_reason(text: &str) -> Result<String, String> {
    let most = Cancel::REASON_MOST;
    match text.trim() {
        "" => Err("the reason is empty".to_owned()),
        text if text.chars().count() > most => {
            Err(format!("the reason is too long; at most {most} characters"))
        }
        text => Ok(text.to_owned()),
    }
}

pub(super) fn parse_size(text: &str) -> Result<TerminalSize, String> {
    let wrong = || format!("{text:?} is not a size; write it as 120x30");
    let (columns, rows) = text.split_once('x').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let (columns, rows) = (number(columns)?, number(rows)?);
    if columns == 0 || rows == 0 {
        return Err(wrong());
    }
    let most = TerminalSize::MOST;
    match (u16::try_from(columns), u16::try_from(rows)) {
        (Ok(columns), Ok(rows)) if columns <= most && rows <= most => {
            Ok(TerminalSize { columns, rows })
        }
        _ => Err(format!(
            "{text} is too large; a terminal has at most {most} columns and {most} rows"
        )),
    }
}

pub(super) fn parse_variable(text: OsString) -> Result<OsString, String> {
    match text.as_bytes().iter().position(|byte| *byte == b'=') {
        Some(1..) => Ok(text),
        Some(0) | None => Err(format!("{text:?} is not a variable; write it as NAME=VALUE")),
    }
}

pub(super) fn parse_regex(text: &str) -> Result<regex::bytes::Regex, String> {
    regex::bytes::Regex::new(text).map_err(|error| error.to_string())
}

pub(super) fn parse_key(text: &str) -> Result<u8, String> {
    let wrong = || format!("{text:?} is not a key; write it as ctrl-] or ctrl-a");
    let key = text.strip_prefix("ctrl-").filter(|key| key.len() == 1).ok_or_else(wrong)?;
    match key.as_bytes()[0].to_ascii_uppercase() {
        key @ b'@'..=b'_' => Ok(key & 0x1f),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_nonsense_is_refused() {
        assert_eq!(parse_duration("500ms"), Ok(500));
        assert_eq!(parse_duration("1h30m"), Ok(5_400_000));
        assert_eq!(parse_duration("0"), Ok(0));
        for bad in ["banana", "10", "-5s", "", "5 parsecs"] {
            let message = parse_duration(bad).expect_err(bad);
            assert!(message.contains("30s"), "{message}");
        }
        assert!(parse_grace("61s").is_err());
    }

    #[test]
    fn keys_sizes_and_variables_are_parsed() {
        assert_eq!(parse_key("ctrl-]"), Ok(0x1d));
        assert_eq!(parse_key("ctrl-a"), Ok(1));
        assert!(parse_key("x").is_err());
        assert!(parse_size("0x5").is_err());
        assert!(parse_size("1000x1000").is_ok());
        for text in ["1001x1", "1x1001", "65535x65535", "99999999999x1"] {
            assert!(
                parse_size(text).is_err_and(|description| description.contains("at most 1000")),
                "{text}"
            );
        }
        assert_eq!(parse_size("80x24"), Ok(TerminalSize { columns: 80, rows: 24 }));
        assert!(parse_variable("=x".into()).is_err());
    }
}
