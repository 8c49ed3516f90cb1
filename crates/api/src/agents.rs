//! Agents on terminals: what is known of them, and what they report.

use crate::find::{error, find};
use crate::server::Shared;
use ostler_engine::NotOfRun;
use ostler_model::Actor;
use ostler_model::wire::{AgentCall, AgentReportCall, Answer, ErrorCode, WireError};

pub(crate) async fn agent(call: AgentCall, shared: &Shared) -> Result<Answer, WireError> {
    let run = find(shared, &call.run)?.run_id;
    Ok(Answer::Agent(Box::new(shared.engine.agent(run, call.fresh).await)))
}

pub(crate) async fn report(
    call: AgentReportCall,
    by: Actor,
    shared: &Shared,
) -> Result<Answer, WireError> {
    let AgentReportCall { run, report } = call;
    let pid = match by {
        Actor::Caller { pid, .. } => pid,
        Actor::Supervisor | Actor::Kernel => 0,
    };
    match shared.engine.report(run, pid, report).await {
        Ok(()) => Ok(Answer::Asked),
        Err(NotOfRun) => Err(error(
            ErrorCode::Conflict,
            format!(
                "process {pid} is not of run {run}: only an agent's own processes report for it"
            ),
        )),
    }
}
