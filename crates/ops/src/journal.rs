//! The journal: what happened, and why.

use crate::operation::operation;
use crate::params::{self, BadParam};
use ostler_model::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which entries. The response is a page of them, oldest first; the client continues after the last one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Entries {
    pub run: Option<String>,
    pub unit: Option<String>,
    /// Only later entries than this one.
    pub after_seq: Option<i64>,
    /// Only the newest ones of this number; ignored if `afterSeq` is given.
    pub newest: Option<u64>,
}

operation!(Entries: "journal.entries", Query, ReadOnly, Large, Pages("/events", "seq", "afterSeq") => Vec<Entry>, "read entries of the journal");

/// A series of responses, until the client closes the connection. An empty response means that there are no more
/// entries for now.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Follow {
    pub entries: Entries,
    /// Also report, every few seconds, which runs have written output.
    pub output: bool,
}

operation!(Follow: "journal.follow", Stream, ReadOnly, Large, Follow("/events", "seq", "afterSeq") => Vec<Entry>, "read entries of the journal as they are written",
    // Both in one: the fields of `entries` beside `output`.
    fn from_pairs(pairs: &[(String, String)]) -> Result<Self, BadParam> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Output {
            output: bool,
        }
        let (output, entries): (Vec<_>, Vec<_>) =
            pairs.iter().cloned().partition(|(name, _)| name == "output");
        let Output { output } = params::from_pairs(&output)?;
        Ok(Self { entries: params::from_pairs(&entries)?, output })
    }
);
