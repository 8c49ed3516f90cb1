//! One supervisor: the single writer of the registry and the parent of all runs. [`turn`] is its loop.

mod kernel_events;
mod output_events;
pub(crate) mod parts;
mod startup;
mod stop;
mod turn;

pub(crate) use parts::*;

use crate::handle::Handle;
use crate::home::Home;
use crate::output::OutputEvent;
use crate::runs::table::TOKENS;
use ostler_core::Now;
use ostler_model::{RunId, RunRecord, RunState};
use ostler_os::HomeLock;
use std::sync::Arc;

const WAKER: u64 = 0;
const SIGNALS: u64 = 1;
pub(crate) const GUARDIAN: u64 = 2;
pub(crate) const GUARDIAN_CONNECTION: u64 = 3;
pub(crate) const REPORTS: u64 = 4;
const FIRST_RUN: u64 = 5;

/// The number of queries that are answered before the kernel's events are read again.
const REQUESTS_PER_TURN: usize = 64;

/// How a supervisor's run ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every run has ended. The home's lock is kept until the process exits.
    Stopped(HomeLock),
    /// Every run has ended, and another supervisor must be started: a run requested it.
    Restarted(HomeLock),
    /// The runs go on; another supervisor must be started.
    HandedOver,
}

/// Whether there was work since the last renewal of the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Busy,
    Quiet,
    /// Memory that was needed for work has been freed.
    Resting,
}

/// The state of the hand-over to the next supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Successor {
    /// Announced, but this supervisor is not ready to exit.
    Named,
    /// Everything is saved.
    Awaited,
}

type NotifyOutput = Arc<dyn Fn(OutputEvent) + Send + Sync>;

/// One supervisor: created, reconciled, then run until a stop request.
pub struct Supervisor {
    pub(crate) identity: Identity,
    pub(crate) core: Core,
    pub(crate) endpoints: Endpoints,
    pub(crate) store: Store,
    pub(crate) runs: RunTable,
    pub(crate) waiting: Waiting,
    pub(crate) agents: AgentTable,
    pub(crate) schedule: Schedule,
    pub(crate) platform: Platform,
    pub(crate) threads: Threads,
    pub(crate) life: Lifecycle,
    pub(crate) guardian: GuardianSide,
}

impl Supervisor {
    pub fn handle(&self) -> Handle {
        self.endpoints.handle.clone()
    }

    pub fn home(&self) -> &Home {
        &self.identity.home
    }

    pub(crate) fn new_token(&mut self, run: RunId) -> u64 {
        // Its process, the watch on its scope, and its client.
        let token = self.runs.next_token;
        self.runs.next_token += TOKENS;
        for each in token..self.runs.next_token {
            self.runs.tokens.insert(each, run);
        }
        token
    }

    pub(crate) fn shown(&self, record: &RunRecord) -> RunRecord {
        let mut shown = record.clone();
        if let Some(live) = self.runs.live.get(&record.run_id) {
            shown.last_output_at_ms = live.output.last_wall_ms().or(shown.last_output_at_ms);
            shown.output_bytes = live.output.written().max(shown.output_bytes);
        }
        shown.why = self.core.world.why_queued(record.run_id, now());
        shown.lease_expires_at_ms = Some(ostler_os::wall_ms() + self.identity.settings.lease_ms)
            .filter(|_| record.state != RunState::Exited);
        shown
    }
}

pub(crate) fn now() -> Now {
    Now { mono_ms: ostler_os::mono_ms(), wall_ms: ostler_os::wall_ms() }
}
