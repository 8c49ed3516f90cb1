use crate::args::CancelArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::{say, tell};
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call, Target};

/// All are told first, then waited for: the graces run at the same time.
pub fn cancel(context: &Context, arguments: &CancelArguments) -> Result<Exit, Failure> {
    let mut first_failure = None;
    let mut told = Vec::new();
    for run in &arguments.runs {
        let mut client = context.connect()?;
        // A run that does not exist is said at once, and the others are still cancelled.
        match client.call(Call::Show(Target { run: run.clone() })) {
            Ok(_) => {
                client.ask(Call::Cancel(Target { run: run.clone() }))?;
                told.push(client);
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
    for mut client in told {
        if arguments.no_wait {
            // The order of questions is kept: this answer means that the cancel was heard.
            client.ask(Call::Ping)?;
            client.next_answer()?;
            continue;
        }
        let Answer::Cancelled(answer) = client.next_answer()? else {
            return Err(ClientError::Unexpected.into());
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
