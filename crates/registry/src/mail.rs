//! Mailboxes. A message is unread, claimed by a process that is about to deliver it, read, or removed.
//!
//! ```text
//! unread ──claim──▶ claimed ──settle──▶ read ──30 days──▶ deleted
//!    ▲                 │                  │
//!    └─ released, or the claim expired ───┘     any of them ──remove──▶ removed (its id is kept for a day)
//! ```

use crate::RegistryError;
use ostler_model::{InstanceId, Mail, Waiting};

/// The most that one response carries. The first message is always in it.
pub(crate) const PAGE_BYTES: usize = 4 << 20;
pub(crate) const PAGE_MESSAGES: u32 = 500;

/// The result of sending a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    Now,
    /// An earlier call sent it; this is its current state.
    Before(Mail),
    /// The mailbox is full.
    Full {
        unread: u64,
        bytes: u64,
    },
    /// Another message has this id.
    IdTaken,
}

pub trait WriteMail {
    /// Sends a message. The same message twice is stored once.
    fn send_mail(&mut self, instance: InstanceId, mail: &Mail) -> Result<Sent, RegistryError>;

    /// Claims unread, unclaimed mail: handoffs first, then the oldest.
    fn claim_mail(
        &mut self,
        instance: InstanceId,
        to: &str,
        most: u32,
        now_ms: u64,
    ) -> Result<Vec<Mail>, RegistryError>;

    /// Marks those of the messages that exist as read, or releases them, whatever process claimed them.
    fn settle_mail(
        &mut self,
        instance: InstanceId,
        ids: &[String],
        is_read: bool,
        now_ms: u64,
    ) -> Result<Vec<Mail>, RegistryError>;

    /// Removes messages, and returns those that existed. No other caller gets the same ones.
    fn remove_mail(
        &mut self,
        instance: InstanceId,
        ids: &[String],
        now_ms: u64,
    ) -> Result<Vec<Mail>, RegistryError>;

    /// Deletes mail that was read long ago, and expired ids of removed mail. Returns the mailboxes concerned.
    fn forget_mail(
        &mut self,
        instance: InstanceId,
        now_ms: u64,
        most: u64,
    ) -> Result<Vec<String>, RegistryError>;

    /// Counts the unread messages and queued nudges for these names.
    fn waiting_for(
        &self,
        instance: InstanceId,
        names: &[String],
        now_ms: u64,
    ) -> Result<(u32, u32), RegistryError>;
}

pub trait ReadMail {
    /// A mailbox, oldest first, after this message; as much as one response carries.
    fn mail_of(
        &self,
        instance: InstanceId,
        to: &str,
        unread_only: bool,
        after: Option<&str>,
    ) -> Result<Vec<Mail>, RegistryError>;

    /// The messages with this id or id suffix: at most two, enough to tell one from several.
    fn mail_like(&self, instance: InstanceId, end: &str) -> Result<Vec<Mail>, RegistryError>;

    /// Counts what is waiting, for every mailbox that is not empty.
    fn waiting(&self, instance: InstanceId, now_ms: u64) -> Result<Vec<Waiting>, RegistryError>;

    /// Every name with mail in its mailbox.
    fn mailboxes(&self, instance: InstanceId) -> Result<Vec<String>, RegistryError>;
}
