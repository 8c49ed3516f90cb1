use crate::{Termination, TimeoutKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A count that only grows, also across supervisors: the registry keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Counter {
    Spawn,
    Exit(Termination),
    Timeout(TimeoutKind),
    /// By the mechanism of the kill: the process group, the cgroup, or a single process.
    CleanupKill(&'static str),
    ReconcileOrphans,
    LeaseSteal,
    OwnershipEscape,
    ZombiesReaped,
}

impl Counter {
    pub const KILL_MODES: [&'static str; 3] = ["pid", "pgid", "cgroup"];

    pub fn name(self) -> &'static str {
        match self {
            Counter::Spawn => "run_spawn_total",
            Counter::Exit(_) => "run_exit_total",
            Counter::Timeout(_) => "run_timeout_total",
            Counter::CleanupKill(_) => "run_cleanup_kill_total",
            Counter::ReconcileOrphans => "run_reconcile_orphans_total",
            Counter::LeaseSteal => "run_lease_steal_total",
            Counter::OwnershipEscape => "run_ownership_escape_total",
            Counter::ZombiesReaped => "zombies_reaped_total",
        }
    }

    pub fn label(self) -> Option<(&'static str, &'static str)> {
        match self {
            Counter::Exit(reason) => Some(("reason", reason.as_str())),
            Counter::Timeout(kind) => Some(("type", kind.as_str())),
            Counter::CleanupKill(mode) => Some(("mode", mode)),
            Counter::Spawn
            | Counter::ReconcileOrphans
            | Counter::LeaseSteal
            | Counter::OwnershipEscape
            | Counter::ZombiesReaped => None,
        }
    }

    /// Every counter, so that a count of 0 is shown too.
    pub fn all() -> Vec<Counter> {
        let mut all = vec![Counter::Spawn];
        all.extend(Termination::ALL.iter().map(|reason| Counter::Exit(*reason)));
        all.extend(TimeoutKind::ALL.iter().map(|kind| Counter::Timeout(*kind)));
        all.extend(Counter::KILL_MODES.map(Counter::CleanupKill));
        all.extend([
            Counter::ReconcileOrphans,
            Counter::LeaseSteal,
            Counter::OwnershipEscape,
            Counter::ZombiesReaped,
        ]);
        all
    }
}

/// One value of `ostler metrics`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: u64,
}
