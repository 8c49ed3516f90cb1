//! Hooks: what is called when a unit begins to fail, and when it recovers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The target of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookTarget {
    Command(Vec<String>),
    Url(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HookSpec {
    pub on_crash: Option<HookTarget>,
    pub on_breaker: Option<HookTarget>,
    pub on_recovery: Option<HookTarget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_waiting: Option<HookTarget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_limited: Option<HookTarget>,
    pub deadman: Option<DeadmanSpec>,
}

/// A URL that is requested while everything is well, so that silence is the alarm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadmanSpec {
    pub url: String,
    pub every_ms: u64,
}

/// The condition that began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    Crash,
    Breaker,
    Recovery,
    /// An agent asks a person something.
    Waiting,
    /// An agent's provider refuses its requests for a time.
    Limited,
}

impl Condition {
    pub fn as_str(self) -> &'static str {
        match self {
            Condition::Crash => "crash",
            Condition::Breaker => "breaker",
            Condition::Recovery => "recovery",
            Condition::Waiting => "waiting",
            Condition::Limited => "limited",
        }
    }
}

impl HookSpec {
    pub fn target(&self, condition: Condition) -> Option<&HookTarget> {
        match condition {
            Condition::Crash => self.on_crash.as_ref(),
            Condition::Breaker => self.on_breaker.as_ref(),
            Condition::Recovery => self.on_recovery.as_ref(),
            Condition::Waiting => self.on_waiting.as_ref(),
            Condition::Limited => self.on_limited.as_ref(),
        }
    }
}
