//! Agents on terminals: their state and their reports.

use super::dispatch::Handle;
use crate::find::{current, error, find};
use crate::server::Shared;
use ostler_engine::{NotKept, NotOfRun, SessionRefused};
use ostler_model::{Actor, AgentKnown};
use ostler_ops::Done;
use ostler_ops::agents::{Idle, Report, Session, Show};
use ostler_ops::wire::{ErrorCode, WireError};

impl Handle for Show {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<AgentKnown, WireError> {
        let run = find(shared, &self.run)?.run_id;
        Ok(shared.engine.agent(run, self.fresh).await)
    }
}

impl Handle for Report {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Done, WireError> {
        let Self { run, report } = self;
        let pid = match by {
            Actor::Caller { pid, .. } => pid,
            Actor::Supervisor | Actor::Kernel => 0,
        };
        shared.engine.report(run, pid, *report).await.map(|()| Done {}).map_err(|NotOfRun| {
            let message = format!(
                "process {pid} does not belong to run {run}: only the agent's own processes may report for it"
            );
            error(ErrorCode::Conflict, message)
        })
    }
}

impl Handle for Session {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Done, WireError> {
        let learned = shared.engine.learn_session(self.of, self.session).await;
        learned.map(|()| Done {}).map_err(|refused| {
            let code = match &refused {
                SessionRefused::BadId(_) => ErrorCode::InvalidRequest,
                SessionRefused::NoSuch(_) => ErrorCode::NotFound,
                SessionRefused::Older { .. } => ErrorCode::Conflict,
                SessionRefused::NotKept(NotKept::ShuttingDown) => ErrorCode::ShuttingDown,
                SessionRefused::NotKept(_) => ErrorCode::RegistryFailed,
            };
            error(code, refused.to_string())
        })
    }
}

impl Handle for Idle {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Done, WireError> {
        let record = current(shared, &self.of).await?;
        shared.engine.report_idle(record.run_id, self.idle);
        Ok(Done {})
    }
}
