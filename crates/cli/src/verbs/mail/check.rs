use super::client::MailClient;
use super::identity::name_or_overseer;
use crate::args::MailCheckArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render;
use ostler_model::Mail;
use ostler_ops::mail::{Claim, Settle};
use serde_json::json;
use std::io::Write;

/// The most messages injected at once, because an agent's context is limited. The rest stays for the next call.
const INJECTED_MOST: u32 = 50;

pub fn check(context: &Context, arguments: MailCheckArguments) -> Result<Exit, Failure> {
    let MailCheckArguments { name, inject, json } = arguments;
    let mut client = MailClient::new(context)?;
    let name = name_or_overseer(&mut client, name)?;
    if inject {
        return give(&mut client, name, json);
    }
    let unread = client.unread(&name)?;
    if json {
        outln!("{}", json!({ "name": name, "unread": unread }));
    } else if unread > 0 {
        outln!("{} for {name}", render::count(unread, "unread message"));
    }
    Ok(if unread > 0 { Exit::DONE } else { Exit::FAILED })
}

/// Claims the messages, so that each goes to one caller only. They count as read once they are written to standard
/// output; if that fails, they are returned unread.
fn give(client: &mut MailClient, name: String, json: bool) -> Result<Exit, Failure> {
    let mails = client.call(&Claim { to: name.clone(), most: INJECTED_MOST })?;
    if mails.is_empty() {
        if json {
            outln!("[]");
        }
        return Ok(Exit::FAILED);
    }
    let ids: Vec<String> = mails.iter().map(|mail| mail.id.clone()).collect();
    let given = text(client, &name, &mails, json).and_then(|text| {
        let mut out = std::io::stdout().lock();
        Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
    });
    let settled = client.call(&Settle { ids, is_read: given.is_ok() });
    given?;
    settled?;
    Ok(Exit::DONE)
}

fn text(
    client: &mut MailClient,
    name: &str,
    mails: &[Mail],
    json: bool,
) -> Result<String, Failure> {
    if json {
        return Ok(format!("{}\n", serde_json::to_string(mails)?));
    }
    let more = client.unread(name)?.saturating_sub(mails.len());
    Ok(render::mail_block(name, mails, more, ostler_os::wall_ms()))
}
