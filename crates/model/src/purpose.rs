use crate::record::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a run is for. Only a `Program` is there for its own sake; the others serve a unit or an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The program of a caller or of a unit.
    #[default]
    Program,
    /// Checks a unit. Its exit code is the answer, and its record is removed when it has ended.
    Check,
    /// Removes the containers that the shims of a unit left. Its record is removed as that of a check.
    Sweep,
    /// Stands for a container that was removed from the list of agents.
    LeftContainer,
    /// The command of a hook for a condition of a unit.
    Hook,
    /// Types queued nudges into an agent's session.
    Delivery,
    /// The patrol's command for escalations.
    Escalation,
    /// The patrol's command that tells whether an agent has work.
    WorkQuery,
    /// The patrol's command that decides about an agent.
    Triage,
}

words!(Purpose {
    Program => "program",
    Check => "check",
    Sweep => "sweep",
    LeftContainer => "left-container",
    Hook => "hook",
    Delivery => "delivery",
    Escalation => "escalation",
    WorkQuery => "work-query",
    Triage => "triage",
});

impl Purpose {
    pub fn is_program(&self) -> bool {
        *self == Self::Program
    }

    /// It answers with its exit code: its output is not read, and no client asks for its record.
    pub fn is_transient(self) -> bool {
        match self {
            Self::Check | Self::Sweep => true,
            Self::Program
            | Self::LeftContainer
            | Self::Hook
            | Self::Delivery
            | Self::Escalation
            | Self::WorkQuery
            | Self::Triage => false,
        }
    }

    /// Whether a caller on the control socket may request such a run. The supervisor starts the others itself.
    pub fn is_of_callers(self) -> bool {
        match self {
            Self::Program | Self::Escalation | Self::WorkQuery | Self::Triage => true,
            Self::Check | Self::Sweep | Self::LeftContainer | Self::Hook | Self::Delivery => false,
        }
    }
}
