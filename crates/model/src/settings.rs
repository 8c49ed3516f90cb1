use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do with a live run whose lease was stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdoptPolicy {
    Adopt,
    Terminate,
}

/// The settings of one supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub lease_ms: u64,
    pub adopt: AdoptPolicy,
    /// How many ended runs are kept, and for how long.
    pub history_count: u64,
    pub history_age_ms: u64,
    /// How many entries the journal keeps, and how many bytes of them.
    pub journal_rows: u64,
    pub journal_bytes: u64,
    /// How much output of one run is kept; the oldest segment is removed first.
    pub log_bytes: u64,
    /// How much output of all runs together is kept; by default, what fits the file system.
    pub output_bytes: Option<u64>,
    /// Create a kernel boundary (cgroup) for each run, if possible.
    pub kernel_boundary: bool,
    /// Enforce limits with cgroups, if possible; otherwise by sampling.
    pub limit_groups: bool,
}

impl Settings {
    /// A lease is renewed this many times per lease time.
    pub const RENEWALS_PER_LEASE: u64 = 10;
    /// One unit, one run without a unit, or the daemon itself may use at most this fraction (1/n) of the journal.
    pub const STORIES_AT_LEAST: u64 = 10;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease_ms: 30_000,
            adopt: AdoptPolicy::Adopt,
            history_count: 2_000,
            history_age_ms: 30 * 24 * 3_600 * 1_000,
            journal_rows: 200_000,
            journal_bytes: 128 << 20,
            log_bytes: 4 << 30,
            output_bytes: None,
            kernel_boundary: true,
            limit_groups: true,
        }
    }
}
