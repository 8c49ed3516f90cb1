//! The operation trait.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One request and its response.
pub trait Operation: Clone + Serialize + DeserializeOwned + JsonSchema + 'static {
    type Response: Serialize + DeserializeOwned + JsonSchema + 'static;

    /// Its name in every protocol: subject and verb, as in `runs.list`.
    const NAME: &'static str;
    /// What it does, in one line.
    const ABOUT: &'static str;
    const KIND: Kind;
    const RIGHT: Right;
    const COST: Cost;

    /// Whether a client may repeat the request to the next supervisor if this one ended before it answered. Doing it
    /// twice must have the same effect as doing it once.
    fn may_repeat(&self) -> bool {
        matches!(Self::KIND, Kind::Query)
    }

    /// Whether the request only waits. Such a request cannot be the cause of a supervisor's crash.
    fn only_waits(&self) -> bool {
        matches!(Self::KIND, Kind::Query) && matches!(Self::COST, Cost::Waiting)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Changes nothing.
    Query,
    /// Changes something.
    Command,
    /// More than one message in either direction follows the request.
    Stream,
}

/// The right that a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// Any caller that may read.
    ReadOnly,
    /// A program that Ostler runs, for itself.
    App,
    /// The user who owns the supervisor.
    Operator,
}

/// The cost of a request for the supervisor. It limits how many a caller may have open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// A small response, at once.
    Quick,
    /// A possibly large response: one at a time per process, and the supervisor builds one at a time.
    Large,
    /// A small response that waits for an event.
    Waiting,
}

/// The response of a command without a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {}

/// `operation!(Type: "name", Kind, Right, Cost => Response, "what it does")`, followed by overridden methods.
macro_rules! operation {
    ($type:ty: $name:literal, $kind:ident, $right:ident, $cost:ident => $response:ty, $about:literal $(, $method:item)*) => {
        impl $crate::Operation for $type {
            type Response = $response;
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const KIND: $crate::Kind = $crate::Kind::$kind;
            const RIGHT: $crate::Right = $crate::Right::$right;
            const COST: $crate::Cost = $crate::Cost::$cost;
            $($method)*
        }
    };
}

/// The same for a command that may be repeated: it requests a state, and the second time nothing is left to do.
macro_rules! repeatable {
    ($type:ty: $name:literal, $kind:ident, $right:ident, $cost:ident => $response:ty, $about:literal) => {
        operation!($type: $name, $kind, $right, $cost => $response, $about, fn may_repeat(&self) -> bool {
            true
        });
    };
}

pub(crate) use {operation, repeatable};
