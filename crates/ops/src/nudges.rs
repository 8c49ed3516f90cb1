//! Nudges: texts that wait to be typed into a terminal.

use crate::operation::{operation, repeatable};
use ostler_model::{Nudge, NudgeDraft, Receipt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The response has its receipt: queued, or refused because too many wait.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Queue(pub NudgeDraft);

operation!(Queue: "nudges.queue", Command, Operator, Large => Nudge, "let a nudge wait",
    fn may_repeat(&self) -> bool {
        self.0.id.is_some()
    }
);

/// The urgent first, then the oldest; for this caller alone until settled or the claim runs out.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub to: String,
    pub most: u32,
}

repeatable!(Claim: "nudges.claim", Command, Operator, Large => Vec<Nudge>, "take nudges to type them");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Settle {
    pub id: String,
    pub receipt: Receipt,
    pub why: String,
}

repeatable!(Settle: "nudges.settle", Command, Operator, Large => Nudge, "say what became of a nudge");

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct List {
    /// Everybody's, where nobody is named.
    pub to: Option<String>,
}

operation!(List: "nudges.list", Query, ReadOnly, Large => Vec<Nudge>, "list nudges, with their receipts");
