//! Runs: start, list, wait, cancel.

use super::dispatch::Handle;
use super::units::pool_refused;
use crate::find::{current, error, find, registry_error, stopping};
use crate::server::Shared;
use ostler_engine::{Cancelled, Canceller, SpawnRefused};
use ostler_model::{
    Actor, Limits, RunId, RunRecord, RunResult, RunState, ScreenText, TerminalSize,
};
use ostler_ops::Done;
use ostler_ops::runs::{self, AwaitStart, Cancel, Leave, List, Screen, Show, Spawn, Wait};
use ostler_ops::wire::{ErrorCode, WireError};
use ostler_registry::RunQuery;

impl Handle for Spawn {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<RunRecord, WireError> {
        let spec = self.0;
        let bad = |message: String| Err(error(ErrorCode::InvalidRequest, message));
        if spec.argv.is_empty() {
            return bad("argv is empty: name a program to run".to_owned());
        }
        if !spec.purpose.is_of_callers() {
            return bad(format!(
                "only the supervisor starts runs with the purpose {:?}; leave the purpose out",
                spec.purpose.as_str()
            ));
        }
        if spec.limits.grace_ms > Limits::MAX_GRACE_MS {
            return bad(format!(
                "a grace of {} ms is too long; at most {} ms are allowed",
                spec.limits.grace_ms,
                Limits::MAX_GRACE_MS
            ));
        }
        if spec.size.columns == 0 || spec.size.rows == 0 {
            return bad("a terminal must have at least one column and one row".to_owned());
        }
        if spec.size.is_too_large() {
            let (TerminalSize { columns, rows }, most) = (spec.size, TerminalSize::MOST);
            return bad(format!(
                "a terminal of {columns}x{rows} is too large; at most {most} columns and {most} rows are allowed"
            ));
        }
        // The client repeats a request whose answer was lost with the previous supervisor.
        if let Some(run) = spec.run_id
            && let Ok(record) = current(shared, &run.to_string()).await
        {
            return Ok(record);
        }
        match shared.engine.spawn(spec, by).await {
            Ok(record) => Ok(record),
            Err(SpawnRefused::ShuttingDown) => Err(error(
                ErrorCode::ShuttingDown,
                "the supervisor is stopping and starts no more runs",
            )),
            Err(SpawnRefused::Pool(refused)) => Err(pool_refused(refused)),
            Err(SpawnRefused::Registry { message }) => Err(error(
                ErrorCode::RegistryFailed,
                format!("the run was not started, because it could not be recorded: {message}"),
            )),
        }
    }
}

impl Handle for List {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<RunRecord>, WireError> {
        let filter = self;
        if let Some(unit) = &filter.unit {
            let most = filter.newest_ended.unwrap_or(u64::from(u32::MAX));
            return shared.read(|reader| reader.runs_of(unit, most)).map_err(registry_error);
        }
        let ours = shared.engine.records().await.ok_or_else(stopping)?;
        let others = shared.read(|reader| reader.live()).map_err(registry_error)?;
        // Read the ended runs last: a run that ends meanwhile is found twice, but is never missing.
        let mut runs = if filter.live_only {
            Vec::new()
        } else {
            let query = RunQuery { newest: filter.newest_ended };
            let mut ended = shared.read(|reader| reader.ended(query)).map_err(registry_error)?;
            ended.reverse();
            ended
        };
        let own: std::collections::HashSet<RunId> = ours.iter().map(|run| run.run_id).collect();
        runs.extend(others.into_iter().filter(|run| !own.contains(&run.run_id)));
        runs.extend(ours);
        // The later entry wins.
        let mut seen = std::collections::HashSet::new();
        runs.retain(|run| seen.insert(run.run_id));
        Ok(runs)
    }
}

impl Handle for Show {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<RunRecord, WireError> {
        current(shared, &self.run).await
    }
}

impl Handle for Wait {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<RunResult, WireError> {
        let record = find(shared, &self.run)?;
        ended(shared, record.run_id).await
    }
}

impl Handle for AwaitStart {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<RunRecord, WireError> {
        let record = current(shared, &self.run).await?;
        shared.engine.await_start(record.run_id).await;
        current(shared, &record.run_id.to_string()).await
    }
}

impl Handle for Leave {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Done, WireError> {
        let run = find(shared, &self.run)?.run_id;
        shared.engine.leave(run, by).await.ok_or_else(stopping).map(|()| Done {})
    }
}

impl Handle for Cancel {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<runs::Cancelled, WireError> {
        let reason = self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        if reason.is_some_and(|reason| reason.chars().count() > Self::REASON_MOST) {
            let most = Self::REASON_MOST;
            let message = format!("the reason is too long; at most {most} characters are allowed");
            return Err(error(ErrorCode::InvalidRequest, message));
        }
        let reason = reason.map(str::to_owned);
        let record = find(shared, &self.run)?;
        let below = shared.engine.descendants(record.run_id).await;
        let canceller = Canceller { by, said: reason, at_once: self.now };
        let cancelled = shared.engine.cancel(record.run_id, canceller).await;
        for run in below {
            shared.engine.wait(run).await;
        }
        match cancelled {
            Cancelled::Ended(result) => Ok(runs::Cancelled { already_ended: false, result }),
            Cancelled::NotLive => {
                let record = find(shared, &record.run_id.to_string())?;
                if record.state == RunState::Exited {
                    return Ok(runs::Cancelled { already_ended: true, result: record.result() });
                }
                Err(others(&record))
            }
        }
    }
}

impl Handle for Screen {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<ScreenText, WireError> {
        let record = find(shared, &self.run)?;
        let run = record.run_id;
        let name = record.unit.unwrap_or_else(|| format!("run {run}"));
        let logged = name.strip_prefix("run ").unwrap_or(&name);
        let Some(attached) = shared.engine.attach(run).await else {
            let description = format!("{name} has ended; `ostler logs {logged}` shows its output");
            return Err(error(ErrorCode::Conflict, description));
        };
        let none = || {
            let description =
                format!("{name} has no terminal; `ostler logs {logged}` shows its output");
            error(ErrorCode::Conflict, description)
        };
        attached.output.screen_text().ok_or_else(none)
    }
}

/// Waits for the result of a run.
pub(crate) async fn ended(shared: &Shared, run: RunId) -> Result<RunResult, WireError> {
    match shared.engine.wait(run).await {
        Cancelled::Ended(result) => Ok(result),
        Cancelled::NotLive => {
            let record = find(shared, &run.to_string())?;
            if record.state == RunState::Exited {
                return Ok(record.result());
            }
            Err(others(&record))
        }
    }
}

fn others(record: &RunRecord) -> WireError {
    error(
        ErrorCode::Elsewhere,
        format!(
            "run {} belongs to another supervisor (instance {}); use that one",
            record.run_id, record.owner_instance_id
        ),
    )
}
