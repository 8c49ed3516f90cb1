//! What a unit uses: of its whole tree, at the moment somebody looked.

use crate::UnitView;
use serde::{Deserialize, Serialize};

/// One look at a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// When it was looked at.
    pub at_ms: u64,
    /// Of one processor, over the time in `over_ms`: since the look before, or since its start.
    pub cpu_percent: f64,
    pub over_ms: u64,
    /// Since its start, with what has ended of it.
    pub cpu_ms: u64,
    pub memory_bytes: u64,
    pub processes: u64,
    /// From and to disks since its start.
    #[serde(default)]
    pub read_bytes: u64,
    #[serde(default)]
    pub written_bytes: u64,
    /// Open ones, of all its processes.
    #[serde(default)]
    pub descriptors: u64,
    /// Only where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tree: Vec<ProcessUsage>,
}

/// One process of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessUsage {
    pub pid: i32,
    pub parent: i32,
    pub command: String,
    pub cpu_ms: u64,
    pub memory_bytes: u64,
}

/// A unit, and what it uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitLook {
    pub view: UnitView,
    pub usage: Option<Usage>,
    /// Of the last hour, as far as somebody looked; only where one unit was asked for by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<UsagePoint>,
}

/// One point of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsagePoint {
    pub at_ms: u64,
    pub cpu_percent: f64,
    pub memory_bytes: u64,
}

/// How much of what units use is to be looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    None,
    /// What can be had in a moment: of many, only what was seen last.
    #[default]
    Quick,
    Whole,
    /// With every process.
    Tree,
}
