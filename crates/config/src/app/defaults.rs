//! `config.json`: the defaults for every app.

use super::open::{Unread, open};
use crate::findings::Findings;
use crate::json::{self, Json, Node, Object, Unknown};
use crate::problem::Problem;
use ostler_model::{HeartbeatSpec, Limits, Preset, RestartPolicy};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub(crate) struct AppDefaults {
    pub heartbeat: HeartbeatSpec,
    pub grace_ms: u64,
    pub restart: RestartPolicy,
}

impl Default for AppDefaults {
    fn default() -> Self {
        Self {
            heartbeat: HeartbeatSpec::default(),
            grace_ms: 5_000,
            restart: RestartPolicy::preset(Preset::Openclawos),
        }
    }
}

const KEYS: &[&str] = &[
    "heartbeatInterval",
    "heartbeatTimeout",
    "shutdownTimeout",
    "maxRestarts",
    "restartWindow",
    "restartDelay",
    "backoffMultiplier",
];

/// A shorter time was probably meant in seconds.
const LEAST_MS: u64 = 50;
const DAY_MS: u64 = 24 * 3_600 * 1_000;

/// Reads these files; a later file overrides an earlier one. A file that does not exist sets nothing.
pub(crate) fn read_defaults(files: &[PathBuf]) -> Result<AppDefaults, Vec<Problem>> {
    let mut defaults = AppDefaults::default();
    let mut problems = Vec::new();
    for file in files {
        match open(file) {
            Ok(text) if !text.contains("\"apps\"") => {}
            Ok(text) => match check_defaults(file, &text, defaults) {
                Ok(read) => defaults = read,
                Err(wrong) => problems.extend(wrong),
            },
            Err(Unread::Bad(problem)) => problems.push(problem),
            Err(Unread::Closed(_)) if !file.exists() => {}
            Err(Unread::Closed(why)) => problems.push(Problem {
                file: file.clone(),
                place: None,
                message: format!("the defaults for all apps cannot be read: {why}"),
                hint: None,
            }),
        }
    }
    if problems.is_empty() { Ok(defaults) } else { Err(problems) }
}

/// Applies the text of one such file to `defaults`.
pub(crate) fn check_defaults(
    file: &Path,
    text: &str,
    base: AppDefaults,
) -> Result<AppDefaults, Vec<Problem>> {
    let mut findings = Findings::new(file, text);
    let mut defaults = base;
    if let Some(node) = json::parse(&mut findings) {
        whole(&mut findings, &node, &mut defaults);
    }
    if findings.is_empty() { Ok(defaults) } else { Err(findings.problems()) }
}

fn whole(findings: &mut Findings<'_>, node: &Node, defaults: &mut AppDefaults) {
    let Some(file) = json::file(findings, node) else { return };
    let Some(node) = file.get("apps") else { return };
    if let Json::List(_) = &node.json {
        let description = "\"apps\" must be an object, not a list";
        findings.add(
            node.span.clone(),
            description,
            "this is a list of pm2 apps; `ostler import` reads it",
        );
        return;
    }
    let Some(apps) = json::object(findings, node, "apps") else { return };
    json::known(findings, apps, &["runtime", "supervisor"], Unknown::Ignored);
    if let Some(node) = apps.get("runtime")
        && let Some(runtime) = json::text(findings, node, "runtime")
        && runtime != "ipc"
    {
        let shown: String = runtime.chars().take(60).collect();
        let description = format!("apps cannot run as {shown:?}");
        findings.add(
            node.span.clone(),
            description,
            "write \"ipc\": each app is a process of its own",
        );
    }
    let Some(node) = apps.get("supervisor") else { return };
    let Some(supervisor) = json::object(findings, node, "supervisor") else { return };
    json::known(findings, supervisor, KEYS, Unknown::Wrong);
    heartbeat(findings, supervisor, defaults);
    restart(findings, supervisor, defaults);
    let range = LEAST_MS..=Limits::MAX_GRACE_MS;
    let right = "milliseconds, between 50 and 60000; 5000 is usual";
    if let Some(grace) = whole_of(findings, supervisor, "shutdownTimeout", range, right) {
        defaults.grace_ms = grace;
    }
}

fn whole_of(
    findings: &mut Findings<'_>,
    object: &Object,
    name: &str,
    range: std::ops::RangeInclusive<u64>,
    right: &str,
) -> Option<u64> {
    json::whole(findings, object.get(name)?, name, range, right)
}

fn heartbeat(findings: &mut Findings<'_>, supervisor: &Object, defaults: &mut AppDefaults) {
    let range = LEAST_MS..=DAY_MS;
    let right = "milliseconds, between 50 and 86400000; 30000 is usual";
    let interval = whole_of(findings, supervisor, "heartbeatInterval", range.clone(), right);
    let right = "milliseconds, between 50 and 86400000; 90000 is usual";
    let timeout = whole_of(findings, supervisor, "heartbeatTimeout", range, right);
    let own = &mut defaults.heartbeat;
    own.interval_ms = interval.unwrap_or(own.interval_ms);
    // The default timeout is the interval times the allowed misses.
    own.timeout_ms = match (timeout, interval) {
        (Some(timeout), _) => timeout,
        (None, Some(interval)) => interval.saturating_mul(own.misses.into()),
        (None, None) => own.timeout_ms,
    };
    if own.timeout_ms < own.interval_ms
        && let Some(node) = supervisor.get("heartbeatTimeout")
    {
        let description =
            "\"heartbeatTimeout\" is shorter than the interval between two heartbeats";
        let hint =
            format!("the interval is {}; a timeout of three times that is usual", own.interval_ms);
        findings.add(node.span.clone(), description, hint);
    }
}

fn restart(findings: &mut Findings<'_>, supervisor: &Object, defaults: &mut AppDefaults) {
    let policy = &mut defaults.restart;
    let right = "between 1 and 1000000; 1 disables an app at its first crash, 5 is usual";
    let count = whole_of(findings, supervisor, "maxRestarts", 1..=1_000_000, right);
    let right = "milliseconds, between 50 and 86400000; 300000 is usual";
    let window = whole_of(findings, supervisor, "restartWindow", LEAST_MS..=DAY_MS, right);
    if let Some(limit) = &mut policy.limit {
        limit.count = count.and_then(|count| count.try_into().ok()).unwrap_or(limit.count);
        limit.window_ms = window.unwrap_or(limit.window_ms);
        // A run longer than the failure window resets the delay, too.
        policy.backoff.reset_after_ms = limit.window_ms;
    }
    let right = "milliseconds, at most 86400000; 1000 is usual";
    let delay = whole_of(findings, supervisor, "restartDelay", 0..=DAY_MS, right);
    let backoff = &mut policy.backoff;
    backoff.initial_ms = delay.unwrap_or(backoff.initial_ms);
    backoff.max_ms = backoff.max_ms.max(backoff.initial_ms);
    let Some(node) = supervisor.get("backoffMultiplier") else { return };
    let right = "between 1 and 1000; 2 is usual";
    let Some(factor) = json::number(findings, node, "backoffMultiplier", right) else { return };
    if (1.0..=1_000.0).contains(&factor) {
        backoff.factor = factor;
    } else {
        let description = format!("\"backoffMultiplier\" cannot be {factor}");
        findings.add(node.span.clone(), description, right);
    }
}
