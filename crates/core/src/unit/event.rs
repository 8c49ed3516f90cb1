//! What can happen to a unit.

use super::declaration::Change;
use ostler_model::{Actor, RunId, RunRecord, UnitSpec, What};
use serde_json::Value;

/// A declared unit, with the digests of its declaration.
#[derive(Clone, Debug)]
pub struct Declared {
    pub spec: UnitSpec,
    /// Digest of the settings that a running copy was started with. If it differs, the run must be replaced.
    pub run_digest: String,
    /// Digest of the whole declaration.
    pub digest: String,
}

/// A request for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Start,
    Stop,
    Restart,
}

/// What the engine reports about one unit.
#[derive(Clone, Debug)]
pub enum UnitEvent {
    /// Its readiness check passed.
    Ready { run: RunId },
    /// It was not ready in time.
    NotReady { run: RunId, why: String },
    /// Its health check failed too often.
    Unhealthy { run: RunId, why: String },
    /// Its heartbeats are late, or its readiness check fails. It continues to run.
    Degraded { run: RunId, why: String },
    /// Its heartbeats arrive again, or its readiness check passes again.
    Recovered { run: RunId },
    /// An entry for the journal only.
    Noted { run: RunId, what: What, why: String, evidence: Value },
    /// Its scheduled time has come.
    ScheduleDue,
    /// The answer to `LookIdle`: since when its agent is idle.
    Idle { run: RunId, idle: Idle },
    /// There is work for it: wake it if it sleeps.
    Wake { by: Actor, why: String },
}

/// Whether an agent is idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Idle since this moment on the monotonic clock.
    Since { mono_ms: u64 },
    /// Not idle, or something keeps it awake.
    No,
}

/// The input of a unit's state machine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event<'a> {
    /// A client wants it to run.
    Start,
    /// A client wants it stopped.
    Stop,
    /// A client wants it to run anew.
    Restart(&'a Actor),
    /// It has a new declaration.
    Changed(&'a Change<'a>),
    /// It is no longer declared.
    Removed,
    /// It is to run because it is declared, or because a unit needs it.
    Wanted,

    /// All runs are compared with the kernel. `true`: units begin now.
    Reconciled(bool),
    /// Its run was found alive.
    Adopted(&'a RunRecord),
    /// A person started the daemon.
    DaemonStarted,
    /// The daemon stops.
    DaemonStopping,

    /// All its dependencies are ready.
    DependenciesReady,
    /// It waits for a slot, and a dependency is no longer ready.
    DependencyLost,
    /// None of its dependents is being ended any more.
    DependentsEnded(&'a Actor),
    /// Its pool has a slot for it.
    SlotFree,

    /// Its run is recorded and about to be spawned.
    Launched(RunId),
    /// Its run could not even be requested.
    LaunchRefused,
    /// Its run could not be recorded, so it never existed.
    IntentLost(&'a RunRecord),
    /// Its program is executed.
    Spawned(RunId),

    /// Its readiness check passed.
    CheckPassed(RunId),
    /// It was not ready in time.
    NotReady(RunId, &'a str),
    /// Its health check failed too often.
    Unhealthy(RunId, &'a str),
    /// Its heartbeats are late, or its readiness check fails.
    Degraded(RunId, &'a str),
    /// The same is over.
    Recovered(RunId),
    /// An entry for the journal only.
    Noted(RunId, What, &'a str, &'a Value),

    /// Its run has ended.
    Ended(&'a RunRecord),
    /// Its program could not be executed.
    Refused(&'a RunRecord),
    /// Its run was ended, but some of its processes could not be.
    Survived(&'a RunRecord),
    /// Its run has ended because the daemon stops.
    EndedWithDaemon,

    /// One of its own times may have come: the end of a delay, an idle check, or its recovery.
    Due,
    /// Its scheduled time has come.
    ScheduleDue,
    /// Since when its agent is idle.
    IdleChecked(RunId, &'a Idle),
    /// There is work for it.
    Wake(&'a Actor, &'a str),
}

impl<'a> Event<'a> {
    pub(super) fn of(reported: &'a UnitEvent) -> Self {
        match reported {
            UnitEvent::Ready { run } => Event::CheckPassed(*run),
            UnitEvent::NotReady { run, why } => Event::NotReady(*run, why),
            UnitEvent::Unhealthy { run, why } => Event::Unhealthy(*run, why),
            UnitEvent::Degraded { run, why } => Event::Degraded(*run, why),
            UnitEvent::Recovered { run } => Event::Recovered(*run),
            UnitEvent::Noted { run, what, why, evidence } => {
                Event::Noted(*run, *what, why, evidence)
            }
            UnitEvent::ScheduleDue => Event::ScheduleDue,
            UnitEvent::Idle { run, idle } => Event::IdleChecked(*run, idle),
            UnitEvent::Wake { by, why } => Event::Wake(by, why),
        }
    }

    /// The run that it is about. It changes nothing if the unit has another run now.
    pub(super) fn run(&self) -> Option<RunId> {
        match self {
            Event::Spawned(run)
            | Event::CheckPassed(run)
            | Event::NotReady(run, _)
            | Event::Unhealthy(run, _)
            | Event::Degraded(run, _)
            | Event::Recovered(run)
            | Event::Noted(run, ..)
            | Event::IdleChecked(run, _) => Some(*run),
            Event::IntentLost(record)
            | Event::Ended(record)
            | Event::Refused(record)
            | Event::Survived(record) => Some(record.run_id),
            Event::Start
            | Event::Stop
            | Event::Restart(_)
            | Event::Changed(_)
            | Event::Removed
            | Event::Wanted
            | Event::Reconciled(_)
            | Event::Adopted(_)
            | Event::DaemonStarted
            | Event::DaemonStopping
            | Event::DependenciesReady
            | Event::DependencyLost
            | Event::DependentsEnded(_)
            | Event::SlotFree
            | Event::Launched(_)
            | Event::LaunchRefused
            | Event::EndedWithDaemon
            | Event::Due
            | Event::ScheduleDue
            | Event::Wake(..) => None,
        }
    }
}
