use super::asking::Asking;
use super::identity::name_or_overseer;
use crate::args::MailCheckArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use ostler_model::{Mail, MailCall};
use serde_json::json;
use std::io::Write;

/// An agent's context has an end: more than this is left for the next time.
const INJECTED_MOST: u32 = 50;

pub fn check(context: &Context, arguments: MailCheckArguments) -> Result<Exit, Failure> {
    let MailCheckArguments { name, inject, json } = arguments;
    let mut asking = Asking::new(context)?;
    let name = name_or_overseer(&mut asking, name)?;
    if inject {
        return give(&mut asking, name, json);
    }
    let unread = asking.unread(&name)?;
    if json {
        say!("{}", json!({ "name": name, "unread": unread }));
    } else if unread > 0 {
        say!("{} for {name}", render::count(unread, "unread message"));
    }
    Ok(if unread > 0 { Exit::DONE } else { Exit::FAILED })
}

/// Each message goes to one caller. It is read once it was written out, and goes back if it could not be.
fn give(asking: &mut Asking<'_>, name: String, json: bool) -> Result<Exit, Failure> {
    let mails = asking.mail(MailCall::Claim { to: name.clone(), most: INJECTED_MOST })?;
    if mails.is_empty() {
        if json {
            say!("[]");
        }
        return Ok(Exit::FAILED);
    }
    let ids: Vec<String> = mails.iter().map(|mail| mail.id.clone()).collect();
    let given = text(asking, &name, &mails, json).and_then(|text| {
        let mut out = std::io::stdout().lock();
        Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
    });
    let settled = asking.mail(MailCall::Settle { ids, is_read: given.is_ok() });
    given?;
    settled?;
    Ok(Exit::DONE)
}

fn text(
    asking: &mut Asking<'_>,
    name: &str,
    mails: &[Mail],
    json: bool,
) -> Result<String, Failure> {
    if json {
        return Ok(format!("{}\n", serde_json::to_string(mails)?));
    }
    let more = asking.unread(name)?.saturating_sub(mails.len());
    Ok(render::mail_block(name, mails, more, ostler_os::wall_ms()))
}
