//! What the patrol remembers between two ticks, and the orders that people gave it.

use crate::Done;
use crate::operation::{operation, repeatable};
use ostler_model::{PatrolMemory, PatrolNote, PatrolOrders, PatrolSave, WatchReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Load {}

operation!(Load: "patrol.load", Query, ReadOnly, Large => PatrolMemory, "read what the patrol remembers");

/// By the process that holds the patrol's lock.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Save(pub Box<PatrolSave>);

repeatable!(Save: "patrol.save", Command, Operator, Large => Done, "write what the patrol remembers");

/// Replaces what was said of this agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Say {
    pub agent: String,
    pub said: WatchReport,
}

repeatable!(Say: "patrol.say", Command, App, Large => Done, "keep what an agent says of itself");

/// Replaces the orders, if they are still those that the caller saw; so it is not sent twice.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub seen: PatrolOrders,
    pub now: PatrolOrders,
}

operation!(Order: "patrol.order", Command, Operator, Large => Done, "change the orders to the patrol");

/// With a unit's name or without.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    pub notes: Vec<PatrolNote>,
}

repeatable!(Note: "patrol.note", Command, Operator, Large => Done, "write entries of the patrol to the journal");
