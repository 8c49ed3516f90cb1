use super::client::MailClient;
use crate::args::MailRemoveArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_ops::mail::{Remove, Show};

/// Looks up all ids first, so that an unknown id removes nothing.
pub fn remove(context: &Context, arguments: &MailRemoveArguments) -> Result<Exit, Failure> {
    let mut client = MailClient::new(context)?;
    let mut mails = Vec::new();
    for id in &arguments.ids {
        mails.push(client.call(&Show { id: id.clone() })?);
    }
    let ids = mails.iter().map(|mail| mail.id.clone()).collect();
    let removed = client.call(&Remove { ids })?;
    if arguments.json {
        outln!("{}", serde_json::to_string(&removed)?);
    }
    Ok(Exit::DONE)
}
