use super::client::MailClient;
use crate::args::MailReadArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{is_lost, outln};
use crate::render;
use ostler_ops::mail::{Settle, Show};

pub fn read(context: &Context, arguments: &MailReadArguments) -> Result<Exit, Failure> {
    let mut client = MailClient::new(context)?;
    let mail = client.call(&Show { id: arguments.id.clone() })?;
    if arguments.json {
        outln!("{}", serde_json::to_string(&mail)?);
    } else if ostler_os::is_terminal(std::io::stdout()) {
        outln!("{}", render::harmless(&render::mail_text(&mail)));
    } else {
        outln!("{}", render::mail_text(&mail));
    }
    if !is_lost() {
        client.call(&Settle { ids: vec![mail.id], is_read: true })?;
    }
    Ok(Exit::DONE)
}
