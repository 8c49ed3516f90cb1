//! A container as it is declared.

use crate::Resources;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSpec {
    pub image: String,
    /// The image's own where there is none.
    pub command: Option<Vec<String>>,
    /// The name others know it by; which one is ours is told by its label.
    pub name: String,
    /// `host:inside` or `host:inside:ro`.
    pub volumes: Vec<String>,
    /// `host:inside`, with an address before it and a protocol behind it where wanted.
    pub ports: Vec<String>,
    pub network: Option<String>,
}

/// What a container's shim is to do, as it is handed to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerOrder {
    pub spec: ContainerSpec,
    pub env: BTreeMap<String, String>,
    pub resources: Resources,
    pub stop_signal: i32,
    pub grace_ms: u64,
    /// What makes it ours: the home's instance, the unit, and the run.
    pub home: String,
    pub unit: String,
    pub run: String,
    /// Of what it was made from: one that is otherwise is made anew.
    pub digest: String,
}

/// What a check ends with that could not be made: neither well nor failed.
pub const CHECK_UNKNOWN: i32 = 69;

impl ContainerOrder {
    /// How it is handed over.
    pub const VARIABLE: &'static str = "OSTLER_CONTAINER";
}
