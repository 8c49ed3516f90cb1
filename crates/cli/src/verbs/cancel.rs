use super::stop::describe_survivor;
use crate::args::CancelArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render;
use ostler_client::{Client, ClientError};
use ostler_model::Extinct;
use ostler_ops::daemon::Ping;
use ostler_ops::runs::{Cancel, Cancelled, Show};

/// Requests all cancels before waiting for any, so that the grace periods run at the same time.
pub fn cancel(context: &Context, arguments: &CancelArguments) -> Result<Exit, Failure> {
    let mut first_failure = None;
    let mut description = Vec::new();
    for run in &arguments.runs {
        let mut client = context.connect()?;
        // A run that does not exist is reported immediately; the others are still cancelled.
        match client.call(&Show::of(run)) {
            Ok(_) => {
                // If the connection is lost here, reading the response reports it.
                let _ = client.ask(&asked(run, arguments));
                description.push((client, run));
            }
            Err(error) => {
                let failure = Failure::from(error);
                match &first_failure {
                    None => first_failure = Some(failure),
                    Some(_) => errln!("ostler: {}", failure.description()),
                }
            }
        }
    }
    for (mut client, run) in description {
        if arguments.no_wait {
            until_received(context, client, run, arguments)?;
            continue;
        }
        let answer: Cancelled = match client.next_response() {
            // The supervisor died before it answered; the request is sent to its successor.
            Err(ClientError::Lost(_)) => context.connect_again()?.call(&asked(run, arguments))?,
            answer => answer?,
        };
        if answer.result.extinct == Extinct::No {
            let failure = Failure::failed(anyhow::anyhow!(describe_survivor(&answer.result)));
            match &first_failure {
                None => first_failure = Some(failure),
                Some(_) => errln!("ostler: {}", failure.description()),
            }
        }
        if arguments.json {
            outln!("{}", serde_json::to_string(&answer.result)?);
        } else if answer.already_ended {
            outln!("{} (had already ended)", render::result_line(&answer.result));
        } else {
            outln!("{}", render::result_line(&answer.result));
        }
    }
    match first_failure {
        None => Ok(Exit::DONE),
        Some(failure) => Err(failure),
    }
}

fn asked(run: &str, arguments: &CancelArguments) -> Cancel {
    Cancel { run: run.to_owned(), reason: arguments.reason.clone(), now: arguments.now }
}

/// Requests are handled in order, so a response to the ping means that the supervisor received the cancel.
fn until_received(
    context: &Context,
    mut client: Client,
    run: &str,
    arguments: &CancelArguments,
) -> Result<(), Failure> {
    loop {
        let received =
            client.ask(&Ping::ours()).and_then(|_| client.next_response::<serde_json::Value>());
        match received {
            Err(ClientError::Lost(_)) => {
                client = context.connect_again()?;
                let _ = client.ask(&asked(run, arguments));
            }
            received => return Ok(received.map(drop)?),
        }
    }
}
