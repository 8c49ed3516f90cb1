//! The phases of a unit, and what follows from a phase alone.

use crate::restart::Cause;
use ostler_model::RunId;

/// Where a unit is in its life. `machine` has the diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Stopped,
    /// The records are being compared with the kernel.
    Reconciling,
    /// Waits for its dependencies.
    Waiting,
    /// Waits for a slot in its pool.
    Queued,
    /// Its run is requested, but not recorded yet.
    Launching,
    Unready(RunId),
    Ready(RunId),
    /// To be ended once its dependents have ended.
    Leaving(Ending),
    Stopping(Ending),
    Backoff(Delay),
    /// It ended and is not restarted.
    Over,
    /// The breaker is open.
    Broken,
    /// Waits for its schedule.
    Scheduled,
    /// Stopped because it is idle.
    Suspended,
}

/// The end of a run, with what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) run: RunId,
    pub(crate) then: Then,
}

/// What follows when a run that is being ended has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    StayStopped,
    StartAgain,
    Sleep,
    /// Judged as if the run had ended by itself, for this cause.
    Judge(Cause),
    /// The unit is no longer declared: remove it.
    Remove,
}

/// A delay before a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delay {
    pub(crate) until_mono_ms: u64,
    pub(crate) wait_ms: u64,
    pub(crate) why: DelayCause,
}

/// Why a start is delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelayCause {
    /// The restart policy says so.
    Restart,
    /// The supervisor lacks resources.
    Shortage,
    /// The unit started too often within a second.
    StartRate,
    /// The run could not be requested or recorded.
    NotLaunched,
}

impl Phase {
    /// The unit's current run.
    pub(crate) fn run(&self) -> Option<RunId> {
        match self {
            Phase::Unready(run) | Phase::Ready(run) => Some(*run),
            Phase::Leaving(ending) | Phase::Stopping(ending) => Some(ending.run),
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Backoff(_)
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => None,
        }
    }

    /// The run that is being ended or will be, and what follows.
    pub(crate) fn ending(&self) -> Option<Ending> {
        match self {
            Phase::Leaving(ending) | Phase::Stopping(ending) => Some(*ending),
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Unready(_)
            | Phase::Ready(_)
            | Phase::Backoff(_)
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => None,
        }
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending().is_some()
    }

    /// The end of its delay.
    pub(crate) fn delayed_until(&self) -> Option<u64> {
        match self {
            Phase::Backoff(delay) => Some(delay.until_mono_ms),
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Unready(_)
            | Phase::Ready(_)
            | Phase::Leaving(_)
            | Phase::Stopping(_)
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => None,
        }
    }

    /// Whether it needs its dependencies now: it runs, or is about to start.
    pub(crate) fn needs_dependencies(&self) -> bool {
        match self {
            Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Unready(_)
            | Phase::Ready(_)
            | Phase::Backoff(_) => true,
            Phase::Stopped
            | Phase::Suspended
            | Phase::Reconciling
            | Phase::Leaving(_)
            | Phase::Stopping(_)
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled => false,
        }
    }
}

impl Ending {
    pub(crate) fn vanishes(&self) -> bool {
        self.then == Then::Remove
    }
}
