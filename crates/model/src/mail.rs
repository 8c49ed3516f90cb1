//! Mail between agents, and texts that wait to be typed into a session.

use crate::record::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One message. It is unread until its reader reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mail {
    /// A time and a random part, so that ids sort by the time of sending.
    pub id: String,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub body: String,
    pub kind: MailKind,
    pub sent_at_ms: u64,
    pub read_at_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MailKind {
    #[default]
    Message,
    /// From a session to its successor.
    Handoff,
    /// To a person, about a condition that began or ended.
    Escalation,
}

words!(MailKind { Message => "message", Handoff => "handoff", Escalation => "escalation" });

impl Mail {
    pub const SUBJECT_MOST: usize = 1 << 10;
    pub const BODY_MOST: usize = 1 << 20;
    /// The longest name of a unit, an agent or a person.
    pub const NAME_MOST: usize = 200;
    /// How much unread mail one mailbox holds: messages, and their bytes.
    pub const UNREAD_MOST: u64 = 10_000;
    pub const UNREAD_BYTES_MOST: u64 = 256 << 20;
    /// How long mail is kept after it was read.
    pub const READ_KEPT_MS: u64 = 30 * 24 * 60 * 60_000;
    /// How long the id of a removed message is known, so that a repeated send is recognized.
    pub const REMOVED_KNOWN_MS: u64 = 24 * 60 * 60_000;
    /// A claim that is not settled is void after this time.
    pub const CLAIM_MS: u64 = 5 * 60_000;

    /// The mailbox that a name means: `deacon/` is the deacon's.
    pub fn mailbox(name: &str) -> &str {
        name.trim_end_matches('/')
    }

    /// Checks a name that mail is sent to or from.
    pub fn check_name(name: &str) -> Result<(), String> {
        if Self::mailbox(name).trim().is_empty() {
            return Err("the name is empty; name a unit, an agent or a person".to_owned());
        }
        if name.len() > Self::NAME_MOST {
            let most = Self::NAME_MOST;
            return Err(format!("a name of {} bytes is too long; the limit is {most}", name.len()));
        }
        if name.chars().any(char::is_control) {
            return Err(format!("{name:?} is not a valid name: it contains control characters"));
        }
        if name.trim() != name {
            return Err(format!("{name:?} is not a valid name: it begins or ends with a space"));
        }
        Ok(())
    }
}

impl MailDraft {
    /// Checks the message against the limits.
    pub fn check(&self) -> Result<(), String> {
        Mail::check_name(&self.to)?;
        Mail::check_name(&self.from)?;
        if let Some(id) = &self.id {
            check_id(id)?;
        }
        if self.subject.len() > Mail::SUBJECT_MOST {
            return Err(format!(
                "a subject of {} bytes is too long; the limit is {}: put the rest into the body",
                self.subject.len(),
                Mail::SUBJECT_MOST
            ));
        }
        if self.subject.chars().any(char::is_control) {
            return Err("a subject must be one line without control characters".to_owned());
        }
        if self.body.len() > Mail::BODY_MOST {
            return Err(format!(
                "a body of {} bytes is too long; the limit is {} (1 MiB): put it into a file and send its path",
                self.body.len(),
                Mail::BODY_MOST
            ));
        }
        Ok(())
    }
}

fn check_id(id: &str) -> Result<(), String> {
    const MOST: usize = 64;
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if id.is_empty() || id.len() > MOST || !id.bytes().all(is_letter) {
        return Err(format!(
            "{id:?} is not a valid id: use up to {MOST} characters of a-z, 0-9 and -"
        ));
    }
    Ok(())
}

/// A text that is to be typed into a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nudge {
    pub id: String,
    pub from: String,
    /// The unit's name.
    pub to: String,
    pub text: String,
    pub priority: Priority,
    pub sent_at_ms: u64,
    pub expires_at_ms: u64,
    pub receipt: Receipt,
    /// Since when the receipt has this value, and why.
    pub receipt_at_ms: u64,
    pub why: String,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    #[default]
    Normal,
    Urgent,
}

/// The result of a nudge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Receipt {
    /// The text left the input box as one message.
    Delivered,
    Queued,
    /// It waited too long.
    Expired,
    /// Nothing was sent, and no text is left in the terminal.
    Refused,
    /// The text was typed but not sent, and may still be in the input box; or it is unknown whether it was sent.
    NotSent,
}

words!(Priority { Normal => "normal", Urgent => "urgent" });
words!(Receipt { Delivered => "delivered", Queued => "queued", Expired => "expired", Refused => "refused", NotSent => "typed, not sent" });

impl Nudge {
    /// How many nudges may wait for one session.
    pub const DEPTH: usize = 50;
    pub const NORMAL_LIFE_MS: u64 = 30 * 60_000;
    pub const URGENT_LIFE_MS: u64 = 2 * 60 * 60_000;
    pub const LIFE_MOST_MS: u64 = 7 * 24 * 60 * 60_000;
    pub const TEXT_MOST: usize = 1 << 20;
    /// How long a settled nudge is kept.
    pub const SETTLED_KEPT_MS: u64 = 7 * 24 * 60 * 60_000;
}

impl NudgeDraft {
    /// Checks the nudge against the limits.
    pub fn check(&self) -> Result<(), String> {
        Mail::check_name(&self.to)?;
        Mail::check_name(&self.from)?;
        if let Some(id) = &self.id {
            check_id(id)?;
        }
        if self.text.is_empty() {
            return Err("a nudge needs a text".to_owned());
        }
        if self.text.len() > Nudge::TEXT_MOST {
            return Err(format!(
                "a nudge of {} bytes is too long; the limit is {}: send it as mail",
                self.text.len(),
                Nudge::TEXT_MOST
            ));
        }
        if self.life_ms.is_some_and(|life| life == 0 || life > Nudge::LIFE_MOST_MS) {
            return Err("a nudge must wait longer than 0 and at most 7 days".to_owned());
        }
        Ok(())
    }

    pub fn life_ms(&self) -> u64 {
        self.life_ms.unwrap_or(match self.priority {
            Priority::Normal => Nudge::NORMAL_LIFE_MS,
            Priority::Urgent => Nudge::URGENT_LIFE_MS,
        })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MailDraft {
    /// Chosen by the sender, so that a repeated call sends one message.
    pub id: Option<String>,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub body: String,
    #[serde(default)]
    pub kind: MailKind,
}

/// What waits in one mailbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    pub name: String,
    pub mail: u32,
    pub nudges: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NudgeDraft {
    /// Chosen by the sender, so that a repeated call queues one nudge.
    #[serde(default)]
    pub id: Option<String>,
    pub from: String,
    pub to: String,
    pub text: String,
    pub priority: Priority,
    /// Its own time to live; otherwise that of its priority.
    pub life_ms: Option<u64>,
}
