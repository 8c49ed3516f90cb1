//! The door, asked again if the supervisor dies under the question: every question of mail may be asked twice.

use crate::context::Context;
use crate::exit::Failure;
use ostler_client::{Client, ClientError, RESENDS_MOST};
use ostler_model::wire::{Answer, Call};
use ostler_model::{Mail, MailCall, MailDraft, MailKind, letter_id};

pub struct Asking<'a> {
    context: &'a Context,
    client: Client,
}

impl<'a> Asking<'a> {
    pub fn new(context: &'a Context) -> Result<Self, Failure> {
        Ok(Self { context, client: context.connect()? })
    }

    pub fn call(&mut self, call: Call) -> Result<Answer, Failure> {
        let mut tries = 0;
        loop {
            match self.client.call(call.clone()) {
                Err(ClientError::Lost(_)) if tries < RESENDS_MOST => {
                    tries += 1;
                    self.client = self.context.connect()?;
                }
                Err(ClientError::Lost(_)) => return Err(self.context.deadly().into()),
                outcome => return Ok(outcome?),
            }
        }
    }

    pub fn mail(&mut self, call: MailCall) -> Result<Vec<Mail>, Failure> {
        match self.call(Call::Mail(call))? {
            Answer::Mails(mails) => Ok(mails),
            _ => Err(ClientError::Unexpected.into()),
        }
    }

    /// With an id of its own, so that asking twice sends once.
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
        self.mail(MailCall::Send(draft))?.pop().ok_or_else(|| ClientError::Unexpected.into())
    }

    /// All of a mailbox, page by page.
    pub fn mailbox(&mut self, to: &str, unread_only: bool) -> Result<Vec<Mail>, Failure> {
        let mut mails: Vec<Mail> = Vec::new();
        loop {
            let after = mails.last().map(|mail| mail.id.clone());
            let page = self.mail(MailCall::Page { to: to.to_owned(), unread_only, after })?;
            if page.is_empty() {
                return Ok(mails);
            }
            mails.extend(page);
        }
    }

    /// How much of this name's mail is unread.
    pub fn unread(&mut self, name: &str) -> Result<usize, Failure> {
        match self.call(Call::Mail(MailCall::Counts))? {
            Answer::Waiting(waiting) => Ok(waiting
                .iter()
                .find(|waiting| waiting.name == name)
                .map_or(0, |waiting| waiting.mail as usize)),
            _ => Err(ClientError::Unexpected.into()),
        }
    }
}
