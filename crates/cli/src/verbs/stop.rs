use crate::args::JsonArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::{say, tell};
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call};

/// Returns when every run and the supervisor itself are gone.
pub fn stop(context: &Context, arguments: &JsonArguments) -> Result<Exit, Failure> {
    let mut client = context.connect_running()?;
    let Answer::Pong(pong) = client.call(Call::Ping)? else {
        return Err(ClientError::Unexpected.into());
    };
    let process =
        ostler_os::fingerprint_of(pong.pid as i32).as_ref().and_then(ostler_os::Process::open);
    let Answer::ShutDown(answer) = client.call(Call::Shutdown)? else {
        return Err(ClientError::Unexpected.into());
    };
    if let Some(process) = process {
        process.wait_gone()?;
    }
    if arguments.json {
        say!("{}", serde_json::to_string(&answer)?);
    } else {
        for result in &answer.ended {
            say!("{}", render::result_line(result));
        }
        let runs = render::count(answer.ended.len(), "run");
        say!("supervisor {} stopped, {runs} ended", answer.pid);
    }
    if answer.unsaved > 0 {
        tell!(
            "ostler: {} could not be written to the registry and will be found stale",
            render::count(answer.unsaved as usize, "result")
        );
        return Ok(Exit::FAILED);
    }
    Ok(Exit::DONE)
}
