use super::status::Status;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_client::{ClientError, Found};
use ostler_ops::daemon::Wake;

const TRIES: u32 = 3;

/// Starts the daemon, and returns when the supervisor answers. If one is already running, prints its status.
pub fn start(context: &Context, json: bool) -> Result<Exit, Failure> {
    let mut found = context.start()?;
    // Starts the units that were stopped with the daemon; nothing else changes. Another client may stop the daemon at
    // the same time: then it is started again, at most `TRIES` times.
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
