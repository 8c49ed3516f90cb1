//! An app: a unit that talks to the supervisor over the app socket.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A unit that a manifest declares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppSpec {
    /// The id in the manifest, which may be `@scope/name`.
    pub id: String,
    /// The path of the manifest.
    pub path: String,
    /// The whole manifest.
    pub manifest: Value,
    /// Time from its start to its registration. The time from there until it is ready is the unit's `ready`.
    pub register_ms: u64,
    /// The answer to its request for its configuration.
    #[serde(default)]
    pub config: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatSpec {
    pub interval_ms: u64,
    /// After this much silence it is unhealthy.
    pub timeout_ms: u64,
    /// After this many missed intervals it is restarted.
    pub misses: u32,
}

impl Default for HeartbeatSpec {
    fn default() -> Self {
        Self { interval_ms: 30_000, timeout_ms: 90_000, misses: 3 }
    }
}

/// The state of an app, in OpenClawOS's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppPhase {
    Stopped,
    Starting,
    Ready,
    Stopping,
    Error,
}

/// An app, for the operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppStatus {
    pub package_id: String,
    pub state: AppPhase,
    pub pid: Option<i32>,
    /// In ms since 1970, like all times here.
    pub started_at: Option<u64>,
    pub restart_count: u64,
    pub last_heartbeat: Option<u64>,
    pub last_error: Option<String>,
    /// Of the whole process tree.
    pub resource_usage: Option<AppUsage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppUsage {
    pub memory_rss: u64,
    pub cpu_percent: f64,
}
