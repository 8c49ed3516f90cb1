//! The name of the caller.

use super::client::MailClient;
use crate::exit::Failure;
use ostler_model::{Mail, RunSpec};
use ostler_ops::runs::Show;

/// The operator's mailbox, used when the caller is neither an agent nor a unit.
pub const OVERSEER: &str = "overseer";

/// The variables that may hold an agent's name, in order of precedence.
const VARIABLES: [&str; 3] = ["OSTLER_AGENT", "GT_ROLE", "BD_ACTOR"];

/// The given name, or the name of the agent or unit that this process runs in; `None` for a person.
pub fn own_name(client: &mut MailClient, given: Option<String>) -> Result<Option<String>, Failure> {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let name = match given.or_else(|| VARIABLES.iter().find_map(set)) {
        Some(name) => Some(name),
        None => unit_around(client)?,
    };
    if let Some(name) = &name {
        Mail::check_name(name).map_err(Failure::usage)?;
    }
    Ok(name.map(|name| Mail::mailbox(&name).to_owned()))
}

/// Like [`own_name`], with the operator's name for a person.
pub fn name_or_overseer(client: &mut MailClient, given: Option<String>) -> Result<String, Failure> {
    Ok(own_name(client, given)?.unwrap_or_else(|| OVERSEER.to_owned()))
}

/// The unit whose run this process belongs to; `None` if this home does not know the run.
fn unit_around(client: &mut MailClient) -> Result<Option<String>, Failure> {
    let run = std::env::var(RunSpec::RUN_ID_VARIABLE).ok().filter(|run| !run.is_empty());
    let Some(run) = run else { return Ok(None) };
    match client.call(&Show { run }) {
        Ok(record) => Ok(record.unit),
        Err(failure) if failure.exit == crate::exit::Exit::NO_SUCH => Ok(None),
        Err(failure) => Err(failure),
    }
}
