//! The counters in Prometheus text format, in a fixed order.

use ostler_model::{AppPhase, AppStatus, Sample};
use std::fmt::Write;

/// Of every name in the Prometheus format. JSON has the names without it.
const PREFIX: &str = "ostler_";

pub fn exposition(samples: &[Sample]) -> String {
    let mut text = String::new();
    let mut last = "";
    for sample in samples {
        let kind = if sample.name.ends_with("_total") { "counter" } else { "gauge" };
        // Writing to a String does not fail.
        if sample.name != last {
            let _ = writeln!(text, "# HELP {PREFIX}{} {}", sample.name, help(&sample.name));
            let _ = writeln!(text, "# TYPE {PREFIX}{} {kind}", sample.name);
            last = &sample.name;
        }
        // All label values are constants, so they need no escaping.
        let labels: Vec<String> =
            sample.labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "{PREFIX}{}{labels} {}", sample.name, sample.value);
    }
    text
}

type Measure = fn(&AppStatus) -> Option<f64>;

/// Metrics of each app. The number of restarts begins again when its unit is declared again, so it is a gauge.
const APP_MEASURES: [(&str, &str, Measure); 4] = [
    ("app_up", "Whether the app is ready (1) or not (0)", |app| {
        Some(f64::from(u8::from(app.state == AppPhase::Ready)))
    }),
    ("app_restarts", "Number of restarts of the app", |app| Some(app.restart_count as f64)),
    ("app_memory_bytes", "Memory of the app's process tree", |app| {
        Some(app.resource_usage?.memory_rss as f64)
    }),
    ("app_cpu_percent", "CPU usage of the app's process tree, 100 is one core", |app| {
        Some(app.resource_usage?.cpu_percent)
    }),
];

/// Apps, each with the name of its unit.
pub(crate) fn app_exposition(apps: &[(String, AppStatus)]) -> String {
    let mut text = String::new();
    for (name, help, measure) in APP_MEASURES {
        let mut is_first = true;
        for (unit, app) in apps {
            let Some(value) = measure(app) else { continue };
            if std::mem::take(&mut is_first) {
                let _ = writeln!(text, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} gauge");
            }
            let (id, unit) = (escaped(&app.package_id), escaped(unit));
            let _ = writeln!(text, "{PREFIX}{name}{{app=\"{id}\",unit=\"{unit}\"}} {value}");
        }
    }
    text
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn help(name: &str) -> &'static str {
    match name {
        "run_spawn_total" => "Number of runs that were started",
        "run_exit_total" => "Number of runs that ended, by reason",
        "run_timeout_total" => "Number of runs that timed out, by kind",
        "run_cleanup_kill_total" => "Number of KILL signals that were needed, by method",
        "run_reconcile_orphans_total" => "Number of live runs found at start or taken over",
        "run_lease_steal_total" => {
            "Number of runs taken over from an owner that did not renew its lease"
        }
        "run_ownership_escape_total" => "Number of runs with descendants outside their boundary",
        "output_kept_bytes" => "Stored output of all runs in bytes (upper estimate)",
        "output_most_bytes" => "Maximum stored output of all runs in bytes",
        "run_live" => "Number of runs that have not ended",
        "zombies_reaped_total" => "Number of orphaned descendants that were reaped",
        _ => "",
    }
}
