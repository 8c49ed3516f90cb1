use super::body::body;
use super::client::MailClient;
use super::identity::own_name;
use crate::args::HandoffArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_model::MailKind;

/// Sends mail to the caller's own next conversation. The journal records it.
pub fn handoff(context: &Context, arguments: HandoffArguments) -> Result<Exit, Failure> {
    let HandoffArguments { subject, message, sender, json } = arguments;
    let body = body(message)?;
    let mut client = MailClient::new(context)?;
    let Some(name) = own_name(&mut client, sender)? else {
        return Err(Failure::usage("the sender is unknown; use --as NAME, or set OSTLER_AGENT"));
    };
    let mail = client.send(name.clone(), name, subject, body, MailKind::Handoff)?;
    if json {
        outln!("{}", serde_json::to_string(&mail)?);
    } else {
        outln!("{}", mail.id);
    }
    Ok(Exit::DONE)
}
