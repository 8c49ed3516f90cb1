//! Mail between agents and people.

mod body;
mod check;
mod client;
mod handoff;
mod identity;
mod inbox;
mod read;
mod remove;
mod send;

pub use handoff::handoff;
pub use identity::OVERSEER;

use crate::args::MailVerb;
use crate::context::Context;
use crate::exit::{Exit, Failure};

pub fn mail(context: &Context, verb: MailVerb) -> Result<Exit, Failure> {
    match verb {
        MailVerb::Send(arguments) => send::send(context, arguments),
        MailVerb::Inbox(arguments) => inbox::inbox(context, arguments),
        MailVerb::Read(arguments) => read::read(context, &arguments),
        MailVerb::Check(arguments) => check::check(context, arguments),
        MailVerb::Rm(arguments) => remove::remove(context, &arguments),
    }
}

/// The sender's name, for other verbs that send texts.
pub fn sender_name(context: &Context, given: Option<String>) -> Result<String, Failure> {
    // Does not start a supervisor: a new one has no running unit to send a text to.
    context.connect_running()?;
    identity::name_or_overseer(&mut client::MailClient::new(context)?, given)
}
