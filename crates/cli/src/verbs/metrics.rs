use crate::args::JsonArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_ops::daemon::Metrics;

pub fn metrics(context: &Context, arguments: &JsonArguments) -> Result<Exit, Failure> {
    let samples = context.ask(&Metrics {})?;
    if arguments.json {
        outln!("{}", serde_json::to_string(&samples)?);
    } else {
        outln!("{}", ostler_api::exposition(&samples).trim_end());
    }
    Ok(Exit::DONE)
}
