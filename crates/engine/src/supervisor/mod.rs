//! One supervisor: the single writer of the registry and the parent of all runs. [`turn`] is its loop.

mod kernel_events;
mod output_events;
mod parts;
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
pub(crate) const GUARDIAN_LINE: u64 = 3;
pub(crate) const REPORTS: u64 = 4;
const FIRST_RUN: u64 = 5;

/// So many questions are answered between two looks at the kernel.
const ASKS_A_TURN: usize = 64;

/// How a supervisor's run ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every run has ended. The home's lock is to be kept until the process is as good as gone.
    Stopped(HomeLock),
    /// Every run has ended, and a successor is to be started: a run asked for it.
    Restarted(HomeLock),
    /// The runs go on; a successor is to be started.
    HandedOver,
}

/// Whether anything has been done since the lease was renewed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Busy,
    Quiet,
    /// What work needed has been given back.
    Resting,
}

/// Who is to take our place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Successor {
    /// Told, but not yet ready to leave.
    Named,
    /// All is written down.
    Awaited,
}

type NotifyOutput = Arc<dyn Fn(OutputEvent) + Send + Sync>;

/// One supervisor: made, reconciled, then run until it is asked to stop.
pub struct Supervisor {
    pub(crate) identity: Identity,
    pub(crate) core: Core,
    pub(crate) faces: Faces,
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
        self.faces.handle.clone()
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
