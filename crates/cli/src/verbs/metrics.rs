use crate::args::JsonArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::say;
use ostler_ops::daemon::Metrics;

pub fn metrics(context: &Context, arguments: &JsonArguments) -> Result<Exit, Failure> {
    let samples = context.ask(&Metrics {})?;
    if arguments.json {
        say!("{}", serde_json::to_string(&samples)?);
    } else {
        say!("{}", ostler_api::exposition(&samples).trim_end());
    }
    Ok(Exit::DONE)
}
