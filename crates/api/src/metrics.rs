//! The counters in the text format that Prometheus reads, always in the same order.

use ostler_model::{AppPhase, AppStatus, Sample};
use std::fmt::Write;

pub fn exposition(samples: &[Sample]) -> String {
    let mut text = String::new();
    let mut last = "";
    for sample in samples {
        let kind = if sample.name.ends_with("_total") { "counter" } else { "gauge" };
        // Writing into a String does not fail.
        if sample.name != last {
            let _ = writeln!(text, "# HELP {} {}", sample.name, help(&sample.name));
            let _ = writeln!(text, "# TYPE {} {kind}", sample.name);
            last = &sample.name;
        }
        // Every label's value is one of our own words: nothing in it has to be escaped.
        let labels: Vec<String> =
            sample.labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "{}{labels} {}", sample.name, sample.value);
    }
    text
}

type Measure = fn(&AppStatus) -> Option<f64>;

/// What is said of each app. A count of restarts starts anew when its unit is declared anew, so it is a gauge.
const APP_MEASURES: [(&str, &str, Measure); 4] = [
    ("app_up", "Whether the app is ready", |app| {
        Some(f64::from(u8::from(app.state == AppPhase::Ready)))
    }),
    ("app_restarts", "How often the app was restarted", |app| Some(app.restart_count as f64)),
    ("app_memory_bytes", "Memory of the app's whole tree", |app| {
        Some(app.resource_usage?.memory_rss as f64)
    }),
    ("app_cpu_percent", "Processor use of the app's whole tree, 100 is one core", |app| {
        Some(app.resource_usage?.cpu_percent)
    }),
];

/// Apps with the names of their units.
pub(crate) fn app_exposition(apps: &[(String, AppStatus)]) -> String {
    let mut text = String::new();
    for (name, help, measure) in APP_MEASURES {
        let mut is_first = true;
        for (unit, app) in apps {
            let Some(value) = measure(app) else { continue };
            if std::mem::take(&mut is_first) {
                let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
            }
            let (id, unit) = (escaped(&app.package_id), escaped(unit));
            let _ = writeln!(text, "{name}{{app=\"{id}\",unit=\"{unit}\"}} {value}");
        }
    }
    text
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn help(name: &str) -> &'static str {
    match name {
        "run_spawn_total" => "Runs that were started",
        "run_exit_total" => "Runs that ended, by reason",
        "run_timeout_total" => "Runs that ran out of time, by kind",
        "run_cleanup_kill_total" => "KILLs that were needed, by the way they went",
        "run_reconcile_orphans_total" => "Live runs found at start or taken over",
        "run_lease_steal_total" => "Runs taken over from a silent owner",
        "run_ownership_escape_total" => "Runs with descendants outside their boundary",
        "output_kept_bytes" => "Output of all runs that is kept, at most",
        "output_most_bytes" => "Output of all runs that may be kept",
        "run_live" => "Runs that are not over",
        "zombies_reaped_total" => "Orphaned descendants that were reaped",
        _ => "",
    }
}
