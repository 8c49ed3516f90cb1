//! An app: a unit that talks back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a unit is that was declared by a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppSpec {
    /// The manifest's own id, which may be `@scope/name`.
    pub id: String,
    /// Where the manifest is.
    pub path: String,
    /// What it says, whole.
    pub manifest: Value,
    /// From its start until it has registered; how long it then has until it is ready is the unit's `ready`.
    pub register_ms: u64,
    /// What it gets when it asks for its configuration.
    #[serde(default)]
    pub config: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatSpec {
    pub interval_ms: u64,
    /// Silent for longer, it is unhealthy.
    pub timeout_ms: u64,
    /// So many intervals missed, it is started anew.
    pub misses: u32,
}

impl Default for HeartbeatSpec {
    fn default() -> Self {
        Self { interval_ms: 30_000, timeout_ms: 90_000, misses: 3 }
    }
}

/// The document's words for the state of an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppPhase {
    Stopped,
    Starting,
    Ready,
    Stopping,
    Error,
}

/// What an operator is told of an app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppStatus {
    pub package_id: String,
    pub state: AppPhase,
    pub pid: Option<i32>,
    /// In ms since 1970, as all times here.
    pub started_at: Option<u64>,
    pub restart_count: u64,
    pub last_heartbeat: Option<u64>,
    pub last_error: Option<String>,
    /// Of the whole tree.
    pub resource_usage: Option<AppUsage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppUsage {
    pub memory_rss: u64,
    pub cpu_percent: f64,
}
