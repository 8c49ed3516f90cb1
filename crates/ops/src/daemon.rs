//! The daemon itself.

use crate::Done;
use crate::operation::{operation, repeatable};
use ostler_model::{RunResult, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The greeting: both sides say their version.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ping {
    /// The caller's.
    pub version: String,
}

impl Ping {
    /// By this program.
    pub fn ours() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

operation!(Ping: "daemon.ping", Query, ReadOnly, Quick => Pong, "ask whether the supervisor answers, and its version");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pong {
    pub version: String,
    pub pid: u32,
    pub home: String,
    pub started_at_ms: u64,
    pub live: u64,
    /// The guardian's pid; none where systemd or nobody looks after the supervisor.
    pub guardian: Option<i32>,
    /// Why the program that was to take its place did not.
    pub went_back: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {}

operation!(Metrics: "daemon.metrics", Query, ReadOnly, Large => Vec<Sample>, "read the counters");

/// Meant for the supervisor that is asked, not for its successor: so it is not sent twice.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Shutdown {}

operation!(Shutdown: "daemon.shutdown", Command, Operator, Waiting => Stopped, "end every run, then the daemon");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    pub pid: u32,
    pub ended: Vec<RunResult>,
    /// Results that could not be written to the registry any more.
    pub unsaved: u64,
    /// What of earlier runs could not be ended and still lives, each in a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// For a caller that is a process of a run: its run ends too, so the guardian carries it out. From any other caller it is
/// a conflict, and nothing happens.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Restart {}

operation!(Restart: "daemon.restart", Command, Operator, Waiting => Done, "end every run, and start the daemon again");

/// Makes room for a successor; the runs go on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HandOver {
    /// The program to hand over to; its own again where there is none.
    pub program: Option<String>,
}

operation!(HandOver: "daemon.hand-over", Command, Operator, Quick => Done, "let a new supervisor take over the runs");

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Wake {}

repeatable!(Wake: "daemon.wake", Command, Operator, Quick => Done, "start the units that rested with a stopped daemon");
