use super::status::Status;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::say::say;
use ostler_client::Found;

/// Returns when the supervisor answers. If there is one already, says whose the home is.
pub fn start(context: &Context, json: bool) -> Result<Exit, Failure> {
    let found = context.start()?;
    let status = Status::look(context);
    if json {
        say!("{}", serde_json::to_string(&status)?);
        return Ok(Exit::DONE);
    }
    match found {
        Found::Started(_) => say!("started"),
        Found::Running(_) => say!("already running; nothing was changed"),
    }
    for line in status.told() {
        say!("{line}");
    }
    Ok(Exit::DONE)
}
