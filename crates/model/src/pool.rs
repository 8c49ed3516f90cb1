//! A pool: how many of its members may run at once, and how much memory must be free before another one starts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The declaration of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolSpec {
    pub name: String,
    /// How many members may run at once; no limit if absent.
    pub max: Option<u32>,
    /// A member starts only while this much memory is free.
    pub min_free_memory_bytes: Option<u64>,
    /// No member starts while the machine's memory pressure is higher, in hundredths of a percent; `None` turns this
    /// off.
    pub max_pressure: Option<u32>,
    /// The file that declares it. `None` after that file dropped it while members still named it.
    pub file: Option<String>,
}

impl PoolSpec {
    /// Some task of the machine waited for memory for a fifth of the last ten seconds.
    pub const USUAL_MAX_PRESSURE: u32 = 20_00;
}

/// A pool, as displayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolView {
    pub name: String,
    pub max: Option<u32>,
    pub min_free_memory_bytes: Option<u64>,
    /// In hundredths of a percent.
    pub max_pressure: Option<u32>,
    pub file: Option<String>,
    /// Members that run or are starting: unit names and run ids.
    pub running: Vec<String>,
    /// Waiting members, next one first.
    pub queued: Vec<String>,
    /// Why no member starts; empty if none waits.
    pub why: String,
}
