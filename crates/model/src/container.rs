//! A container as it is declared.

use crate::{HealthSpec, Resources};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSpec {
    pub image: String,
    /// The image's own where there is none.
    pub command: Option<Vec<String>>,
    /// The name others know it by, where one is wanted; which one is ours is told by its label.
    pub name: Option<String>,
    /// `host:inside` or `host:inside:ro`.
    pub volumes: Vec<String>,
    /// `host:inside`, with an address before it and a protocol behind it where wanted.
    pub ports: Vec<String>,
    pub network: Option<String>,
    /// Files in /code that its checks need: without them it is refused.
    #[serde(default)]
    pub scripts: Vec<String>,
    /// Asked for all its life. It is ready when it passes; failing later is a warning.
    #[serde(default)]
    pub readiness: Option<HealthSpec>,
    /// What is wrong with the file that describes it: it cannot be made.
    #[serde(default)]
    pub broken: Option<String>,
    /// The list that it comes from. One that is no longer in it is left alone.
    #[serde(default)]
    pub listed: Option<Listed>,
}

/// A container that is there because a file lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    pub file: String,
    pub name: String,
}

impl Listed {
    /// Whether this text of the list has it; `None` where the text does not tell.
    pub fn is_in(&self, text: &str) -> Option<bool> {
        let list: serde_json::Value = serde_json::from_str(text).ok()?;
        Some(list.get(&self.name).is_some_and(|one| one["type"] == "agent"))
    }
}

/// What a container's shim is to do, as it is handed to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Where the shim keeps what the next one, and its supervisor, have to know: the beginning of files' names.
    #[serde(default)]
    pub notes: String,
    /// The file that declares the unit.
    #[serde(default)]
    pub file: Option<String>,
}

impl ContainerOrder {
    /// Why it ended, where its exit code does not tell: for the supervisor, who may not be there just then.
    pub fn end_note(&self) -> String {
        format!("{}.end", self.notes)
    }

    /// How far its output was passed on.
    pub fn place_note(&self) -> String {
        format!("{}.place", self.notes)
    }

    /// That there may be a container, and how to find it: for whoever has to remove it when its shim cannot.
    pub fn made_note(&self) -> String {
        format!("{}.made", self.notes)
    }

    /// Written by the supervisor before it ends a shim whose container is to run on.
    pub fn leave_note(&self) -> String {
        format!("{}{}", self.notes, Self::LEAVE)
    }

    /// Two homes may have units of the same name.
    pub fn name(&self) -> String {
        self.spec.name.clone().unwrap_or_else(|| {
            let home = self.home.get(self.home.len().saturating_sub(6)..).unwrap_or_default();
            format!("ostler-{}-{home}", self.unit.replace(['/', '@'], "-"))
        })
    }
}

/// What is written down before a container is made, and removed when it is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerMade {
    /// Without what it was made from.
    pub order: ContainerOrder,
    /// The way to its engine.
    pub environment: Vec<(String, String)>,
    /// Those we made, by the engine's own word.
    #[serde(default)]
    pub ids: Vec<String>,
    /// The engine was asked for one, and has not said which it made.
    #[serde(default)]
    pub is_asked_for: bool,
    /// It left the list of agents and runs on. It is removed by `down` and `stop`, by nothing else.
    #[serde(default)]
    pub is_left: bool,
}

/// What the end of a container was, beside its exit code.
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
    /// It runs on, without its unit.
    Left,
}

/// What a check ends with that could not be made: neither well nor failed.
pub const CHECK_UNKNOWN: i32 = 69;

impl ContainerOrder {
    /// How it is handed over.
    pub const VARIABLE: &'static str = "OSTLER_CONTAINER";
    /// The end of the name of the note that a container is to run on.
    pub const LEAVE: &'static str = ".leave";
}
