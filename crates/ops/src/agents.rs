//! The agents that run on terminals.

use crate::Done;
use crate::operation::{operation, repeatable};
use ostler_model::{AgentIdle, AgentKnown, AgentReport, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Show {
    /// A run id, the unambiguous beginning or end of one, or a unit's name.
    pub run: String,
    /// Judge the screen now. Otherwise the response is the judgement of the last stable screen.
    #[serde(default)]
    pub fresh: bool,
}

operation!(Show: "agents.show", Query, ReadOnly, Quick, At("/agents/{run}") => AgentKnown, "show the state of the agent on a terminal");

/// The caller must be a process of the agent's run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The run that the caller is part of, from `OSTLER_RUN_ID`.
    pub run: RunId,
    pub report: Box<AgentReport>,
}

repeatable!(Report: "agents.report", Command, App, Quick, Internal("only a process of the agent's run may report for it") => Done, "record an agent's report of its own state");

/// The id with which the agent can resume its conversation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The unit's name, or the id of its last run (`OSTLER_RUN_ID`).
    pub of: String,
    /// `None` forgets the conversation.
    pub session: Option<String>,
}

repeatable!(Session: "agents.session", Command, App, Quick, Internal("the hooks of an agent record its own conversation") => Done, "record the id of an agent's conversation");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    /// The unit's name, or a run id.
    pub of: String,
    pub idle: AgentIdle,
}

repeatable!(Idle: "agents.idle", Command, App, Quick, Internal("a program that watches an agent reports for it") => Done, "report whether an agent is idle");
