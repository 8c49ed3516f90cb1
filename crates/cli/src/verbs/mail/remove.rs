use super::asking::Asking;
use crate::args::MailRemoveArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::say::say;
use ostler_model::MailCall;

/// Every id must be one: nothing is done by halves.
pub fn remove(context: &Context, arguments: &MailRemoveArguments) -> Result<Exit, Failure> {
    let mut asking = Asking::new(context)?;
    let mut mails = Vec::new();
    for id in &arguments.ids {
        mails.extend(asking.mail(MailCall::Show { id: id.clone() })?);
    }
    let ids = mails.iter().map(|mail| mail.id.clone()).collect();
    let removed = asking.mail(MailCall::Remove { ids })?;
    if arguments.json {
        say!("{}", serde_json::to_string(&removed)?);
    }
    Ok(Exit::DONE)
}
