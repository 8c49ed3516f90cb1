//! Durations in sentences for people.

/// A duration that passes while it is read, rounded up: `0.4 s`, `19 s`.
pub(crate) fn seconds(ms: u64) -> String {
    if ms > 9_900 {
        return format!("{} s", ms.div_ceil(1_000));
    }
    let tenths = ms.div_ceil(100);
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// A limit: `60 s`, `0.3 s`.
pub(crate) fn limit(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{} s", ms / 1_000) } else { seconds(ms) }
}

/// As it is written in an option or in `ostler.toml`: `10m`, `1s`, `300ms`.
pub(crate) fn option(ms: u64) -> String {
    match ms {
        ms if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        ms if ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_and_never_zero_too_early() {
        let shown = [0, 1, 350, 400, 999, 1_000, 9_900, 9_901, 19_001, 300_000].map(seconds);
        let right = ["0.0", "0.1", "0.4", "0.4", "1.0", "1.0", "9.9", "10", "20", "300"]
            .map(|s| format!("{s} s"));
        assert_eq!(shown, right);
        assert_eq!([60_000, 300, 1_500].map(limit), ["60 s", "0.3 s", "1.5 s"]);
        assert_eq!([600_000, 1_000, 90_000, 300].map(option), ["10m", "1s", "90s", "300ms"]);
    }
}
