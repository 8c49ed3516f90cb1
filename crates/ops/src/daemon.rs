//! The daemon itself.

use crate::Done;
use crate::operation::{operation, repeatable};
use ostler_model::{RunResult, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The handshake: both sides send their version.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ping {
    /// The client's version.
    pub version: String,
}

impl Ping {
    /// The version of this program.
    pub fn ours() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

operation!(Ping: "daemon.ping", Query, ReadOnly, Quick, At("/daemon") => Pong, "ask whether the supervisor answers, and its version");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pong {
    pub version: String,
    pub pid: u32,
    pub home: String,
    pub started_at_ms: u64,
    pub live: u64,
    /// The guardian's pid; `None` under systemd or without a guardian.
    pub guardian: Option<i32>,
    /// Why the new program did not take over and the old one was started again.
    pub went_back: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {}

operation!(Metrics: "daemon.metrics", Query, ReadOnly, Large, At("/daemon/metrics") => Vec<Sample>, "read the counters");

/// For the supervisor that receives it, not for its successor; so it is not repeated.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Shutdown {}

operation!(Shutdown: "daemon.shutdown", Command, Operator, Waiting, At("/daemon/shutdown") => Stopped, "end every run, then the daemon");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    pub pid: u32,
    pub ended: Vec<RunResult>,
    /// Results that could not be written to the registry.
    pub unsaved: u64,
    /// Processes of earlier runs that could not be ended and are still alive, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// Only from a process of a run: that run ends too, so the guardian carries the restart out. From any other caller it
/// is a conflict, and nothing happens.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Restart {}

operation!(Restart: "daemon.restart", Command, Operator, Waiting, Internal("only a process of a run needs it; other callers stop the daemon and start it") => Done, "end every run, and start the daemon again");

/// Hands over to a successor; the runs continue.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HandOver {
    /// The program to hand over to; by default the supervisor's own.
    pub program: Option<String>,
}

operation!(HandOver: "daemon.hand-over", Command, Operator, Quick, Internal("`ostler upgrade` checks the new program and waits for it on this machine") => Done, "let a new supervisor take over the runs");

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Wake {}

repeatable!(Wake: "daemon.wake", Command, Operator, Quick, At("/daemon/wake") => Done, "start the units that were stopped with the daemon");
