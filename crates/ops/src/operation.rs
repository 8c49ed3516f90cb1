//! What an operation is.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One request, and its response.
pub trait Operation: Clone + Serialize + DeserializeOwned + JsonSchema + 'static {
    type Response: Serialize + DeserializeOwned + JsonSchema + 'static;

    /// Its name in every protocol: the subject and the verb, `runs.list`.
    const NAME: &'static str;
    /// What it does, in one line.
    const ABOUT: &'static str;
    const KIND: Kind;
    const RIGHT: Right;
    const COST: Cost;

    /// Whether the same request may be sent again to the next supervisor if this one ended before it answered: doing it
    /// twice must come to the same as doing it once.
    fn may_repeat(&self) -> bool {
        matches!(Self::KIND, Kind::Query)
    }

    /// Whether the request only waits for something. It cannot be the reason why a supervisor ended.
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

/// Who may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// Anybody who may look.
    ReadOnly,
    /// A program that Ostler runs, about itself.
    App,
    /// The user whose supervisor it is.
    Operator,
}

/// What a request costs the supervisor, which bounds how many of them a caller may have open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Answered at once, with little.
    Quick,
    /// The response may be large: a process gets one at a time, and only one is made at a time for all.
    Large,
    /// The response waits for something to happen, and is small.
    Waiting,
}

/// The response of a command that has nothing to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {}

/// `operation!(Type: "name", Kind, Right, Cost => Response, "what it does")`, with the methods to override behind it.
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

/// The same for a command that may be sent twice: what it asks for is a state, and the second time nothing is left to do.
macro_rules! repeatable {
    ($type:ty: $name:literal, $kind:ident, $right:ident, $cost:ident => $response:ty, $about:literal) => {
        operation!($type: $name, $kind, $right, $cost => $response, $about, fn may_repeat(&self) -> bool {
            true
        });
    };
}

pub(crate) use {operation, repeatable};
