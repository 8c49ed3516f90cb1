//! An agent inside a terminal: the judgement of its screen, its own reports, and the state that follows from both.

use crate::{AgentState, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The judgement of one screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentJudged {
    pub profile: String,
    pub state: AgentState,
    /// The question to a person.
    pub question: Option<String>,
    /// The possible answers, as numbered on the screen.
    pub choices: Vec<String>,
    /// When a limit ends.
    #[serde(rename = "untilAtMs", alias = "untilMs")]
    pub until_ms: Option<u64>,
    /// The text on the screen that decided.
    pub evidence: String,
}

/// A report of an agent about itself, from a process of its own run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentReport {
    /// When it was received; 0 in the call.
    #[serde(skip_serializing_if = "is_zero")]
    pub at_ms: u64,
    pub state: Option<AgentState>,
    pub question: Option<String>,
    #[serde(rename = "untilAtMs", alias = "untilMs")]
    pub until_ms: Option<u64>,
    /// The agent's own name for its conversation.
    pub session: Option<String>,
    /// A text that was sent to the agent, as it received it.
    pub prompt: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The current state of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentView {
    pub profile: String,
    pub state: AgentState,
    /// Since when it is in this state, with this question.
    #[serde(rename = "sinceAtMs", alias = "sinceMs")]
    pub since_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    #[serde(rename = "untilAtMs", alias = "untilMs", skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    pub evidence: String,
    pub source: AgentSource,
    /// Since when the patrol considers it hung.
    #[serde(
        rename = "hungSinceAtMs",
        alias = "hungSinceMs",
        skip_serializing_if = "Option::is_none"
    )]
    pub hung_since_ms: Option<u64>,
    /// Since when its process has been dead although its unit should run.
    #[serde(
        rename = "deadSinceAtMs",
        alias = "deadSinceMs",
        skip_serializing_if = "Option::is_none"
    )]
    pub dead_since_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The source of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgentSource {
    #[default]
    Screen,
    /// The agent's own report.
    Report,
}

/// What the operator was notified of, so that it happens once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentNotified {
    pub run: RunId,
    pub state: AgentState,
    pub question: Option<String>,
}

/// An agent's state and reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentKnown {
    /// `None` if the program on the terminal is no known agent.
    pub view: Option<AgentView>,
    /// Its last reports, oldest first.
    pub reports: Vec<AgentReport>,
}
