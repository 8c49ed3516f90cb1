//! The journal: what happened, and why.

use crate::operation::operation;
use ostler_model::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which entries. The response is a slice of them, oldest first; the caller goes on behind the last one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Entries {
    pub run: Option<String>,
    pub unit: Option<String>,
    pub after_seq: Option<i64>,
    pub newest: Option<u64>,
}

operation!(Entries: "journal.entries", Query, ReadOnly, Large => Vec<Entry>, "read entries of the journal");

/// One response after another, until the caller hangs up. An empty one says that this is all for now.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Follow {
    pub entries: Entries,
    /// Say also, every few seconds, which runs have written output.
    pub output: bool,
}

operation!(Follow: "journal.follow", Stream, ReadOnly, Large => Vec<Entry>, "read entries of the journal as they are written");
