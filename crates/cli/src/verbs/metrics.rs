use crate::args::JsonArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::say::say;
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call};

pub fn metrics(context: &Context, arguments: &JsonArguments) -> Result<Exit, Failure> {
    let Answer::Metrics(samples) = context.ask(&Call::Metrics)? else {
        return Err(ClientError::Unexpected.into());
    };
    if arguments.json {
        say!("{}", serde_json::to_string(&samples)?);
    } else {
        say!("{}", ostler_api::exposition(&samples).trim_end());
    }
    Ok(Exit::DONE)
}
