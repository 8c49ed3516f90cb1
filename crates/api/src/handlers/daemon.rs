//! Operations on the daemon.

use super::dispatch::Handle;
use crate::find::{error, registry_error, stopping};
use crate::server::Shared;
use ostler_engine as engine;
use ostler_model::{Actor, Sample};
use ostler_ops::Done;
use ostler_ops::daemon::{HandOver, Metrics, Ping, Pong, Restart, Shutdown, Stopped, Wake};
use ostler_ops::wire::{ErrorCode, WireError};
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Handle for Ping {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Pong, WireError> {
        let guardian = shared.engine.guardian_status().await;
        Ok(Pong {
            version: shared.version.to_owned(),
            pid: std::process::id(),
            home: shared.home.path().display().to_string(),
            started_at_ms: shared.started_at_ms,
            live: shared.engine.live().await as u64,
            guardian: guardian.pid,
            went_back: guardian.rollback_reason,
        })
    }
}

impl Handle for Metrics {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Sample>, WireError> {
        samples(shared).await
    }
}

impl Handle for Shutdown {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Stopped, WireError> {
        let stopped = shared.engine.shutdown(by).await.ok_or_else(stopping)?;
        Ok(Stopped {
            pid: std::process::id(),
            ended: stopped.ended,
            unsaved: stopped.unsaved as u64,
            left: stopped.left,
        })
    }
}

impl Handle for Restart {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Done, WireError> {
        match shared.engine.restart_for(by).await {
            Some(_) => Ok(Done {}),
            None => Err(error(ErrorCode::Conflict, "the caller is not a process of a run")),
        }
    }
}

impl Handle for Wake {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Done, WireError> {
        shared.engine.wake();
        Ok(Done {})
    }
}

impl Handle for HandOver {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Done, WireError> {
        let why_not = match shared.engine.hand_over(self.program.map(PathBuf::from)).await {
            engine::HandOver::Begun => return Ok(Done {}),
            engine::HandOver::NoGuardian => {
                "this supervisor has no guardian; stop it and use `ostler start`"
            }
            engine::HandOver::NoCopy(why) => {
                return Err(error(
                    ErrorCode::Conflict,
                    format!("{why}; free some disk space, then upgrade again"),
                ));
            }
            engine::HandOver::Systemd => {
                "this supervisor is managed by systemd: replace the program of its unit, then run `systemctl restart` for the unit"
            }
            engine::HandOver::Stopping => {
                return Err(stopping());
            }
        };
        Err(error(ErrorCode::Conflict, why_not))
    }
}

pub(crate) async fn samples(shared: &Shared) -> Result<Vec<Sample>, WireError> {
    let mut samples = shared.read(|reader| reader.counters()).map_err(registry_error)?;
    samples.push(Sample {
        name: "run_live".to_owned(),
        labels: BTreeMap::new(),
        value: shared.engine.live().await as u64,
    });
    let total = shared.engine.output_total();
    for (name, value) in [("output_kept_bytes", total.kept()), ("output_most_bytes", total.most())]
    {
        samples.push(Sample { name: name.to_owned(), labels: BTreeMap::new(), value });
    }
    Ok(samples)
}
