use crate::args::WaitArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::{say, tell};
use ostler_client::ClientError;
use ostler_model::RunResult;
use ostler_model::wire::{Answer, Call, Target};
use std::sync::mpsc;
use std::time::Duration;

pub fn wait(context: &Context, arguments: &WaitArguments) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    let call = Call::Wait(Target { run: arguments.run.clone() });
    let answer = match arguments.timeout.filter(|limit| *limit > 0) {
        None => match client.call(call).map_err(Failure::from) {
            Err(failure) if failure.is_lost() => {
                Answer::Ended(after_a_loss(context, &arguments.run)?)
            }
            answer => answer?,
        },
        Some(limit) => {
            let (sender, receiver) = mpsc::channel();
            std::thread::spawn(move || {
                let _ = sender.send(client.call(call));
            });
            match receiver.recv_timeout(Duration::from_millis(limit)) {
                Ok(answer) => answer?,
                Err(_) => {
                    return Err(Failure {
                        exit: Exit::TIMED_OUT,
                        cause: anyhow::anyhow!(
                            "run {} has not ended within {}; it goes on",
                            arguments.run,
                            render::duration(limit)
                        ),
                    });
                }
            }
        }
    };
    let Answer::Ended(result) = answer else { return Err(ClientError::Unexpected.into()) };
    if arguments.json {
        say!("{}", serde_json::to_string(&result)?);
    } else {
        say!("{}", render::result_line(&result));
    }
    Ok(if arguments.exit_code { Exit::of_run(&result) } else { Exit::DONE })
}

/// The supervisor went away under us. The run did not: the next supervisor takes it up again, and we wait
/// there.
pub fn after_a_loss(context: &Context, run: &str) -> Result<RunResult, Failure> {
    tell!("ostler: the supervisor went away; run {run} is looked for under a new one");
    match context.connect()?.call(Call::Wait(Target { run: run.to_owned() }))? {
        Answer::Ended(result) => Ok(result),
        _ => Err(ClientError::Unexpected.into()),
    }
}
