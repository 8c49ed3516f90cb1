//! Mail between agents and people.

use crate::operation::{operation, repeatable};
use ostler_model::{Mail, MailDraft, Waiting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// With an id chosen by the sender, a repeated request sends one message.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Send(pub MailDraft);

operation!(Send: "mail.send", Command, App, Large, At("/mail/messages") => Mail, "send a message",
    fn may_repeat(&self) -> bool {
        self.0.id.is_some()
    }
);

/// A page of messages, oldest first. An empty page is the end.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inbox {
    pub to: String,
    #[serde(default)]
    pub unread_only: bool,
    /// The last message of the previous page.
    #[serde(default)]
    pub after: Option<String>,
}

operation!(Inbox: "mail.inbox", Query, App, Large, Pages("/mail/boxes/{to}", "id", "after") => Vec<Mail>, "list the messages of a mailbox");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Show {
    /// An id, or the unambiguous end of one.
    pub id: String,
}

operation!(Show: "mail.show", Query, App, Large, At("/mail/messages/{id}") => Mail, "show a message");

/// Unread mail, for this caller only until it is settled or the claim expires. If a supervisor ends before its
/// response arrives, the mail becomes available again when the claim expires.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub to: String,
    pub most: u32,
}

repeatable!(Claim: "mail.claim", Command, App, Large, Internal("a claim is for the program that gives mail to an agent, and expires") => Vec<Mail>, "claim unread mail for its reader");

/// Marks claimed mail as read, or releases it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settle {
    pub ids: Vec<String>,
    pub is_read: bool,
}

repeatable!(Settle: "mail.settle", Command, App, Large, At("/mail/settle") => Vec<Mail>, "settle claimed mail: read, or released");

/// The response lists the messages that existed. No other caller can get them after that.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Remove {
    pub ids: Vec<String>,
}

repeatable!(Remove: "mail.remove", Command, App, Large, At("/mail/remove") => Vec<Mail>, "remove messages");

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {}

operation!(Counts: "mail.counts", Query, ReadOnly, Large, List("/mail/boxes", "name") => Vec<Waiting>, "count waiting mail and nudges, by mailbox");
