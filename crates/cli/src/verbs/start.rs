use super::status::Status;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_client::{ClientError, Found};
use ostler_ops::daemon::Wake;

const TRIES: u32 = 3;

/// Returns when the supervisor answers. If there is one already, says whose the home is.
pub fn start(context: &Context, json: bool) -> Result<Exit, Failure> {
    let mut found = context.start()?;
    // Units that were stopped with the daemon begin again; nothing else changes. Somebody may be stopping it at
    // this very moment: then it is started again, but not for ever.
    for _ in 0..TRIES {
        match &mut found {
            Found::Started(client) | Found::Running(client) => match client.call(&Wake {}) {
                Err(ClientError::Lost(_)) => found = context.start()?,
                outcome => {
                    outcome?;
                    break;
                }
            },
        }
    }
    let status = Status::look(context)?;
    if json {
        outln!("{}", serde_json::to_string(&status)?);
        return Ok(Exit::DONE);
    }
    match found {
        Found::Started(_) => outln!("started"),
        Found::Running(_) => outln!("already running"),
    }
    for line in status.description() {
        outln!("{line}");
    }
    Ok(Exit::DONE)
}
