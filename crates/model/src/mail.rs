//! Mail between agents, and texts that wait to be typed into a session.

use serde::{Deserialize, Serialize};

/// One message. It is unread until its reader says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mail {
    /// A time and a random part, so that ids sort as they were sent.
    pub id: String,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub body: String,
    pub kind: MailKind,
    pub sent_at_ms: u64,
    pub read_at_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailKind {
    #[default]
    Message,
    /// From a session to the one that follows it.
    Handoff,
    /// To a person, about a condition that began or ended.
    Escalation,
}

/// A text that is to be typed into a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nudge {
    pub id: String,
    pub from: String,
    /// The unit.
    pub to: String,
    pub text: String,
    pub priority: Priority,
    pub sent_at_ms: u64,
    pub expires_at_ms: u64,
    pub receipt: Receipt,
    /// Since when, and why so.
    pub receipt_at_ms: u64,
    pub why: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    #[default]
    Normal,
    Urgent,
}

/// What became of a nudge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Receipt {
    /// It was seen on the screen, and sent.
    Delivered,
    Queued,
    /// It waited for too long.
    Expired,
    Refused,
}

impl Nudge {
    /// How many may wait for one session.
    pub const DEPTH: usize = 50;
    pub const NORMAL_LIFE_MS: u64 = 30 * 60_000;
    pub const URGENT_LIFE_MS: u64 = 2 * 60 * 60_000;
}

/// What the door can be asked about mail.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailCall {
    Send(MailDraft),
    /// Oldest first.
    Inbox {
        to: String,
        unread_only: bool,
    },
    /// One of these ids, or the unambiguous end of one.
    Show {
        id: String,
    },
    /// Unread mail, for this caller alone until it is settled or the claim runs out.
    Claim {
        to: String,
        most: u32,
    },
    /// What was claimed is read, or goes back.
    Settle {
        ids: Vec<String>,
        is_read: bool,
    },
    /// Answers with those that were there: nobody else can have them then.
    Remove {
        ids: Vec<String>,
    },
    /// How much waits, for everybody for whom something does.
    Counts,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MailDraft {
    /// Chosen by the sender, so that the same call twice is one message.
    pub id: Option<String>,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub body: String,
    #[serde(default)]
    pub kind: MailKind,
}

/// What waits for somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    pub name: String,
    pub mail: u32,
    pub nudges: u32,
}

/// What the door can be asked about nudges that wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NudgeCall {
    /// Answered with its receipt: queued, or refused because too many wait.
    Queue(NudgeDraft),
    /// The urgent first, then the oldest; for this caller alone until settled or the claim runs out.
    Claim {
        to: String,
        most: u32,
    },
    Settle {
        id: String,
        receipt: Receipt,
        why: String,
    },
    /// Everybody's, where nobody is named.
    List {
        to: Option<String>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NudgeDraft {
    pub from: String,
    pub to: String,
    pub text: String,
    pub priority: Priority,
    /// Its own, or that of its priority.
    pub life_ms: Option<u64>,
}
