//! Notification hooks: a command, or a POST to a URL.

use crate::checks::prober::{Message, ProbeCommand};
use crate::supervisor::Supervisor;
use ostler_model::{Actor, Condition, DeadmanSpec, HookTarget, OsText, Purpose};
use serde_json::json;
use std::collections::BTreeSet;

/// The time limit of a hook's command.
const HOOK_MS: u64 = 30_000;

impl Supervisor {
    pub(crate) fn call_hook(&mut self, unit: &str, condition: Condition, why: &str) {
        let Some(record) = self.core.world.unit(unit) else { return };
        let Some(target) = record.spec.hooks.target(condition).cloned() else { return };
        match target {
            HookTarget::Url(url) => {
                let body = json!({
                    "unit": unit,
                    "condition": condition,
                    "why": why,
                    "atMs": ostler_os::wall_ms(),
                    "home": self.identity.home.path().display().to_string(),
                });
                let _ = self
                    .threads
                    .prober
                    .order(ProbeCommand::Post(Message { url, body: body.to_string() }));
            }
            HookTarget::Command(argv) => {
                let mut spec = crate::units::run_spec(&record.spec);
                spec.argv = argv.iter().map(|word| OsText(word.clone().into_bytes())).collect();
                spec.env.extend(
                    [
                        format!("OSTLER_UNIT={unit}"),
                        format!("OSTLER_CONDITION={}", condition.as_str()),
                        format!("OSTLER_WHY={why}"),
                    ]
                    .map(|variable| OsText(variable.into_bytes())),
                );
                spec.purpose = Purpose::Hook;
                spec.unit = None;
                spec.scope_key = None;
                spec.limits.timeout_ms = Some(HOOK_MS);
                let _ = self.new_run(Box::new(spec), Actor::Supervisor);
            }
        }
    }

    /// Updates the list of URLs that receive regular messages while all units are well.
    pub(crate) fn maintain_deadmen(&mut self) {
        let wanted: BTreeSet<DeadmanSpec> = self
            .core
            .world
            .unit_records()
            .filter_map(|record| record.spec.hooks.deadman.clone())
            .collect();
        if wanted != self.schedule.deadmen {
            self.schedule.deadmen.clone_from(&wanted);
            let _ = self.threads.prober.order(ProbeCommand::Deadmen(wanted.into_iter().collect()));
        }
    }
}
