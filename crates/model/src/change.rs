//! The changes that a declaration makes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The change that a declaration makes to one unit.
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
    /// The running copy differs from the declaration.
    Restart,
    /// A change that needs no restart.
    Update,
    Start,
    Keep,
}
