//! Mail between agents and people.

use super::dispatch::Handle;
use crate::find::{error, registry_error};
use crate::server::Shared;
use ostler_engine::NotKept;
use ostler_model::{Actor, Mail, Waiting};
use ostler_ops::mail::{Claim, Counts, Inbox, Remove, Send, Settle, Show};
use ostler_ops::wire::{ErrorCode, WireError};

impl Handle for Send {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Mail, WireError> {
        let mut draft = self.0;
        draft.check().map_err(invalid)?;
        draft.to = mailbox(&draft.to);
        draft.from = mailbox(&draft.from);
        shared.engine.send_mail(draft).await.map_err(not_kept)
    }
}

impl Handle for Inbox {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Mail>, WireError> {
        let Self { to, unread_only, after } = self;
        let (instance, to) = (shared.engine.instance(), Mail::mailbox(&to));
        shared
            .read(|reader| reader.mail_of(instance, to, unread_only, after.as_deref()))
            .map_err(registry_error)
    }
}

impl Handle for Show {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Mail, WireError> {
        let id = &self.id;
        let mut found = shared
            .read(|reader| reader.mail_like(shared.engine.instance(), id))
            .map_err(registry_error)?;
        match (found.pop(), found.is_empty()) {
            (Some(mail), true) => Ok(mail),
            (Some(_), false) => Err(error(
                ErrorCode::Ambiguous,
                format!(
                    "several messages have ids that end with {id:?}; give more characters of the id"
                ),
            )),
            (None, _) => Err(error(
                ErrorCode::NotFound,
                format!("there is no mail {id:?}; `ostler mail inbox NAME --all` lists all mail"),
            )),
        }
    }
}

impl Handle for Claim {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Mail>, WireError> {
        shared.engine.claim_mail(mailbox(&self.to), self.most).await.map_err(not_kept)
    }
}

impl Handle for Settle {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Mail>, WireError> {
        shared.engine.settle_mail(self.ids, self.is_read).await.map_err(not_kept)
    }
}

impl Handle for Remove {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Mail>, WireError> {
        shared.engine.remove_mail(self.ids).await.map_err(not_kept)
    }
}

impl Handle for Counts {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Waiting>, WireError> {
        shared
            .read(|reader| reader.waiting(shared.engine.instance(), ostler_os::wall_ms()))
            .map_err(registry_error)
    }
}

fn mailbox(name: &str) -> String {
    Mail::mailbox(name).to_owned()
}

pub(super) fn invalid(message: String) -> WireError {
    error(ErrorCode::InvalidRequest, message)
}

pub(super) fn not_kept(why: NotKept) -> WireError {
    let code = match &why {
        NotKept::ShuttingDown => ErrorCode::ShuttingDown,
        NotKept::Registry(_) => ErrorCode::RegistryFailed,
        NotKept::Full { .. } | NotKept::IdTaken(_) | NotKept::Changed => ErrorCode::Conflict,
    };
    error(code, why.to_string())
}
