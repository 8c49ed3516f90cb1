//! The operation trait.

use crate::params::BadParam;
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
    const ROUTE: Route;

    /// The request in the query of a URL. Only queries and streams have one; a command is sent as a JSON body.
    fn from_pairs(pairs: &[(String, String)]) -> Result<Self, BadParam> {
        let field = pairs.first().map(|(name, _)| name.clone());
        Err(BadParam { field, message: "a command takes its parameters in its body".to_owned() })
    }

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

/// The place of an operation in the HTTP API: a path below [`Route::ROOT`]. A query and a stream are `GET` requests with
/// query parameters, a command is a `POST` request with a JSON body.
///
/// `{unit}` in a path is the field `unit` of the request, or the only entry of its field `units`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// This path.
    At(&'static str),
    /// A list in pages, in the order of this field of its items. The cursor is the value of the last item.
    List(&'static str, &'static str),
    /// A list that the operation itself gives in pages. The cursor is this field of the last item, and becomes this
    /// field of the next request.
    Pages(&'static str, &'static str, &'static str),
    /// The list at this path with `follow=true`, item by item as server-sent events. The id of an event is this field
    /// of its item, and becomes this field of the request that resumes.
    Follow(&'static str, &'static str, &'static str),
    /// No route, because …
    Internal(&'static str),
}

impl Route {
    pub const ROOT: &'static str = "/api/v1";

    /// The path below [`Route::ROOT`].
    pub const fn path(self) -> Option<&'static str> {
        match self {
            Route::At(path)
            | Route::List(path, _)
            | Route::Pages(path, _, _)
            | Route::Follow(path, _, _) => Some(path),
            Route::Internal(_) => None,
        }
    }

    /// The names of the parameters in its path.
    pub fn path_parameters(self) -> impl Iterator<Item = &'static str> {
        let parts = self.path().unwrap_or_default().split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// The response of a command without a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {}

/// `operation!(Type: "name", Kind, Right, Cost, Route("…") => Response, "what it does")`, followed by overridden
/// methods.
macro_rules! operation {
    ($type:ty: $name:literal, $kind:ident, $right:ident, $cost:ident, $route:ident($($place:literal),+) => $response:ty, $about:literal $(, $method:item)*) => {
        impl $crate::Operation for $type {
            type Response = $response;
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const KIND: $crate::Kind = $crate::Kind::$kind;
            const RIGHT: $crate::Right = $crate::Right::$right;
            const COST: $crate::Cost = $crate::Cost::$cost;
            const ROUTE: $crate::Route = $crate::Route::$route($($place),+);
            $crate::operation::reader!($kind);
            $($method)*
        }
    };
}

/// The same for a command that may be repeated: it requests a state, and the second time nothing is left to do.
macro_rules! repeatable {
    ($type:ty: $name:literal, $kind:ident, $right:ident, $cost:ident, $route:ident($($place:literal),+) => $response:ty, $about:literal) => {
        operation!($type: $name, $kind, $right, $cost, $route($($place),+) => $response, $about, fn may_repeat(&self) -> bool {
            true
        });
    };
}

/// A query is read from the query of a URL.
macro_rules! reader {
    (Query) => {
        fn from_pairs(pairs: &[(String, String)]) -> Result<Self, $crate::BadParam> {
            $crate::params::from_pairs(pairs)
        }
    };
    ($kind:ident) => {};
}

pub(crate) use {operation, reader, repeatable};
