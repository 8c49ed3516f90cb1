use crate::args::WaitArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call, Target};
use std::sync::mpsc;
use std::time::Duration;

pub fn wait(context: &Context, arguments: &WaitArguments) -> Result<Exit, Failure> {
    let mut client = context.connect()?;
    let call = Call::Wait(Target { run: arguments.run.clone() });
    let answer = match arguments.timeout.filter(|limit| *limit > 0) {
        None => client.call(call)?,
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
