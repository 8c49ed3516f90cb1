//! State of the agent program inside a terminal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent is doing, by its screen and its own reports.
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
    /// Its prompt has not appeared yet.
    Starting,
    Working,
    /// Its input box is visible and it is not working.
    Idle,
    /// It asks a person something: a question, a permission, a login, whether to trust a folder.
    Waiting,
    /// Its provider refuses requests, until a time that may be known.
    Limited,
    /// The screen shows nothing that the profile recognizes.
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
