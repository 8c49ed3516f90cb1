use super::body::body;
use super::client::MailClient;
use super::identity::name_or_overseer;
use crate::args::MailSendArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_model::{Mail, MailKind};

pub fn send(context: &Context, arguments: MailSendArguments) -> Result<Exit, Failure> {
    let MailSendArguments { to, subject, message, sender, json } = arguments;
    Mail::check_name(&to).map_err(Failure::usage)?;
    let body = body(message)?;
    let mut client = MailClient::new(context)?;
    let from = name_or_overseer(&mut client, sender)?;
    let mail = client.send(from, to, subject, body, MailKind::Message)?;
    if json {
        outln!("{}", serde_json::to_string(&mail)?);
    } else {
        outln!("{}", mail.id);
    }
    Ok(Exit::DONE)
}
