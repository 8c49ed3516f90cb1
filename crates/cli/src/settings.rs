//! The supervisor's settings from the environment.

use crate::args::parse_duration;
use ostler_model::{AdoptPolicy, Settings};

/// One run or unit may use a tenth of the journal, which must be enough for its latest entries.
const JOURNAL_ROWS_LEAST: u64 = 1_000;
const JOURNAL_BYTES_LEAST: u64 = 1 << 20;

/// Output is stored and dropped in segments of a sixteenth of this size, and read in chunks of up to 1 MiB.
const LOG_BYTES_LEAST: u64 = 1_000_000;

/// Reads `OSTLER_LEASE`, `OSTLER_ADOPT`, `OSTLER_HISTORY_COUNT`, `OSTLER_HISTORY_AGE`, `OSTLER_JOURNAL_ROWS`,
/// `OSTLER_JOURNAL_BYTES`, `OSTLER_LOG_BYTES`, `OSTLER_OUTPUT_BYTES`, `OSTLER_NO_CGROUP` and `OSTLER_LIMITS`. The
/// error for an invalid value names the variable.
pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
    let mut settings = Settings::default();
    let read = |name: &str| get(name).filter(|value| !value.is_empty());
    if let Some(text) = read("OSTLER_LEASE") {
        settings.lease_ms =
            parse_duration(&text).map_err(|error| format!("OSTLER_LEASE: {error}"))?;
        if settings.lease_ms < 100 {
            return Err(format!("OSTLER_LEASE: {text} is too short; at least 100ms"));
        }
    }
    if let Some(text) = read("OSTLER_ADOPT") {
        settings.adopt = match text.as_str() {
            "adopt" => AdoptPolicy::Adopt,
            "terminate" => AdoptPolicy::Terminate,
            _ => return Err(format!("OSTLER_ADOPT: {text:?} is neither adopt nor terminate")),
        };
    }
    if let Some(text) = read("OSTLER_HISTORY_COUNT") {
        settings.history_count = text
            .parse()
            .map_err(|_| format!("OSTLER_HISTORY_COUNT: {text:?} is not a number of runs"))?;
    }
    if let Some(text) = read("OSTLER_HISTORY_AGE") {
        settings.history_age_ms =
            parse_duration(&text).map_err(|error| format!("OSTLER_HISTORY_AGE: {error}"))?;
    }
    for (name, what, least, setting) in [
        ("OSTLER_JOURNAL_ROWS", "entries", JOURNAL_ROWS_LEAST, &mut settings.journal_rows),
        ("OSTLER_JOURNAL_BYTES", "bytes", JOURNAL_BYTES_LEAST, &mut settings.journal_bytes),
    ] {
        if let Some(text) = read(name) {
            *setting =
                text.parse().map_err(|_| format!("{name}: {text:?} is not a number of {what}"))?;
            if *setting < least {
                return Err(format!("{name}: {text} is too few; at least {least}"));
            }
        }
    }
    if let Some(text) = read("OSTLER_LOG_BYTES") {
        settings.log_bytes = text
            .parse()
            .map_err(|_| format!("OSTLER_LOG_BYTES: {text:?} is not a number of bytes"))?;
    }
    if settings.log_bytes < LOG_BYTES_LEAST {
        return Err(format!(
            "OSTLER_LOG_BYTES: must be at least {LOG_BYTES_LEAST}; less would drop whole chunks"
        ));
    }
    if let Some(text) = read("OSTLER_OUTPUT_BYTES") {
        let bytes = text
            .parse()
            .map_err(|_| format!("OSTLER_OUTPUT_BYTES: {text:?} is not a number of bytes"))?;
        if bytes < LOG_BYTES_LEAST {
            return Err(format!(
                "OSTLER_OUTPUT_BYTES: {text} is too small for all runs together; at least {LOG_BYTES_LEAST}"
            ));
        }
        settings.output_bytes = Some(bytes);
    }
    if let Some(text) = read("OSTLER_NO_CGROUP") {
        settings.kernel_boundary = match text.as_str() {
            "1" => false,
            "0" => true,
            _ => return Err(format!("OSTLER_NO_CGROUP: {text:?} is neither 1 nor 0")),
        };
    }
    if let Some(text) = read("OSTLER_LIMITS") {
        settings.limit_groups = match text.as_str() {
            "groups" => true,
            "watch" => false,
            _ => return Err(format!("OSTLER_LIMITS: {text:?} is neither groups nor watch")),
        };
    }
    Ok(settings)
}

/// The listen address in `OSTLER_HTTP`, and the accepted host names in `OSTLER_HTTP_HOSTS`.
#[cfg(feature = "http")]
pub fn http_from_environment(
    get: impl Fn(&str) -> Option<String>,
) -> Result<Option<ostler_http::HttpSettings>, String> {
    let read = |name: &str| get(name).filter(|value| !value.is_empty());
    let Some(address) = read("OSTLER_HTTP") else { return Ok(None) };
    let hosts = read("OSTLER_HTTP_HOSTS").unwrap_or_default();
    let settings = ostler_http::HttpSettings::parse(&address, &hosts);
    settings.map(Some).map_err(|error| match error {
        ostler_http::SettingsError::Host(_) => format!("OSTLER_HTTP_HOSTS: {error}"),
        _ => format!("OSTLER_HTTP: {error}"),
    })
}

#[cfg(not(feature = "http"))]
pub fn http_from_environment(get: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    match get("OSTLER_HTTP").filter(|value| !value.is_empty()) {
        Some(_) => Err("OSTLER_HTTP: this ostler was built without HTTP".to_owned()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_value_names_its_variable() {
        for (name, value) in [
            ("OSTLER_LEASE", "banana"),
            ("OSTLER_LEASE", "1ms"),
            ("OSTLER_ADOPT", "perhaps"),
            ("OSTLER_HISTORY_COUNT", "-1"),
            ("OSTLER_HISTORY_AGE", "old"),
            ("OSTLER_JOURNAL_ROWS", "many"),
            ("OSTLER_JOURNAL_ROWS", "999"),
            ("OSTLER_JOURNAL_BYTES", "1MB"),
            ("OSTLER_JOURNAL_BYTES", "100"),
            ("OSTLER_LOG_BYTES", "1GB"),
            ("OSTLER_OUTPUT_BYTES", "all"),
            ("OSTLER_OUTPUT_BYTES", "10"),
            ("OSTLER_NO_CGROUP", "maybe"),
            ("OSTLER_LIMITS", "none"),
        ] {
            let error = from_environment(|asked| (asked == name).then(|| value.to_owned()))
                .expect_err("a wrong value");
            assert!(error.contains(name), "{error}");
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn a_wrong_address_names_its_variable() {
        let read = |name: &str, value: &str| {
            http_from_environment(|asked| match asked {
                _ if asked == name => Some(value.to_owned()),
                "OSTLER_HTTP" => Some("127.0.0.1:0".to_owned()),
                _ => None,
            })
        };
        assert!(http_from_environment(|_| None).is_ok_and(|settings| settings.is_none()));
        assert!(read("OSTLER_HTTP", "").is_ok_and(|settings| settings.is_none()));
        for (name, value) in [
            ("OSTLER_HTTP", "here"),
            ("OSTLER_HTTP", "0.0.0.0:7420"),
            ("OSTLER_HTTP_HOSTS", "http://box.example"),
        ] {
            let error = read(name, value).expect_err("a wrong value");
            assert!(error.starts_with(&format!("{name}: ")), "{error}");
        }
    }
}
