//! `ostler report`: the state that an agent reports, from a process of its run.

use crate::args::ReportArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use ostler_model::{AgentReport, RunId, RunSpec};
use ostler_ops::agents::Report;

pub fn report(context: &Context, arguments: ReportArguments) -> Result<Exit, Failure> {
    let variable = RunSpec::RUN_ID_VARIABLE;
    let run: RunId =
        std::env::var(variable).ok().and_then(|text| text.parse().ok()).ok_or_else(|| {
            Failure::usage(format!(
                "{variable} is not set; `ostler report` works only inside a run"
            ))
        })?;
    let ReportArguments { state, question, until_ms, session, prompt } = arguments;
    let state = state.map(Into::into);
    let report = AgentReport { at_ms: 0, state, question, until_ms, session, prompt };
    context.connect_running()?.call(&Report { run, report: Box::new(report) })?;
    Ok(Exit::DONE)
}
