//! A foreground run that waits for a free slot in its pool.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use ostler_client::{Client, ClientError};
use ostler_model::{RunId, RunRecord};
use ostler_ops::runs::{AwaitStart, Cancel};
use ostler_os::{Foreground, ForegroundEvents};

/// Waits until the run starts or ends, and returns its record. The first interrupt cancels the run, the second one ends
/// this process.
pub fn until_begun(
    context: &Context,
    client: &mut Client,
    run: RunId,
    events: &ForegroundEvents,
) -> Result<RunRecord, Failure> {
    let started = AwaitStart::of(run);
    let mut is_interrupted = false;
    client.ask(&started)?;
    loop {
        match events.wait_or(client.waiting())? {
            Some(Foreground::WindowChanged) => continue,
            Some(Foreground::Interrupted) if is_interrupted => {
                return Err(Failure { exit: Exit(130), cause: anyhow::anyhow!("interrupted") });
            }
            Some(Foreground::Interrupted) => {
                is_interrupted = true;
                context.connect_running()?.ask(&Cancel::of(run))?;
                continue;
            }
            None => {}
        }
        match client.next_response() {
            Ok(record) => return Ok(record),
            // The next supervisor knows whether the run still waits.
            Err(ClientError::Lost(_)) => {
                *client = context.connect_again()?;
                client.ask(&started)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}
