//! An agent inside a terminal: what is seen of it, what it reports, and what is shown of both.

use crate::{AgentState, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one look at a screen says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentJudged {
    pub profile: String,
    pub state: AgentState,
    /// What a person is asked.
    pub question: Option<String>,
    /// What can be answered, as it is numbered on the screen.
    pub choices: Vec<String>,
    /// When a limit is over.
    pub until_ms: Option<u64>,
    /// What was seen.
    pub evidence: String,
}

/// What an agent reports of itself, from a process of its own run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentReport {
    /// When it came; 0 in the call.
    #[serde(skip_serializing_if = "is_zero")]
    pub at_ms: u64,
    pub state: Option<AgentState>,
    pub question: Option<String>,
    pub until_ms: Option<u64>,
    /// What it calls its conversation.
    pub session: Option<String>,
    /// A text that was sent to it, as it got it.
    pub prompt: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What is known of an agent now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentView {
    pub profile: String,
    pub state: AgentState,
    /// Since when it is in this state, with this question.
    pub since_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    pub evidence: String,
    pub source: AgentSource,
    /// Since when the patrol holds it for hung.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hung_since_ms: Option<u64>,
    /// Since when its process has ended although its unit should run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_since_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Where a state is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgentSource {
    #[default]
    Screen,
    /// The agent's own.
    Report,
}

/// What a person was notified of, so that it is told once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentNotified {
    pub run: RunId,
    pub state: AgentState,
    pub question: Option<String>,
}

/// One agent, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentKnown {
    /// `None` if the program on the terminal is no agent that is known.
    pub view: Option<AgentView>,
    /// Its last reports, oldest first.
    pub reports: Vec<AgentReport>,
}
