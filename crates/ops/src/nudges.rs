//! Nudges: texts that wait to be typed into a terminal.

use crate::operation::{operation, repeatable};
use ostler_model::{Nudge, NudgeDraft, Receipt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The response has its receipt: queued, or refused because too many are waiting.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Queue(pub NudgeDraft);

operation!(Queue: "nudges.queue", Command, Operator, Large, At("/nudges") => Nudge, "queue a nudge",
    fn may_repeat(&self) -> bool {
        self.0.id.is_some()
    }
);

/// Urgent ones first, then the oldest; for this caller only until settled or the claim expires.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub to: String,
    pub most: u32,
}

repeatable!(Claim: "nudges.claim", Command, Operator, Large, Internal("a claim is for the program that types nudges, and expires") => Vec<Nudge>, "claim nudges to type them");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Settle {
    pub id: String,
    pub receipt: Receipt,
    pub why: String,
}

repeatable!(Settle: "nudges.settle", Command, Operator, Large, Internal("the program that typed a nudge records its result") => Nudge, "record the result of a nudge");

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct List {
    /// The unit's name; all units if absent.
    pub to: Option<String>,
}

operation!(List: "nudges.list", Query, ReadOnly, Large, List("/nudges", "id") => Vec<Nudge>, "list nudges, with their receipts");
