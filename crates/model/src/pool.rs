//! A pool: how many of its members run at once, and how much memory must be free for one more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a file declares of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolSpec {
    pub name: String,
    /// How many members run at once; without a limit where there is none.
    pub max: Option<u32>,
    /// A member is started only while this much memory is free.
    pub min_free_memory_bytes: Option<u64>,
    /// No member is started while the machine's memory pressure is higher, in hundredths of a percent; `None` is off.
    pub max_pressure: Option<u32>,
    /// The file that declares it. None once that file has dropped it while members still named it.
    pub file: Option<String>,
}

impl PoolSpec {
    /// A task of the machine stood still for want of memory for a fifth of the last ten seconds.
    pub const USUAL_MAX_PRESSURE: u32 = 20_00;
}

/// A pool as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolView {
    pub name: String,
    pub max: Option<u32>,
    pub min_free_memory_bytes: Option<u64>,
    /// In hundredths of a percent.
    pub max_pressure: Option<u32>,
    pub file: Option<String>,
    /// Members that run or are being started: names of units, ids of runs.
    pub running: Vec<String>,
    /// Members that wait, the next one first.
    pub queued: Vec<String>,
    /// Why nobody is started; empty if nobody waits.
    pub why: String,
}
