use super::asking::Asking;
use crate::args::MailReadArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::{is_lost, say};
use ostler_client::ClientError;
use ostler_model::MailCall;

pub fn read(context: &Context, arguments: &MailReadArguments) -> Result<Exit, Failure> {
    let mut asking = Asking::new(context)?;
    let found = asking.mail(MailCall::Show { id: arguments.id.clone() })?.pop();
    let mail = found.ok_or(ClientError::Unexpected)?;
    if arguments.json {
        say!("{}", serde_json::to_string(&mail)?);
    } else if ostler_os::is_terminal(std::io::stdout()) {
        say!("{}", render::harmless(&render::mail_text(&mail)));
    } else {
        say!("{}", render::mail_text(&mail));
    }
    if !is_lost() {
        asking.mail(MailCall::Settle { ids: vec![mail.id], is_read: true })?;
    }
    Ok(Exit::DONE)
}
