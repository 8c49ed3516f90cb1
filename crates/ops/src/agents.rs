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
    /// Look at its screen now; without it, what was seen when it last came to rest.
    #[serde(default)]
    pub fresh: bool,
}

operation!(Show: "agents.show", Query, ReadOnly, Quick => AgentKnown, "show what is known of the agent on a terminal");

/// From a process of the agent's run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The run that the caller is part of, as `OSTLER_RUN_ID` says.
    pub run: RunId,
    pub report: Box<AgentReport>,
}

repeatable!(Report: "agents.report", Command, App, Quick => Done, "keep what an agent reports of its own state");

/// The id under which the agent itself can take up the same conversation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The unit's name, or the id of its run (`OSTLER_RUN_ID`), which must be its last.
    pub of: String,
    /// None forgets it.
    pub session: Option<String>,
}

repeatable!(Session: "agents.session", Command, App, Quick => Done, "keep the id of an agent's conversation");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    /// The unit's name, or a run id.
    pub of: String,
    pub idle: AgentIdle,
}

repeatable!(Idle: "agents.idle", Command, App, Quick => Done, "say whether an agent has nothing to do");
