//! The declaration of a container.

use crate::{HealthSpec, Resources};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSpec {
    pub image: String,
    /// The image's own command if absent.
    pub command: Option<Vec<String>>,
    /// A name for other programs. Ostler recognizes its containers by their label.
    pub name: Option<String>,
    /// `host:inside` or `host:inside:ro`.
    pub volumes: Vec<String>,
    /// `host:inside`, optionally with an address before it and a protocol after it.
    pub ports: Vec<String>,
    pub network: Option<String>,
    /// Files in /code that its checks need. Without them the start is refused.
    #[serde(default)]
    pub scripts: Vec<String>,
    /// Checked for as long as the container lives. It is ready when the check passes; a later failure is a warning.
    #[serde(default)]
    pub readiness: Option<HealthSpec>,
    /// An error in the file that describes it: the container cannot be created.
    #[serde(default)]
    pub broken: Option<String>,
    /// The list that declares it. A container that is removed from the list is left running.
    #[serde(default)]
    pub listed: Option<Listed>,
}

/// A container that exists because a file lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    pub file: String,
    pub name: String,
}

impl Listed {
    /// Whether this text of the list contains it; `None` if the text cannot be parsed.
    pub fn is_in(&self, text: &str) -> Option<bool> {
        let list: serde_json::Value = serde_json::from_str(text).ok()?;
        Some(list.get(&self.name).is_some_and(|one| one["type"] == "agent"))
    }
}

/// The order for a container's shim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerOrder {
    pub spec: ContainerSpec,
    pub env: BTreeMap<String, String>,
    pub resources: Resources,
    pub stop_signal: i32,
    pub grace_ms: u64,
    /// What marks the container as ours: the home's instance, the unit, and the run.
    pub home: String,
    pub unit: String,
    pub run: String,
    /// Digest of what the container was created from. A container with another digest is replaced.
    pub digest: String,
    /// Prefix of the files in which the shim keeps notes for the next shim and its supervisor.
    #[serde(default)]
    pub notes: String,
    /// The file that declares the unit.
    #[serde(default)]
    pub file: Option<String>,
}

impl ContainerOrder {
    /// Note of why the container ended if its exit code does not tell. The supervisor may not be running at that
    /// moment.
    pub fn end_note(&self) -> String {
        format!("{}.end", self.notes)
    }

    /// Note of how far its output was passed on.
    pub fn place_note(&self) -> String {
        format!("{}.place", self.notes)
    }

    /// Note that a container may exist and how to find it, for a process that must remove it when its shim cannot.
    pub fn made_note(&self) -> String {
        format!("{}.made", self.notes)
    }

    /// Written by the supervisor before it ends a shim whose container continues.
    pub fn leave_note(&self) -> String {
        format!("{}{}", self.notes, Self::LEAVE)
    }

    /// The container's name. Contains the home, because two homes may have units of the same name.
    pub fn name(&self) -> String {
        self.spec.name.clone().unwrap_or_else(|| {
            let home = self.home.get(self.home.len().saturating_sub(6)..).unwrap_or_default();
            format!("ostler-{}-{home}", self.unit.replace(['/', '@'], "-"))
        })
    }
}

/// Written before a container is created, and removed when the container is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerMade {
    /// Without the settings that the container was created from.
    pub order: ContainerOrder,
    /// The environment for calling its engine.
    pub environment: Vec<(String, String)>,
    /// The ids of the containers that we created, as the engine reported them.
    #[serde(default)]
    pub ids: Vec<String>,
    /// A container was requested, and the engine has not reported its id.
    #[serde(default)]
    pub is_asked_for: bool,
    /// It was removed from the list of agents and continues. Only `down` and `stop` remove it.
    #[serde(default)]
    pub is_left: bool,
}

/// How a container ended, besides its exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerEnd {
    pub run: String,
    pub kind: ContainerEndKind,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContainerEndKind {
    OutOfMemory,
    Refused,
    Failed,
    Removed,
    /// It continues without its unit.
    Left,
}

/// Exit code of a check that could not be made: neither passed nor failed.
pub const CHECK_UNKNOWN: i32 = 69;

impl ContainerOrder {
    /// The environment variable that carries the order.
    pub const VARIABLE: &'static str = "OSTLER_CONTAINER";
    /// Suffix of the note that a container continues.
    pub const LEAVE: &'static str = ".leave";
}
