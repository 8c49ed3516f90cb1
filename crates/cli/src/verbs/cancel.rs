use crate::args::CancelArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{say, tell};
use crate::render;
use ostler_client::{Client, ClientError};
use ostler_ops::daemon::Ping;
use ostler_ops::runs::{Cancel, Cancelled, Show};

/// All are told first, then waited for: the graces run at the same time.
pub fn cancel(context: &Context, arguments: &CancelArguments) -> Result<Exit, Failure> {
    let mut first_failure = None;
    let mut told = Vec::new();
    for run in &arguments.runs {
        let mut client = context.connect()?;
        // A run that does not exist is said at once, and the others are still cancelled.
        match client.call(&Show::of(run)) {
            Ok(_) => {
                // If it is lost here, its answer says so.
                let _ = client.ask(&asked(run, arguments));
                told.push((client, run));
            }
            Err(error) => {
                let failure = Failure::from(error);
                match &first_failure {
                    None => first_failure = Some(failure),
                    Some(_) => tell!("ostler: {}", failure.told()),
                }
            }
        }
    }
    for (mut client, run) in told {
        if arguments.no_wait {
            until_heard(context, client, run, arguments)?;
            continue;
        }
        let answer: Cancelled = match client.next_response() {
            // It went away with our question; its successor is asked.
            Err(ClientError::Lost(_)) => context.connect_again()?.call(&asked(run, arguments))?,
            answer => answer?,
        };
        if arguments.json {
            say!("{}", serde_json::to_string(&answer.result)?);
        } else if answer.already_ended {
            say!("{} (it had ended before)", render::result_line(&answer.result));
        } else {
            say!("{}", render::result_line(&answer.result));
        }
    }
    match first_failure {
        None => Ok(Exit::DONE),
        Some(failure) => Err(failure),
    }
}

fn asked(run: &str, arguments: &CancelArguments) -> Cancel {
    Cancel { run: run.to_owned(), reason: arguments.reason.clone() }
}

/// The order of questions is kept: an answer to the second one means that the cancel was heard.
fn until_heard(
    context: &Context,
    mut client: Client,
    run: &str,
    arguments: &CancelArguments,
) -> Result<(), Failure> {
    loop {
        let heard =
            client.ask(&Ping::ours()).and_then(|_| client.next_response::<serde_json::Value>());
        match heard {
            Err(ClientError::Lost(_)) => {
                client = context.connect_again()?;
                let _ = client.ask(&asked(run, arguments));
            }
            heard => return Ok(heard.map(drop)?),
        }
    }
}
