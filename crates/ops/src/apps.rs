//! Apps: units with a manifest, which talk to the supervisor over the app socket.

use crate::operation::{operation, repeatable};
use ostler_model::{AppPhase, AppStatus, Desired, UnitEnd, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct List {
    /// Only those in this state.
    pub state: Option<AppPhase>,
    /// Only those with this text in their id.
    pub search: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Apps {
    pub apps: Vec<AppStatus>,
}

operation!(List: "apps.list", Query, ReadOnly, Large, At("/apps") => Apps, "list apps with their resource use");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The manifest's id, or the unit's name.
    pub package_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppInfo {
    #[serde(flatten)]
    pub status: AppStatus,
    pub unit: String,
    pub why: String,
    #[serde(rename = "sinceAtMs", alias = "since")]
    pub since: u64,
    pub desired: Desired,
    pub manifest: Value,
    pub manifest_path: String,
    pub config: Value,
    pub config_version: u64,
    /// The app's last health report.
    pub health: Value,
    pub ends: Vec<UnitEnd>,
    pub usage: Option<Usage>,
}

operation!(Info: "apps.info", Query, ReadOnly, Large, At("/apps/{packageId}") => AppInfo, "show an app");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Logs {
    /// As in `Info`.
    pub package_id: String,
    /// 100 by default, at most 10,000.
    #[serde(default)]
    pub lines: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AppLog {
    pub lines: Vec<AppLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppLine {
    pub stream: AppStream,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AppStream {
    Stdout,
    Stderr,
}

operation!(Logs: "apps.logs", Query, ReadOnly, Large, At("/apps/{packageId}/logs") => AppLog, "show the last lines of an app's output");

/// The result of a request for a state. With `wait: false` the state was only requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    pub ok: bool,
}

macro_rules! of_an_app {
    ($name:ident) => {
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// The manifest's id, or the unit's name.
            pub package_id: String,
            /// Answer when the state is reached (the default).
            #[serde(default)]
            pub wait: Option<bool>,
        }
    };
}

of_an_app!(Start);
repeatable!(Start: "apps.start", Command, Operator, Waiting, At("/apps/{packageId}/start") => Accepted, "start an app");

of_an_app!(Stop);
repeatable!(Stop: "apps.stop", Command, Operator, Waiting, At("/apps/{packageId}/stop") => Accepted, "stop an app");

of_an_app!(Restart);
operation!(Restart: "apps.restart", Command, Operator, Waiting, At("/apps/{packageId}/restart") => Accepted, "restart an app");
