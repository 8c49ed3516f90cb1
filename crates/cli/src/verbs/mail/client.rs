//! The requests of the mail verbs.

use crate::context::Context;
use crate::exit::Failure;
use ostler_client::Client;
use ostler_model::{Mail, MailDraft, MailKind, letter_id};
use ostler_ops::Operation;
use ostler_ops::mail::{Counts, Inbox, Send};

pub struct MailClient(Client);

impl MailClient {
    pub fn new(context: &Context) -> Result<Self, Failure> {
        Ok(Self(context.connect()?))
    }

    pub fn call<O: Operation>(&mut self, operation: &O) -> Result<O::Response, Failure> {
        Ok(self.0.call(operation)?)
    }

    /// Sends a message. The client chooses its id, so a request that is sent twice stores one message.
    pub fn send(
        &mut self,
        from: String,
        to: String,
        subject: String,
        body: String,
        kind: MailKind,
    ) -> Result<Mail, Failure> {
        let id = Some(letter_id(ostler_os::wall_ms(), ostler_os::random()?));
        let draft = MailDraft { id, from, to, subject, body, kind };
        draft.check().map_err(Failure::usage)?;
        self.call(&Send(draft))
    }

    /// The whole mailbox, read page by page.
    pub fn mailbox(&mut self, to: &str, unread_only: bool) -> Result<Vec<Mail>, Failure> {
        let mut mails: Vec<Mail> = Vec::new();
        loop {
            let after = mails.last().map(|mail| mail.id.clone());
            let page = self.call(&Inbox { to: to.to_owned(), unread_only, after })?;
            if page.is_empty() {
                return Ok(mails);
            }
            mails.extend(page);
        }
    }

    /// The number of unread messages for this name.
    pub fn unread(&mut self, name: &str) -> Result<usize, Failure> {
        let waiting = self.call(&Counts {})?;
        let own = waiting.iter().find(|waiting| waiting.name == name);
        Ok(own.map_or(0, |waiting| waiting.mail as usize))
    }
}
