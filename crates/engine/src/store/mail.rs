//! Mail and nudges: only the dispatcher writes them, and it replies after they are on disk.

use crate::handle::{Handle, Request};
use crate::supervisor::Supervisor;
use ostler_model::{Mail, MailDraft, MailKind, Nudge, NudgeDraft, Receipt, What, letter_id};
use ostler_registry::{RegistryError, Sent};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use thiserror::Error;
use tokio::sync::{Notify, oneshot};

/// Why something was not stored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotKept {
    #[error("the supervisor is stopping; nothing was written")]
    ShuttingDown,
    #[error("nothing was written: {0}")]
    Registry(String),
    #[error(
        "the mailbox of {to} is full ({unread} unread messages, {bytes} bytes); read them with `ostler mail check {to} --inject`, or remove some with `ostler mail rm`"
    )]
    Full { to: String, unread: u64, bytes: u64 },
    #[error("another message has the id {0:?}; omit the id or choose another")]
    IdTaken(String),
    #[error("the orders were changed in the meantime; check them and try again")]
    Changed,
}

impl From<RegistryError> for NotKept {
    fn from(error: RegistryError) -> Self {
        NotKept::Registry(error.description())
    }
}

pub(crate) type Reply<T> = oneshot::Sender<Result<T, NotKept>>;

pub(crate) enum MailRequest {
    Send { draft: MailDraft, reply: Reply<Mail> },
    Claim { to: String, most: u32, reply: Reply<Vec<Mail>> },
    Settle { ids: Vec<String>, is_read: bool, reply: Reply<Vec<Mail>> },
    Remove { ids: Vec<String>, reply: Reply<Vec<Mail>> },
    Queue { draft: NudgeDraft, reply: Reply<Nudge> },
    ClaimNudges { to: String, most: u32, reply: Reply<Vec<Nudge>> },
    SettleNudge { id: String, receipt: Receipt, why: String, reply: Reply<Option<Nudge>> },
}

/// The mailboxes that changed, for code that shows mailboxes elsewhere.
#[derive(Debug, Default)]
pub struct MailNews {
    names: Mutex<BTreeSet<String>>,
    come: Notify,
}

impl MailNews {
    fn add<'a>(&self, names: impl Iterator<Item = &'a String>) {
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(names.cloned());
        if !known.is_empty() {
            self.come.notify_one();
        }
    }

    /// Waits until a mailbox has changed.
    pub async fn next(&self) -> BTreeSet<String> {
        loop {
            let names = self.now();
            if !names.is_empty() {
                return names;
            }
            self.come.notified().await;
        }
    }

    pub fn now(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.names.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Supervisor {
    pub(crate) fn take_mail(&mut self, request: MailRequest) {
        let now_ms = ostler_os::wall_ms();
        match request {
            MailRequest::Send { draft, reply } => {
                let _ = reply.send(self.send_mail(draft, now_ms));
            }
            MailRequest::Claim { to, most, reply } => self.claim_mail(&to, most, now_ms, reply),
            MailRequest::Settle { ids, is_read, reply } => {
                let settled =
                    self.store.registry.settle_mail(self.identity.instance, &ids, is_read, now_ms);
                let _ = reply.send(self.describe(settled));
            }
            MailRequest::Remove { ids, reply } => {
                let removed = self.store.registry.remove_mail(self.identity.instance, &ids, now_ms);
                let _ = reply.send(self.describe(removed));
            }
            MailRequest::Queue { draft, reply } => {
                let _ = reply.send(self.queue_nudge(draft, now_ms));
            }
            MailRequest::ClaimNudges { to, most, reply } => {
                self.claim_nudges(&to, most, now_ms, reply);
            }
            MailRequest::SettleNudge { id, receipt, why, reply } => {
                let registry = &mut self.store.registry;
                let settled =
                    registry.settle_nudge(self.identity.instance, &id, receipt, &why, now_ms);
                let _ = reply.send(settled.map_err(NotKept::from));
            }
        }
    }

    fn send_mail(&mut self, draft: MailDraft, now_ms: u64) -> Result<Mail, NotKept> {
        let MailDraft { id, from, to, subject, body, kind } = draft;
        let id = id.map_or_else(|| new_id(now_ms), Ok)?;
        let mail = Mail { id, from, to, subject, body, kind, sent_at_ms: now_ms, read_at_ms: None };
        match self.store.registry.send_mail(self.identity.instance, &mail)? {
            Sent::Now => {
                self.endpoints.handle.mail_news().add(std::iter::once(&mail.to));
                self.wake_for(&mail.to, &format!("mail from {}", mail.from));
                if mail.kind == MailKind::Handoff {
                    let evidence = json!({ "unit": mail.to, "mail": mail.id });
                    self.entry(What::HandedOff, &mail.subject, evidence);
                }
                Ok(mail)
            }
            Sent::Before(mail) => Ok(mail),
            Sent::Full { unread, bytes } => Err(NotKept::Full { to: mail.to, unread, bytes }),
            Sent::IdTaken => Err(NotKept::IdTaken(mail.id)),
        }
    }

    /// A claim whose caller has gone is released.
    fn claim_mail(&mut self, to: &str, most: u32, now_ms: u64, reply: Reply<Vec<Mail>>) {
        if reply.is_closed() {
            return;
        }
        let claimed = self.store.registry.claim_mail(self.identity.instance, to, most, now_ms);
        if let Err(Ok(unreceived)) = reply.send(claimed.map_err(NotKept::from)) {
            let ids: Vec<String> = unreceived.into_iter().map(|mail| mail.id).collect();
            let _ = self.store.registry.settle_mail(self.identity.instance, &ids, false, now_ms);
        }
    }

    fn claim_nudges(&mut self, to: &str, most: u32, now_ms: u64, reply: Reply<Vec<Nudge>>) {
        if reply.is_closed() {
            return;
        }
        let claimed = self.store.registry.claim_nudges(self.identity.instance, to, most, now_ms);
        if let Err(Ok(unreceived)) = reply.send(claimed.map_err(NotKept::from)) {
            for Nudge { id, why, .. } in unreceived {
                let registry = &mut self.store.registry;
                let _ = registry.settle_nudge(
                    self.identity.instance,
                    &id,
                    Receipt::Queued,
                    &why,
                    now_ms,
                );
            }
        }
    }

    fn queue_nudge(&mut self, draft: NudgeDraft, now_ms: u64) -> Result<Nudge, NotKept> {
        let life_ms = draft.life_ms();
        let NudgeDraft { id, from, to, text, priority, life_ms: _ } = draft;
        let nudge = Nudge {
            id: id.map_or_else(|| new_id(now_ms), Ok)?,
            from,
            to,
            text,
            priority,
            sent_at_ms: now_ms,
            expires_at_ms: now_ms.saturating_add(life_ms),
            receipt: Receipt::Queued,
            receipt_at_ms: now_ms,
            why: "waiting until text can be typed into the session".to_owned(),
        };
        let queued = self.store.registry.queue_nudge(self.identity.instance, nudge)?;
        if queued.receipt == Receipt::Queued {
            self.wake_for(&queued.to, &format!("a nudge from {}", queued.from));
        }
        Ok(queued)
    }

    fn describe(&self, changed: Result<Vec<Mail>, RegistryError>) -> Result<Vec<Mail>, NotKept> {
        let changed = changed?;
        self.endpoints.handle.mail_news().add(changed.iter().map(|mail| &mail.to));
        Ok(changed)
    }

    /// A failed removal is retried later.
    pub(crate) fn forget_old_mail(&mut self) {
        const MOST: u64 = 1_000;
        let now_ms = ostler_os::wall_ms();
        if let Ok(boxes) = self.store.registry.forget_mail(self.identity.instance, now_ms, MOST) {
            self.endpoints.handle.mail_news().add(boxes.iter());
        }
        let _ = self.store.registry.forget_nudges(self.identity.instance, now_ms, MOST);
    }
}

fn new_id(now_ms: u64) -> Result<String, NotKept> {
    let random = ostler_os::random().map_err(|error| NotKept::Registry(error.to_string()))?;
    Ok(letter_id(now_ms, random))
}

impl Handle {
    async fn ask_mail<T>(&self, make: impl FnOnce(Reply<T>) -> MailRequest) -> Result<T, NotKept> {
        self.ask(|reply| Request::Mail(make(reply))).await.unwrap_or(Err(NotKept::ShuttingDown))
    }

    pub async fn send_mail(&self, draft: MailDraft) -> Result<Mail, NotKept> {
        self.ask_mail(|reply| MailRequest::Send { draft, reply }).await
    }

    /// The messages belong to this caller until they are settled or the claim expires.
    pub async fn claim_mail(&self, to: String, most: u32) -> Result<Vec<Mail>, NotKept> {
        self.ask_mail(|reply| MailRequest::Claim { to, most, reply }).await
    }

    pub async fn settle_mail(&self, ids: Vec<String>, is_read: bool) -> Result<Vec<Mail>, NotKept> {
        self.ask_mail(|reply| MailRequest::Settle { ids, is_read, reply }).await
    }

    /// Returns the messages that existed.
    pub async fn remove_mail(&self, ids: Vec<String>) -> Result<Vec<Mail>, NotKept> {
        self.ask_mail(|reply| MailRequest::Remove { ids, reply }).await
    }

    pub async fn queue_nudge(&self, draft: NudgeDraft) -> Result<Nudge, NotKept> {
        self.ask_mail(|reply| MailRequest::Queue { draft, reply }).await
    }

    pub async fn claim_nudges(&self, to: String, most: u32) -> Result<Vec<Nudge>, NotKept> {
        self.ask_mail(|reply| MailRequest::ClaimNudges { to, most, reply }).await
    }

    pub async fn settle_nudge(
        &self,
        id: String,
        receipt: Receipt,
        why: String,
    ) -> Result<Option<Nudge>, NotKept> {
        self.ask_mail(|reply| MailRequest::SettleNudge { id, receipt, why, reply }).await
    }
}
