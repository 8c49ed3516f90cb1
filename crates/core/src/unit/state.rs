//! What the supervisor knows of one unit, and what changes with its phase.

use super::launch::Shortage;
use super::pace::Pace;
use super::phase::Phase;
use crate::time::Now;
use ostler_model::{RunId, UnitRecord};

#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) record: UnitRecord,
    pub(crate) phase: Phase,
    pub(crate) since_ms: u64,
    /// A scheduled time came while the last run was still live.
    pub(super) is_due_again: bool,
    /// If it stays ready until then, it counts as recovered.
    pub(super) recovers_at_mono_ms: Option<u64>,
    /// Why it is unhealthy while it still runs.
    pub(super) degraded: Option<String>,
    /// The message of the failed check for which it is being ended.
    pub(super) check_message: Option<String>,
    /// It restarts soon, and its slot in the pool stays reserved.
    pub(super) keeps_slot: bool,
    /// The journal already says that it waits for a slot.
    pub(crate) is_queue_reported: bool,
    /// When to check whether it is idle.
    pub(super) look_idle_mono_ms: Option<u64>,
    /// Its recent starts.
    pub(super) pace: Pace,
    /// The missing resource, and the number of attempts in a row.
    pub(super) shortage: Option<Shortage>,
}

impl Unit {
    pub(super) fn new(record: UnitRecord, phase: Phase, now: Now) -> Self {
        Self {
            record,
            phase,
            since_ms: now.wall_ms,
            is_due_again: false,
            recovers_at_mono_ms: None,
            degraded: None,
            check_message: None,
            keeps_slot: false,
            is_queue_reported: false,
            look_idle_mono_ms: None,
            pace: Pace::default(),
            shortage: None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.record.spec.name
    }

    /// Its current run.
    pub(crate) fn run(&self) -> Option<RunId> {
        self.phase.run()
    }

    /// Every change of the phase passes here.
    pub(super) fn enter(&mut self, phase: Phase, now: Now) {
        if self.phase == phase {
            return;
        }
        let is_ready = matches!(phase, Phase::Ready(_));
        let reset_ms = self.record.spec.restart.backoff.reset_after_ms;
        let is_recovering = is_ready && self.record.trouble.is_some();
        self.recovers_at_mono_ms = is_recovering.then(|| now.mono_ms.saturating_add(reset_ms));
        let idle = self.record.spec.idle.filter(|_| is_ready);
        self.look_idle_mono_ms = idle.map(|idle| now.mono_ms.saturating_add(idle.after_ms));
        self.phase = phase;
        self.degraded = None;
        self.since_ms = now.wall_ms;
        self.update_slot();
    }

    /// Updates its slot and ticket for the new phase.
    fn update_slot(&mut self) {
        match self.phase {
            Phase::Waiting | Phase::Backoff(_) if self.keeps_slot => {}
            Phase::Waiting
            | Phase::Reconciling
            | Phase::Launching
            | Phase::Unready(_)
            | Phase::Ready(_)
            | Phase::Leaving(_)
            | Phase::Stopping(_) => self.keeps_slot = false,
            Phase::Queued => {
                self.keeps_slot = false;
                self.is_queue_reported = false;
            }
            // It left the queue, and goes to its end the next time.
            Phase::Backoff(_)
            | Phase::Stopped
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => {
                self.keeps_slot = false;
                self.record.ticket = None;
            }
        }
    }

    pub(crate) fn waits_for_slot(&self) -> bool {
        self.phase == Phase::Queued
    }

    /// Whether it uses a slot in its pool. A unit that waits for its dependencies uses none.
    pub(crate) fn has_slot(&self) -> bool {
        match self.phase {
            Phase::Launching
            | Phase::Unready(_)
            | Phase::Ready(_)
            | Phase::Leaving(_)
            | Phase::Stopping(_) => true,
            Phase::Waiting | Phase::Backoff(_) => self.keeps_slot,
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Queued
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => false,
        }
    }

    /// Whether its dependents may be launched: it is ready, or it completed its work.
    pub(crate) fn is_there(&self) -> bool {
        match self.phase {
            // A suspended unit wakes when it is needed.
            Phase::Ready(_) | Phase::Suspended => true,
            Phase::Over => self.record.over.as_ref().is_some_and(|over| over.is_clean),
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Unready(_)
            | Phase::Leaving(_)
            | Phase::Stopping(_)
            | Phase::Backoff(_)
            | Phase::Broken
            | Phase::Scheduled => false,
        }
    }

    /// The next of its own times.
    pub(super) fn next_due(&self) -> Option<u64> {
        let of_ready = self.recovers_at_mono_ms.into_iter().chain(self.look_idle_mono_ms).min();
        self.phase.delayed_until().or(of_ready)
    }
}
