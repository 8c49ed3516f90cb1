//! What a declaration changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a declaration changes of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub unit: String,
    pub kind: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Add,
    Remove,
    /// What runs is not what is declared now.
    Restart,
    /// It changed in a way that needs no restart.
    Update,
    Start,
    Keep,
}
