//! Translates serde's errors about tables into messages with hints.

use crate::file::UnitTable;
use crate::findings::Findings;
use crate::merge::KeyedTable;
use crate::problem::{named, nearest};
use std::ops::Range;
use toml::de::Error;

/// Keys of other tools, and keys in the wrong table.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &["cmd", "script", "exec", "run", "args", "entrypoint"],
        "use command: the program and its arguments in one list",
    ),
    (&["directory", "dir", "workdir", "working_dir", "working_directory"], "use cwd"),
    (&["environment", "envs", "variables"], "use env"),
    (&["needs", "after", "requires", "wants"], "use depends_on"),
    (&["healthcheck", "liveness"], "use health"),
    (&["readiness"], "use ready"),
    (&["cron"], "use schedule"),
    (
        &["autorestart", "when", "initial", "factor", "max", "reset_after", "limit"],
        "put it in restart = { when = \"on-failure\", initial = \"1s\", … }",
    ),
    (&["signal", "grace"], "put it in stop = { signal = \"TERM\", grace = \"10s\" }"),
    (&["count", "window"], "put it in restart = { limit = { count = 5, window = \"60s\" } }"),
    (&["failures", "successes", "start_after"], "put it in health = { … }"),
    (&["interval"], "put it in health = { … } or heartbeat = { … }"),
    (&["misses"], "put it in heartbeat = { interval = \"30s\", misses = 3 }"),
    (
        &["memory", "cpu_shares", "fds", "max_memory", "mem_limit", "resources"],
        "put it in limits = { memory = \"512M\", cpu_shares = 512, fds = 1024 }",
    ),
    (&["watchdog"], "use heartbeat"),
    (&["register"], "put it in ready = { register = \"30s\", timeout = \"60s\" }"),
    (&["hibernate", "sleep", "suspend"], "use idle = { after = \"30m\", suspend = \"stop\" }"),
    (&["pools", "group", "queue"], "use pool = \"coders\", with [pools.coders]"),
    (&["time_zone", "overlap", "missed"], "put it in schedule = { cron = \"…\", … }"),
];

const MISSING: &[(&str, &str)] = &[
    ("count", "count = 5"),
    ("window", "window = \"60s\""),
    ("after", "after = \"30m\""),
    ("url", "url = \"http://127.0.0.1:9000/hook\""),
    ("every", "every = \"1m\""),
    ("cron", "cron = \"*/5 * * * *\""),
];

pub(crate) fn later(findings: &mut Findings<'_>, span: Range<usize>, word: &str) {
    let description = format!("{word:?} is not supported by this version yet");
    findings.add(span, description, "remove it for now");
}

/// Reports a value of the wrong form.
pub(crate) fn shape(findings: &mut Findings<'_>, error: &Error, around: Range<usize>) {
    let span = error.span().unwrap_or(around);
    let message = error.message().trim().replace('\n', ", ");
    let (description, hint) = if let Some(rest) = message.strip_prefix("unknown field ") {
        unknown(rest, "key")
    } else if let Some(rest) = message.strip_prefix("unknown variant ") {
        unknown(rest, "value")
    } else if let Some(field) = message.strip_prefix("missing field ") {
        missing(field.trim_matches('`'))
    } else if message.starts_with("invalid type: ") || message.starts_with("invalid value: ") {
        mistyped(&message, findings.text.get(span.clone()).unwrap_or_default())
    } else if let Some((description, hint)) = message.split_once("; ") {
        (description.to_owned(), hint.to_owned())
    } else {
        (message, String::new())
    };
    findings.add(span, description, hint);
}

fn unknown(rest: &str, kind: &str) -> (String, String) {
    // The known names contain no backticks; the unknown one may contain any.
    let (wrong, right) = rest.split_once("`, expected ").unwrap_or((rest, ""));
    let wrong = wrong.strip_prefix('`').unwrap_or(wrong);
    let right: Vec<&str> = right.split('`').skip(1).step_by(2).collect();
    let is_unit = right.contains(&UnitTable::KEYS[0]);
    let elsewhere = ELSEWHERE.iter().find(|(words, _)| is_unit && words.contains(&wrong));
    let lower = wrong.to_lowercase().replace(['-', '_'], "");
    let same = right.iter().find(|word| word.replace(['-', '_'], "").to_lowercase() == lower);
    let hint = match (elsewhere, same.copied().or_else(|| nearest(wrong, right.iter().copied()))) {
        (_, Some(word)) => format!("did you mean {word:?}?"),
        (Some((_, hint)), None) => (*hint).to_owned(),
        (None, None) => format!("known: {}", named(right)),
    };
    (format!("{wrong:?} is not a known {kind}"), hint)
}

fn missing(field: &str) -> (String, String) {
    let example = MISSING.iter().find(|(name, _)| *name == field).map(|(_, example)| *example);
    (format!("missing key {field:?}"), format!("add {}", example.unwrap_or(field)))
}

/// An example of each table.
const TABLES: &[(&str, &str)] = &[
    ("struct RestartTable", "{ when = \"on-failure\", initial = \"1s\", max = \"30s\" }"),
    ("struct LimitTable", "{ count = 5, window = \"60s\" }"),
    ("struct BackoffTable", "{ initial = \"10s\", factor = 2, max = \"5m\" }"),
    ("struct StopTable", "{ signal = \"TERM\", grace = \"10s\" }"),
    ("struct ReadyTable", "{ tcp = \"127.0.0.1:8080\", timeout = \"60s\" }"),
    ("struct HealthTable", "{ http = \"http://127.0.0.1:8080/health\", interval = \"30s\" }"),
    ("struct HeartbeatTable", "{ interval = \"30s\", misses = 3 }"),
    ("struct ResourceTable", "{ memory = \"512M\", fds = 1024 }"),
    ("struct IdleTable", "{ after = \"30m\", suspend = \"stop\" }"),
    ("struct PoolTable", "{ max = 4, min_free_memory = \"4G\" }"),
    ("struct DeadmanTable", "{ url = \"http://127.0.0.1:9000/ping\", every = \"1m\" }"),
    ("a map", "{ NAME = \"value\" }"),
];

/// Handles `invalid type: integer `30`, expected …`.
pub(crate) fn mistyped(message: &str, written: &str) -> (String, String) {
    let (found, expected) = message.split_once(", expected ").unwrap_or((message, "another value"));
    let found = found.split_once(": ").map_or(found, |(_, found)| found);
    let is_number = found.starts_with("integer") || found.starts_with("floating");
    let kind = match found.split([' ', '`']).next().unwrap_or_default() {
        "integer" | "floating" => "a number",
        "boolean" => written,
        "string" => "text",
        "sequence" => "a list",
        "map" => "a table",
        _ => "something else",
    };
    let table = TABLES.iter().find(|(name, _)| *name == expected).map(|(_, table)| *table);
    let needed = match expected {
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "u32" | "u64" => "a whole number that is not negative",
        _ if table.is_some() => "a table",
        other => other,
    };
    let hint = match table {
        Some(table) => format!("write {table}"),
        None if needed.starts_with("a duration") && is_number => {
            format!("write \"{written}s\" for seconds")
        }
        None if needed.starts_with("a percentage") && is_number => format!("write \"{written}%\""),
        None if needed.starts_with("a size") && is_number => {
            format!("write \"{written}M\" for mebibytes")
        }
        None if needed == "text in quotes" && (is_number || kind == written) => {
            format!("write \"{written}\"")
        }
        None if needed == "a list" && kind == "text" => format!("write [{written}]"),
        None => String::new(),
    };
    let kind = if is_number && needed.starts_with("a whole number") { written } else { kind };
    (format!("expected {needed}, found {kind}"), hint)
}
