use super::client::MailClient;
use super::identity::name_or_overseer;
use crate::args::MailInboxArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render::{self, Colours};

pub fn inbox(context: &Context, arguments: MailInboxArguments) -> Result<Exit, Failure> {
    let MailInboxArguments { name, all, json } = arguments;
    let mut client = MailClient::new(context)?;
    let name = name_or_overseer(&mut client, name)?;
    let mails = client.mailbox(&name, !all)?;
    if json {
        outln!("{}", serde_json::to_string(&mails)?);
        return Ok(Exit::DONE);
    }
    if mails.is_empty() {
        outln!("no {}mail for {name}", if all { "" } else { "unread " });
        return Ok(Exit::DONE);
    }
    let now_ms = ostler_os::wall_ms();
    let rows: Vec<_> = mails.iter().map(|mail| render::mail_row(mail, now_ms)).collect();
    let table = render::table(&render::MAIL_COLUMNS, &rows, render::width(), Colours::of_output());
    outln!("{table}");
    Ok(Exit::DONE)
}
