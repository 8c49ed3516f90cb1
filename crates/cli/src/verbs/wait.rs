use crate::args::WaitArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render;
use ostler_client::{Client, ClientError};
use ostler_model::RunResult;
use ostler_ops::runs::Wait;
use std::sync::mpsc;
use std::time::Duration;

pub fn wait(context: &Context, arguments: &WaitArguments) -> Result<Exit, Failure> {
    let client = context.connect()?;
    let result = match arguments.timeout.filter(|limit| *limit > 0) {
        None => until_ended(context, client, &arguments.run)?,
        Some(limit) => {
            let (sender, receiver) = mpsc::channel();
            let (context, run) = (context.clone(), arguments.run.clone());
            std::thread::spawn(move || {
                let _ = sender.send(until_ended(&context, client, &run));
            });
            match receiver.recv_timeout(Duration::from_millis(limit)) {
                Ok(answer) => answer?,
                Err(_) => {
                    return Err(Failure {
                        exit: Exit::TIMED_OUT,
                        cause: anyhow::anyhow!(
                            "run {} did not end within {}; it continues",
                            arguments.run,
                            render::duration(limit)
                        ),
                    });
                }
            }
        }
    };
    if arguments.json {
        outln!("{}", serde_json::to_string(&result)?);
    } else {
        outln!("{}", render::result_line(&result));
    }
    Ok(if arguments.exit_code { Exit::of_run(&result) } else { Exit::DONE })
}

/// Waits across supervisor restarts: the successor adopts the run, and the request is sent to it again.
fn until_ended(context: &Context, mut client: Client, run: &str) -> Result<RunResult, Failure> {
    loop {
        match client.call(&Wait::of(run)) {
            Err(ClientError::Lost(_)) => client = context.connect_again()?,
            answer => return Ok(answer?),
        }
    }
}
