//! Mail between agents and people.

use crate::operation::{operation, repeatable};
use ostler_model::{Mail, MailDraft, Waiting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// With an id of the sender's choice, the same request twice is one message.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Send(pub MailDraft);

operation!(Send: "mail.send", Command, App, Large => Mail, "send a message",
    fn may_repeat(&self) -> bool {
        self.0.id.is_some()
    }
);

/// Oldest first, a page at a time. An empty page is the end.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inbox {
    pub to: String,
    pub unread_only: bool,
    /// The last message of the page before.
    #[serde(default)]
    pub after: Option<String>,
}

operation!(Inbox: "mail.inbox", Query, App, Large => Vec<Mail>, "list the messages of a mailbox");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Show {
    /// An id, or the unambiguous end of one.
    pub id: String,
}

operation!(Show: "mail.show", Query, App, Large => Mail, "show a message");

/// Unread mail, for this caller alone until it is settled or the claim runs out. What a supervisor gave that ended before
/// it had answered comes back when its claim runs out.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub to: String,
    pub most: u32,
}

repeatable!(Claim: "mail.claim", Command, App, Large => Vec<Mail>, "take unread mail to give it to its reader");

/// What was claimed is read, or goes back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settle {
    pub ids: Vec<String>,
    pub is_read: bool,
}

repeatable!(Settle: "mail.settle", Command, App, Large => Vec<Mail>, "say whether claimed mail was read");

/// The response has those that were there: nobody else can have them then.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Remove {
    pub ids: Vec<String>,
}

repeatable!(Remove: "mail.remove", Command, App, Large => Vec<Mail>, "remove messages");

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {}

operation!(Counts: "mail.counts", Query, ReadOnly, Large => Vec<Waiting>, "count the mail and nudges that wait, by mailbox");
