//! The patrol's state between two ticks, and people's orders to it.

use crate::Done;
use crate::operation::{operation, repeatable};
use ostler_model::{PatrolMemory, PatrolNote, PatrolOrders, PatrolSave, WatchReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Load {}

operation!(Load: "patrol.load", Query, ReadOnly, Large, At("/patrol") => PatrolMemory, "read the patrol's state");

/// The caller must hold the patrol's lock.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Save(pub Box<PatrolSave>);

repeatable!(Save: "patrol.save", Command, Operator, Large, Internal("only the patrol writes its own state") => Done, "write the patrol's state");

/// Replaces the last report about this agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Say {
    pub agent: String,
    pub said: WatchReport,
}

repeatable!(Say: "patrol.say", Command, App, Large, At("/patrol/agents/{agent}/say") => Done, "record an agent's report for the patrol");

/// Replaces the orders if they are still those that the caller read; so it is not repeated.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub seen: PatrolOrders,
    pub now: PatrolOrders,
}

operation!(Order: "patrol.order", Command, Operator, Large, At("/patrol/order") => Done, "change the orders to the patrol");

/// With or without a unit's name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    pub notes: Vec<PatrolNote>,
}

repeatable!(Note: "patrol.note", Command, Operator, Large, Internal("only the patrol writes its own entries") => Done, "write entries of the patrol to the journal");
