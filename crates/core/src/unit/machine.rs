//! The state machine of one unit.
//!
//! ```text
//!   a new supervisor ──► Reconciling ── its run is alive ──► Unready, or Stopping if it was being ended
//!                             └─ it has no run ──► the phase that its record says
//!
//!      start              dependencies ready         recorded, spawned      check passed
//!   Stopped ────────► Waiting ──────┬──────► Launching ───────────► Unready ──────────► Ready
//!                     ▲  ▲  ▲       │ in a pool ▲ │                    │                  │
//!      its time       │  │  │       ▼ slot free │ │ not recorded       │ ended by itself  │
//!   Scheduled ────────┘  │  │    Queued ────────┘ │                    ▼                  ▼
//!      work              │  │                     │                the restart policy judges ◄───┐
//!   Suspended ───────────┘  │ delay over          ▼   restart          │          │          │     │
//!                           └────────────────── Backoff ◄──────────────┘          ▼          ▼     │
//!                                                                               Over      Broken   │
//!   Unready, Ready:                                                                                │
//!     not ready in time, unhealthy ────────────────────────► Stopping ── ended ────────────────────┘
//!     restart, declaration changed, replaced on schedule ──► Stopping ── ended ──► Waiting
//!     idle ────────────────────────────────────────────────► Stopping ── ended ──► Suspended
//!     stop ─────► Leaving ── its dependents have ended ────► Stopping ── ended ──► Stopped
//!     removed ──► Leaving ── its dependents have ended ────► Stopping ── ended ──► (removed)
//! ```
//!
//! The usual case. The unit is wanted and its dependencies are ready: it is launched, becomes ready, and stays so.
//!
//! The run ends by itself. The restart policy decides (`judge`): restart after a delay, no restart, or opening the
//! breaker. The counters are saved before any action follows. A unit with a schedule waits for its next time instead.
//!
//! The unit is not ready in time, or becomes unhealthy. Its run is ended, and that counts as a failure.
//!
//! A person stops the unit. The desired state is saved first. The run continues while dependents are being ended
//! (`Leaving`), then it is ended. The unit stays stopped, also across restarts of the supervisor and the machine. A start
//! while it is leaving keeps its run; a start during the stop takes effect when the run has ended.
//!
//! The unit is removed from its file. The same happens, and the unit is deleted when its run has ended.
//!
//! The unit is a member of a pool. Before the launch it waits there for a slot (`Queued`). It holds the slot until its
//! run has ended and no restart follows within 10 s; a unit that restarts sooner keeps its slot. If a dependency is no
//! longer ready, it leaves the queue.
//!
//! The unit has a schedule. It is launched at each scheduled time. If the last run is still alive then, the launch
//! is skipped, replaces the run, or follows when the run has ended (`schedule`).
//!
//! The unit is idle, and its declaration says that it sleeps then (`sleep`). The new state is saved first, then the run
//! is ended. Mail, a nudge, an attach or a start wakes it. No failure is counted, and the unit is still wanted.
//!
//! The supervisor lacks file descriptors, processes or memory to start it. The unit waits (`Backoff`) and is tried
//! again after 1 s, then 2, 4 and so on. No failure is counted, whatever the restart policy is.
//!
//! Processes of its run survive the end. The unit is over until a person starts it: two copies must never run.
//!
//! The declaration changes. The run is ended and launched again as now declared. No failure is counted.
//!
//! The supervisor dies (`take_up`). The desired state, the counters and the final state are in the record; live runs
//! are adopted.
//!
//! The daemon stops. Every unit is stopped through `Leaving`, in the order of the dependencies, and keeps its desired state.

use super::event::Event::{self, *};
use super::phase::Phase::*;
use super::phase::{Delay, Ending, Then};
use super::state::Unit;
use crate::action::Step;
use crate::time::Now;
use ostler_model::Desired;

/// Whether the unit is still there after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Existence {
    Stays,
    /// It is no longer declared, and has no run.
    Removed,
}

impl Unit {
    pub(super) fn step(&mut self, event: Event<'_>, now: Now, out: &mut Step) -> Existence {
        // An event about a run that is not the unit's own is ignored.
        if event.run().is_some_and(|run| self.run().is_some_and(|own| own != run)) {
            return Existence::Stays;
        }
        match (self.phase, event) {
            // Requests, which are saved already.
            (Stopped | Backoff(_) | Over | Broken | Scheduled | Suspended, Start | Restart(_)) => {
                self.enter(Waiting, now)
            }
            (Unready(run) | Ready(run) | Leaving(Ending { run, .. }), Restart(by)) => {
                self.restart(run, by, now, out);
            }
            // The run was about to be ended, but no signal has been sent yet.
            (Leaving(Ending { run, .. }), Start) => self.take_up(run, now, out),
            (Stopping(Ending { run, .. }), Start | Restart(_)) => {
                self.stop_for(run, Then::StartAgain, now);
            }
            (Unready(run) | Ready(run), Stop | DaemonStopping) => {
                self.leave(run, Then::StayStopped, now);
            }
            (Stopping(Ending { run, then }), Stop) if then != Then::Remove => {
                self.stop_for(run, Then::StayStopped, now);
            }
            (
                Stopped | Waiting | Queued | Backoff(_) | Over | Broken | Scheduled | Suspended,
                Stop,
            ) => self.enter(Stopped, now),
            // The spawn is in progress: the run is ended as soon as there is a process.
            (Launching | Reconciling, Stop) => {}
            (Reconciling | Waiting | Queued | Launching, Start | Restart(_)) => {}
            (Unready(_) | Ready(_), Start) | (Leaving(_) | Stopping(_), Stop) => {}
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Leaving(_) | Stopping(_)
                | Backoff(_) | Over | Broken | Scheduled | Suspended,
                DaemonStopping,
            ) => {}

            // Declarations.
            (Stopped, Wanted) => self.resume(now),
            (Stopped, Changed(change)) if change.starts => self.begin(now),
            (Queued, Changed(change)) if change.is_moved => self.enter(Waiting, now),
            (Suspended, Changed(_)) if self.record.spec.idle.is_none() => {
                self.wake_for_change(now);
            }
            (Unready(run) | Ready(run), Changed(change)) if change.must_restart => {
                self.replace_run(run, change.by, now, out);
            }
            (Ready(_), Changed(_)) => self.plan_idle(now),
            (Leaving(Ending { run, .. }), Changed(change)) if change.is_revived => {
                self.revive(run, change, now, out);
            }
            (Stopping(Ending { run, .. }), Changed(change)) if change.is_revived => {
                self.stop_for(run, Then::StartAgain, now);
            }
            (Broken | Over | Backoff(_), Changed(change))
                if change.is_changed && self.record.desired == Desired::Running =>
            {
                self.begin(now);
            }
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Unready(_) | Leaving(_)
                | Stopping(_) | Backoff(_) | Over | Broken | Scheduled | Suspended,
                Changed(_),
            ) => {}
            (
                Reconciling | Waiting | Queued | Launching | Unready(_) | Ready(_) | Leaving(_)
                | Stopping(_) | Backoff(_) | Over | Broken | Scheduled | Suspended,
                Wanted,
            ) => {}
            (Unready(run) | Ready(run) | Leaving(Ending { run, .. }), Removed) => {
                self.leave(run, Then::Remove, now);
            }
            (Stopping(Ending { run, .. }), Removed) => self.stop_for(run, Then::Remove, now),
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Backoff(_) | Over | Broken
                | Scheduled | Suspended,
                Removed,
            ) => return Existence::Removed,

            // A new supervisor, and a daemon that is started.
            (Reconciling, Adopted(record)) => self.adopted(record, now, out),
            (Reconciling, Reconciled(begins)) => self.reconciled(begins, now, out),
            (Stopped | Reconciling, DaemonStarted) => self.daemon_started(now, out),
            (
                Waiting | Queued | Launching | Unready(_) | Ready(_) | Leaving(_) | Stopping(_)
                | Backoff(_) | Over | Broken | Scheduled | Suspended,
                Adopted(_) | Reconciled(_) | DaemonStarted,
            )
            | (Stopped, Adopted(_) | Reconciled(_)) => {}

            // Its turn to start or to end.
            (Waiting, DependenciesReady) => self.queue_or_launch(now, out),
            (Queued, SlotFree) => self.launch_queued(now, out),
            (Waiting | Queued, DependencyLost) => self.leave_queue(now),
            (Leaving(ending), DependentsEnded(by)) => {
                self.end(ending, by, "unit stopped", now, out);
            }
            (Waiting, SlotFree | DependentsEnded(_)) => {}
            (Queued, DependenciesReady | DependentsEnded(_)) => {}
            (
                Stopped | Reconciling | Launching | Unready(_) | Ready(_) | Stopping(_)
                | Backoff(_) | Over | Broken | Scheduled | Suspended,
                DependenciesReady | DependencyLost | SlotFree | DependentsEnded(_),
            )
            | (Leaving(_), DependenciesReady | DependencyLost | SlotFree) => {}

            // The launch.
            (Launching | Reconciling | Waiting, Launched(run)) => self.launched(run, now, out),
            (
                Stopped | Queued | Unready(_) | Ready(_) | Leaving(_) | Stopping(_) | Backoff(_)
                | Over | Broken | Scheduled | Suspended,
                Launched(run),
            ) => self.end_if_unwanted(run, now, out),
            (Launching, LaunchRefused) | (Launching | Unready(_) | Ready(_), IntentLost(_)) => {
                self.retry_launch(now);
            }
            (Unready(run), Spawned(_)) => self.spawned(run, now, out),
            (
                Stopped | Reconciling | Waiting | Queued | Backoff(_) | Over | Broken | Scheduled
                | Suspended,
                LaunchRefused | IntentLost(_),
            )
            | (Unready(_) | Ready(_) | Leaving(_) | Stopping(_), LaunchRefused) => {}
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Ready(_) | Leaving(_)
                | Stopping(_) | Backoff(_) | Over | Broken | Scheduled | Suspended,
                Spawned(_),
            ) => self.shortage = None,

            // Checks of a live run.
            (Unready(run), CheckPassed(_)) => self.ready(run, now, out),
            (Unready(run) | Ready(run), NotReady(_, why)) => self.not_ready(run, why, now, out),
            (Unready(run) | Ready(run), Unhealthy(_, why)) => self.unhealthy(run, why, now, out),
            (Ready(_), Degraded(_, why)) => self.degrade(why, now, out),
            (Ready(_), Recovered(_)) => self.recover(now, out),
            (Ready(run), IdleChecked(_, idle)) => self.idle_checked(run, idle, now, out),
            (Unready(_) | Ready(_) | Leaving(_) | Stopping(_), Noted(run, what, why, evidence)) => {
                self.noted(run, (what, why, evidence), now, out)
            }
            (Ready(_), CheckPassed(_))
            | (Unready(_), Degraded(..) | Recovered(_) | IdleChecked(..)) => {}
            (
                Leaving(_) | Stopping(_),
                CheckPassed(_) | NotReady(..) | Unhealthy(..) | Degraded(..) | Recovered(_)
                | IdleChecked(..),
            ) => {}
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Backoff(_) | Over | Broken
                | Scheduled | Suspended,
                CheckPassed(_) | NotReady(..) | Unhealthy(..) | Degraded(..) | Recovered(_)
                | IdleChecked(..) | Noted(..),
            ) => {}

            // The end of a run.
            (
                Leaving(ending) | Stopping(ending),
                Ended(record) | Refused(record) | IntentLost(record),
            ) => return self.ended_as_planned(ending, record, now, out),
            (Leaving(ending) | Stopping(ending), Survived(_)) if ending.then == Then::Remove => {
                return Existence::Removed;
            }
            // The previous supervisor was suspending it: whatever the end was, the unit is suspended.
            (Reconciling, Ended(_) | Refused(_) | Survived(_))
                if self.record.suspended.is_some() =>
            {
                self.start_again_or_stay_stopped(now);
            }
            (Reconciling, Ended(record)) => self.ended_before(record, now, out),
            (
                Stopped | Waiting | Queued | Launching | Unready(_) | Ready(_) | Backoff(_) | Over
                | Broken | Scheduled | Suspended,
                Ended(record),
            ) => self.ended(record, now, out),
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Unready(_) | Ready(_)
                | Backoff(_) | Over | Broken | Scheduled | Suspended,
                Refused(record),
            ) => self.refused(record, now, out),
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Unready(_) | Ready(_)
                | Leaving(_) | Stopping(_) | Backoff(_) | Over | Broken | Scheduled | Suspended,
                Survived(record),
            ) => self.survived(record, now, out),
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Unready(_) | Ready(_)
                | Leaving(_) | Stopping(_) | Backoff(_) | Over | Broken | Scheduled | Suspended,
                EndedWithDaemon,
            ) => self.ended_with_daemon(now),

            // Time, and work.
            (Backoff(Delay { until_mono_ms, .. }), Due) if now.mono_ms >= until_mono_ms => {
                self.enter(Waiting, now);
            }
            (Ready(run), Due) => {
                self.report_recovery(now, out);
                self.look_idle(run, now, out);
            }
            (Scheduled, ScheduleDue) => self.enter(Waiting, now),
            (Unready(run) | Ready(run), ScheduleDue) => self.overlap(run, now, out),
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Leaving(_) | Stopping(_)
                | Backoff(_) | Over | Broken | Suspended,
                ScheduleDue,
            ) => self.skip_time(now, out),
            (Suspended, Wake(by, why)) => self.wake(by, why, now, out),
            (Stopping(Ending { run, then: Then::Sleep }), Wake(by, why)) => {
                self.wake_early(run, by, why, now, out);
            }
            (Stopping(_), Wake(..)) => {}
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Unready(_) | Leaving(_)
                | Stopping(_) | Backoff(_) | Over | Broken | Scheduled | Suspended,
                Due,
            ) => {}
            (
                Stopped | Reconciling | Waiting | Queued | Launching | Unready(_) | Ready(_)
                | Leaving(_) | Backoff(_) | Over | Broken | Scheduled,
                Wake(..),
            ) => {}
        }
        Existence::Stays
    }
}
