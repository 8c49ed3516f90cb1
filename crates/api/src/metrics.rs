//! The counters in the text format that Prometheus reads.

use ostler_model::Sample;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::HashMap;

type Labels = Vec<(String, String)>;

pub fn exposition(samples: &[Sample]) -> String {
    let mut registry = Registry::default();
    let mut families: HashMap<String, Family<Labels, Counter>> = HashMap::new();
    for sample in samples {
        let labels: Labels = sample.labels.clone().into_iter().collect();
        match sample.name.strip_suffix("_total") {
            Some(base) if labels.is_empty() => {
                let counter = Counter::<u64>::default();
                counter.inc_by(sample.value);
                registry.register(base, help(&sample.name), counter);
            }
            Some(base) => {
                let family = families.entry(base.to_owned()).or_insert_with(|| {
                    let family = Family::default();
                    registry.register(base, help(&sample.name), Family::clone(&family));
                    family
                });
                family.get_or_create(&labels).inc_by(sample.value);
            }
            None => {
                let gauge = Gauge::<i64>::default();
                gauge.set(sample.value as i64);
                registry.register(&sample.name, help(&sample.name), gauge);
            }
        }
    }
    let mut text = String::new();
    // Writing into a String does not fail.
    let _ = encode(&mut text, &registry);
    text
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
        "run_live" => "Runs that are not over",
        "zombies_reaped_total" => "Orphaned descendants that were reaped",
        _ => "",
    }
}
