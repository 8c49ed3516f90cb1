//! What is known of the agent inside a terminal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent is doing, as far as its screen and its own reports show.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AgentState {
    /// Its prompt has not been seen yet.
    Starting,
    Working,
    /// Its input box is there and it does not work.
    Idle,
    /// It asks a person something: a question, a permission, a login, whether to trust a folder.
    Waiting,
    /// Its provider refuses requests until a time that may be known.
    Limited,
    /// The screen shows nothing that the profile knows.
    #[default]
    Unknown,
}

impl std::fmt::Display for AgentState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            AgentState::Starting => "starting",
            AgentState::Working => "working",
            AgentState::Idle => "idle",
            AgentState::Waiting => "waiting for you",
            AgentState::Limited => "limited",
            AgentState::Unknown => "unknown",
        })
    }
}
