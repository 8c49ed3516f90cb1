use crate::args::JsonArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call};

/// Returns when every run and the supervisor itself are gone.
pub fn stop(context: &Context, arguments: &JsonArguments) -> Result<Exit, Failure> {
    let mut client = context.connect_running()?;
    let Answer::ShutDown(answer) = client.call(Call::Shutdown)? else {
        return Err(ClientError::Unexpected.into());
    };
    // The lock is given up by the kernel when the process is gone.
    while ostler_os::take_lock(&context.home.lock())?.is_none() {
        ostler_os::nap(std::time::Duration::from_millis(2));
    }
    if arguments.json {
        say!("{}", serde_json::to_string(&answer)?);
    } else {
        for result in &answer.ended {
            say!("{}", render::result_line(result));
        }
        say!("supervisor {} stopped, {} runs ended", answer.pid, answer.ended.len());
    }
    Ok(Exit::DONE)
}
