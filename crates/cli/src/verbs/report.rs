//! An agent's own word, from a process of its run.

use crate::args::ReportArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use ostler_client::ClientError;
use ostler_model::wire::{AgentReportCall, Answer, Call};
use ostler_model::{AgentReport, RunId, RunSpec};

pub fn report(context: &Context, arguments: ReportArguments) -> Result<Exit, Failure> {
    let variable = RunSpec::RUN_ID_VARIABLE;
    let run: RunId =
        std::env::var(variable).ok().and_then(|text| text.parse().ok()).ok_or_else(|| {
            Failure::usage(format!("{variable} is not set: this is not inside a run"))
        })?;
    let ReportArguments { state, question, until_ms, session, prompt } = arguments;
    let state = state.map(Into::into);
    let report = AgentReport { at_ms: 0, state, question, until_ms, session, prompt };
    let call = Call::AgentReport(Box::new(AgentReportCall { run, report }));
    match context.connect_running()?.call(call)? {
        Answer::Asked => Ok(Exit::DONE),
        _ => Err(ClientError::Unexpected.into()),
    }
}
