//! The state machine of one unit: what is declared, and what the supervisor does to make it so.
//!
//! ```text
//!             start               its dependencies are ready     the run starts      ready
//!   Stopped ─────────► Waiting ────────────┬─────────────► Launching ─────► Unready ─────────► Ready
//!      ▲                  ▲                ▼ pool member       ▲│               │ not in time     │
//!      │                  │              Queued ───────────────┘│               │                 │
//!      │                  │                      a slot is free │               │                 │
//!      │                  │ the delay is over                   │ ended         │ ended           │ ended, or
//!      │                  │                                     ▼               ▼                 ▼ unhealthy
//!      │               Backoff ◄─────── restart ───────────────── judged by its restart policy
//!      │                                                           │ no restart         │ too many failures
//!      │ ended                                                     ▼                    ▼
//!   Stopping ◄──── stop, restart, or a changed declaration        Over                Broken
//! ```
//!
//! The happy path. The unit is wanted and its dependencies are ready: it is launched, becomes ready, and stays so.
//!
//! The run ends by itself. The restart policy decides: restart after a delay, no restart, or open breaker. The counters
//! are saved before any action follows.
//!
//! The unit is not ready in time, or becomes unhealthy. Its run is ended, and that counts as a failure.
//!
//! A person stops the unit. The desired state is saved first, then the run is ended. The unit stays stopped, also
//! across restarts of the supervisor and the machine. A start during the stop takes effect when the run has ended.
//!
//! The unit is a member of a pool. Before the launch it waits there for a slot (`Queued`). It holds the slot until its
//! run has ended and no restart follows soon; a unit that restarts soon keeps its slot.
//!
//! The unit is idle, and its declaration says that it sleeps then. The new state is saved first, then the run is ended
//! (`Stopping`, then `Suspended`). Mail, a nudge, an attach or a start wakes it. No failure is counted, and the unit is
//! still wanted.
//!
//! The supervisor lacks file descriptors, processes or memory to start it. The unit waits (`Backoff`) and is tried
//! again after 1 s, then 2, 4 and so on. No failure is counted, whatever the restart policy is.
//!
//! The declaration changes. The run is ended and launched again as now declared. No failure is counted.
//!
//! The supervisor dies. The desired state, the counters and the final state are in the record; live runs are adopted.

use super::pace::Pace;
use super::view::ALWAYS_AGAIN;
use crate::ExitStatus;
use crate::action::{Effect, EndRun, Step, Write};
use crate::restart::{Cause, Death, ExitClass, Verdict, Wishes, after_with, clear, rule};
use crate::time::Now;
use ostler_model::{
    Actor, Check, Condition, Desired, Entry, Extinct, Over, Overlap, RestartPolicy, RunId,
    RunRecord, SpawnErrorKind, Termination, UnitEnd, UnitRecord, UnitSpec, What,
};
use serde_json::{Map, Value, json};

/// The number of ends kept in the record.
const ENDS_MOST: usize = 10;
/// A pool member keeps its slot during a restart delay up to this long,
const KEEPS_PLACE_MS: u64 = 10_000;
/// and for up to this many failures in a row. After that it queues behind the others, so that a crash loop does not
/// block the pool.
const KEEPS_PLACE_TIMES: u32 = 3;

/// The longest delay while the supervisor lacks resources for a start.
const ROOM_WAIT_MOST_MS: u64 = 30_000;

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

/// Events of one unit.
#[derive(Clone, Debug)]
pub enum UnitEvent {
    /// Its readiness check passed.
    Ready { run: RunId },
    /// It was not ready in time.
    NotReady { run: RunId, why: String },
    /// Its health check failed too often.
    Unhealthy { run: RunId, why: String },
    /// Its heartbeats are late.
    Ailing { run: RunId, why: String },
    /// Its heartbeats are back.
    Well { run: RunId },
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Stopped,
    /// The records are being compared with the kernel.
    Reconciling,
    Waiting,
    /// Waits for a slot in its pool.
    Queued,
    Launching,
    Unready {
        run: RunId,
    },
    Ready {
        run: RunId,
    },
    /// To be ended once its dependents have ended.
    Leaving {
        run: RunId,
        then: Then,
    },
    Stopping {
        run: RunId,
        then: Then,
    },
    Backoff {
        until_mono_ms: u64,
        wait_ms: u64,
    },
    Over,
    Broken,
    Scheduled,
    Suspended,
}

/// What follows when a run that is being ended has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Stay,
    Again,
    Sleep,
    /// Judged as if the run had ended by itself, for this cause.
    Judge(Cause),
    /// The unit is no longer declared: remove it.
    Vanish,
}

#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) record: UnitRecord,
    pub(crate) phase: Phase,
    pub(crate) since_ms: u64,
    /// A scheduled time came while the last run was still live.
    pub(crate) is_queued: bool,
    /// If it stays ready until then, it counts as recovered.
    pub(crate) well_at_mono_ms: Option<u64>,
    /// Why it is unhealthy while it still runs.
    pub(crate) ailing: Option<String>,
    /// The message of the failed check for which it is being ended.
    pub(crate) check_message: Option<String>,
    /// It restarts soon, and its slot in the pool stays reserved.
    pub(crate) keeps_place: bool,
    /// The journal already says that it waits for a slot.
    pub(crate) is_queue_reported: bool,
    /// When to check whether it is idle.
    pub(crate) look_idle_mono_ms: Option<u64>,
    /// Its recent starts.
    pub(crate) pace: Pace,
    /// The missing resource, and the number of attempts in a row.
    pub(crate) shortage: Option<Shortage>,
}

/// A lack of the supervisor's own resources, for which a unit waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) description: String,
    tries: u32,
}

impl Unit {
    pub(crate) fn new(record: UnitRecord, phase: Phase, now: Now) -> Self {
        Self {
            record,
            phase,
            since_ms: now.wall_ms,
            is_queued: false,
            well_at_mono_ms: None,
            ailing: None,
            check_message: None,
            keeps_place: false,
            is_queue_reported: false,
            look_idle_mono_ms: None,
            pace: Pace::default(),
            shortage: None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.record.spec.name
    }

    pub(crate) fn enter(&mut self, phase: Phase, now: Now) {
        if self.phase != phase {
            let heals = matches!(phase, Phase::Ready { .. }) && self.record.trouble.is_some();
            let reset_ms = self.record.spec.restart.backoff.reset_after_ms;
            self.well_at_mono_ms = heals.then(|| now.mono_ms.saturating_add(reset_ms));
            let idle = self.record.spec.idle.filter(|_| matches!(phase, Phase::Ready { .. }));
            self.look_idle_mono_ms = idle.map(|idle| now.mono_ms.saturating_add(idle.after_ms));
            self.phase = phase;
            self.ailing = None;
            self.since_ms = now.wall_ms;
            self.line_up();
        }
    }

    /// Updates its slot and ticket for the new phase.
    fn line_up(&mut self) {
        match self.phase {
            Phase::Waiting | Phase::Backoff { .. } if self.keeps_place => {}
            Phase::Waiting
            | Phase::Reconciling
            | Phase::Launching
            | Phase::Unready { .. }
            | Phase::Ready { .. }
            | Phase::Leaving { .. }
            | Phase::Stopping { .. } => self.keeps_place = false,
            Phase::Queued => {
                self.keeps_place = false;
                self.is_queue_reported = false;
            }
            // It left the queue, and goes to its end the next time.
            Phase::Backoff { .. }
            | Phase::Stopped
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => {
                self.keeps_place = false;
                self.record.ticket = None;
            }
        }
    }

    pub(crate) fn is_queued_for_place(&self) -> bool {
        self.phase == Phase::Queued
    }

    /// Whether it uses a slot in its pool. A unit that waits for its dependencies uses none.
    pub(crate) fn has_place(&self) -> bool {
        match self.phase {
            Phase::Launching
            | Phase::Unready { .. }
            | Phase::Ready { .. }
            | Phase::Leaving { .. }
            | Phase::Stopping { .. } => true,
            Phase::Waiting | Phase::Backoff { .. } => self.keeps_place,
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Queued
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => false,
        }
    }

    /// Its current run.
    pub(crate) fn run(&self) -> Option<RunId> {
        match &self.phase {
            Phase::Unready { run }
            | Phase::Ready { run }
            | Phase::Leaving { run, .. }
            | Phase::Stopping { run, .. } => Some(*run),
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Backoff { .. }
            | Phase::Over
            | Phase::Broken
            | Phase::Scheduled
            | Phase::Suspended => None,
        }
    }

    /// Whether its dependents may be launched: it is ready, or it completed its work.
    pub(crate) fn is_there(&self) -> bool {
        match &self.phase {
            // A suspended unit wakes when it is needed.
            Phase::Ready { .. } | Phase::Suspended => true,
            Phase::Over => self.record.over.as_ref().is_some_and(|over| over.is_clean),
            Phase::Stopped
            | Phase::Reconciling
            | Phase::Waiting
            | Phase::Queued
            | Phase::Launching
            | Phase::Unready { .. }
            | Phase::Leaving { .. }
            | Phase::Stopping { .. }
            | Phase::Backoff { .. }
            | Phase::Broken
            | Phase::Scheduled => false,
        }
    }

    pub(crate) fn save(&mut self, now: Now) -> Write {
        self.record.updated_at_ms = now.wall_ms;
        Write::SaveUnit(Box::new(self.record.clone()))
    }

    pub(crate) fn note(
        &self,
        who: Actor,
        what: What,
        why: &str,
        evidence: Value,
        now: Now,
    ) -> Write {
        let mut evidence = match evidence {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        evidence.insert("unit".to_owned(), json!(self.name()));
        Write::Note(Entry {
            seq: 0,
            at_ms: now.wall_ms,
            who,
            what,
            run_id: self.run(),
            why: why.to_owned(),
            evidence,
        })
    }

    /// Reports the begin of a failure condition: once, until the unit has recovered.
    fn trouble(&mut self, condition: Condition, why: &str, out: &mut Step) {
        let is_new = match (self.record.trouble, condition) {
            (None, _) | (Some(Condition::Crash), Condition::Breaker) => true,
            (Some(_), _) => false,
        };
        if is_new {
            self.record.trouble = Some(condition);
            let unit = self.name().to_owned();
            out.effect(Effect::CallHook { unit, condition, why: why.to_owned() });
        }
    }

    /// It has been ready for long enough.
    pub(crate) fn recover(&mut self, now: Now, out: &mut Step) {
        if self.well_at_mono_ms.is_some_and(|at| now.mono_ms >= at) {
            self.well_at_mono_ms = None;
            self.record.trouble = None;
            out.write(self.save(now));
            let why = "stayed ready long enough";
            out.write(self.note(Actor::Supervisor, What::UnitRecovered, why, json!({}), now));
            out.effect(Effect::CallHook {
                unit: self.name().to_owned(),
                condition: Condition::Recovery,
                why: why.to_owned(),
            });
        }
    }

    /// The unit is wanted: it starts as soon as its dependencies are ready.
    pub(crate) fn begin(&mut self, now: Now) {
        let phase = if self.record.suspended.is_some() {
            Phase::Suspended
        } else if self.record.spec.schedule.is_some() {
            Phase::Scheduled
        } else {
            Phase::Waiting
        };
        self.enter(phase, now);
        if let Some(suspended) = self.record.suspended.as_ref() {
            self.since_ms = suspended.since_ms;
        }
    }

    pub(crate) fn ask(&mut self, ask: Ask, by: &Actor, now: Now, out: &mut Step) {
        let (what, desired) = match ask {
            Ask::Start => (What::UnitStartAsked, Desired::Running),
            Ask::Stop => (What::UnitStopAsked, Desired::Stopped),
            Ask::Restart => (What::UnitRestartAsked, Desired::Running),
        };
        self.record.desired = desired;
        self.record.rests = false;
        self.record.suspended = None;
        self.shortage = None;
        // A person acted, so the failure condition is known.
        self.record.trouble = None;
        if desired == Desired::Running {
            // The same holds for its failures.
            clear(&mut self.record.tally);
            self.record.over = None;
        }
        out.write(self.save(now));
        out.write(self.note(by.clone(), what, "by a client", json!({}), now));
        match (ask, self.phase.clone()) {
            (
                Ask::Start,
                Phase::Stopped
                | Phase::Backoff { .. }
                | Phase::Over
                | Phase::Broken
                | Phase::Scheduled
                | Phase::Suspended,
            ) => self.enter(Phase::Waiting, now),
            (
                Ask::Start,
                Phase::Reconciling
                | Phase::Waiting
                | Phase::Queued
                | Phase::Launching
                | Phase::Unready { .. }
                | Phase::Ready { .. },
            ) => {}
            // It was to be ended, but nothing has been sent to it yet.
            (Ask::Start, Phase::Leaving { run, .. }) => {
                self.enter(Phase::Waiting, now);
                self.adopted(run, now, out);
            }
            (Ask::Start | Ask::Restart, Phase::Stopping { run, .. }) => {
                self.enter(Phase::Stopping { run, then: Then::Again }, now);
            }
            (
                Ask::Restart,
                Phase::Unready { run } | Phase::Ready { run } | Phase::Leaving { run, .. },
            ) => {
                self.end(run, Then::Again, by, "unit restart", now, out);
            }
            (
                Ask::Restart,
                Phase::Stopped
                | Phase::Backoff { .. }
                | Phase::Over
                | Phase::Broken
                | Phase::Scheduled
                | Phase::Suspended,
            ) => self.enter(Phase::Waiting, now),
            (
                Ask::Restart,
                Phase::Reconciling | Phase::Waiting | Phase::Queued | Phase::Launching,
            ) => {}
            (Ask::Stop, Phase::Unready { run } | Phase::Ready { run }) => {
                self.enter(Phase::Leaving { run, then: Then::Stay }, now);
            }
            (Ask::Stop, Phase::Leaving { .. }) => {}
            (Ask::Stop, Phase::Stopping { run, then }) => {
                let then = if then == Then::Vanish { Then::Vanish } else { Then::Stay };
                self.enter(Phase::Stopping { run, then }, now);
            }
            // The spawn is in progress: the run is ended as soon as there is a process.
            (Ask::Stop, Phase::Launching | Phase::Reconciling) => {}
            (
                Ask::Stop,
                Phase::Stopped
                | Phase::Waiting
                | Phase::Queued
                | Phase::Backoff { .. }
                | Phase::Over
                | Phase::Broken
                | Phase::Scheduled
                | Phase::Suspended,
            ) => self.enter(Phase::Stopped, now),
        }
    }

    pub(crate) fn end(
        &mut self,
        run: RunId,
        then: Then,
        by: &Actor,
        why: &'static str,
        now: Now,
        out: &mut Step,
    ) {
        self.enter(Phase::Stopping { run, then }, now);
        out.end_run(EndRun { run, by: by.clone(), why });
    }

    /// Its scheduled time has come.
    pub(crate) fn fire(&mut self, now: Now, out: &mut Step) {
        let Some(overlap) = self.record.spec.schedule.as_ref().map(|spec| spec.overlap) else {
            return;
        };
        if self.record.desired == Desired::Stopped || self.record.rests {
            return;
        }
        self.record.fired_at_ms = Some(now.wall_ms);
        out.write(self.save(now));
        match (self.phase.clone(), overlap) {
            (Phase::Scheduled, _) => self.enter(Phase::Waiting, now),
            (Phase::Unready { run } | Phase::Ready { run }, Overlap::Replace) => {
                let why = "its next scheduled time has come";
                self.end(run, Then::Again, &Actor::Supervisor, why, now, out);
            }
            (_, Overlap::Queue) => self.is_queued = true,
            (_, Overlap::Skip | Overlap::Replace) => {
                let why = "the previous run is still live";
                out.write(self.note(Actor::Supervisor, What::UnitSkipped, why, json!({}), now));
            }
        }
    }

    /// Its run exists, or is being spawned.
    pub(crate) fn launched(&mut self, run: RunId, now: Now, out: &mut Step) {
        match (self.record.desired, self.phase.clone()) {
            (Desired::Running, Phase::Launching | Phase::Reconciling | Phase::Waiting) => {
                self.enter(Phase::Unready { run }, now);
            }
            // Stopped in the meantime.
            (Desired::Stopped, _) => {
                self.end(run, Then::Stay, &Actor::Supervisor, "unit stopped", now, out);
            }
            (Desired::Running, _) => {}
        }
    }

    /// The program is executed: from now on its checks count.
    pub(crate) fn started(&mut self, run: RunId, now: Now, out: &mut Step) {
        self.shortage = None;
        if self.phase != (Phase::Unready { run }) {
            return;
        }
        match &self.record.spec.ready {
            None => self.ready(run, now, out),
            Some(_) => {
                out.effect(Effect::CheckReady { unit: self.name().to_owned(), run });
                self.watch_container(run, out);
            }
        }
    }

    /// A container is checked for liveness from its start, because one that never becomes ready may be stuck.
    fn watch_container(&self, run: RunId, out: &mut Step) {
        if self.record.spec.container.is_some() && self.record.spec.health.is_some() {
            out.effect(Effect::CheckHealth { unit: self.name().to_owned(), run });
        }
    }

    /// Continues a delay that the previous supervisor began; otherwise the unit begins at once.
    pub(crate) fn resume_wait(&mut self, now: Now) {
        let left = self.record.again_at_ms.and_then(|at| at.checked_sub(now.wall_ms));
        let most = self.record.spec.restart.backoff.max_ms;
        let sleeps = self.record.suspended.is_some();
        match left.filter(|left| !sleeps && (1..=most).contains(left)) {
            Some(left) => {
                let until_mono_ms = now.mono_ms.saturating_add(left);
                self.enter(Phase::Backoff { until_mono_ms, wait_ms: left }, now);
            }
            None => self.begin(now),
        }
    }

    /// Adopted from the previous supervisor. A check that can be repeated is repeated.
    pub(crate) fn adopted(&mut self, run: RunId, now: Now, out: &mut Step) {
        self.launched(run, now, out);
        if self.phase != (Phase::Unready { run }) {
            return;
        }
        let is_asked = self.record.spec.ready.as_ref().is_some_and(|ready| match ready.check {
            Check::Http(_) | Check::HttpHealthy(_) | Check::Tcp(_) | Check::Exec(_) => true,
            Check::Line(_) | Check::Notify | Check::App | Check::Delay(_) => false,
        });
        let was_ready = self.record.ready_run == Some(run) || self.record.spec.ready.is_none();
        self.watch_container(run, out);
        if is_asked || !was_ready {
            out.effect(Effect::CheckReady { unit: self.name().to_owned(), run });
        } else {
            self.ready(run, now, out);
        }
    }

    pub(crate) fn ready(&mut self, run: RunId, now: Now, out: &mut Step) {
        if self.phase != (Phase::Unready { run }) {
            return;
        }
        self.enter(Phase::Ready { run }, now);
        self.record.ready_run = Some(run);
        out.write(self.save(now));
        let why = match self.record.spec.ready.as_ref().map(|ready| &ready.check) {
            None => "running",
            Some(Check::App) => "app.ready called",
            Some(Check::Notify) => "READY=1 received",
            Some(Check::Delay(_)) => "start delay elapsed",
            Some(Check::Line(_)) => "expected line found in its output",
            Some(Check::Http(_) | Check::HttpHealthy(_) | Check::Tcp(_) | Check::Exec(_)) => {
                "check passed"
            }
        };
        out.write(self.note(Actor::Supervisor, What::UnitReady, why, json!({}), now));
        let UnitSpec { health, heartbeat, container, .. } = &self.record.spec;
        if (health.is_some() && container.is_none()) || heartbeat.is_some() {
            out.effect(Effect::CheckHealth { unit: self.name().to_owned(), run });
        }
    }

    /// Its heartbeats are late, or back. Only the journal and the view change.
    pub(crate) fn check_error(
        &mut self,
        run: RunId,
        why: Option<String>,
        now: Now,
        out: &mut Step,
    ) {
        if self.phase != (Phase::Ready { run }) || self.ailing.is_some() == why.is_some() {
            return;
        }
        let (what, description) = match &why {
            Some(why) => (What::UnitUnhealthy, why.as_str()),
            None => (What::UnitRecovered, "heartbeats are back"),
        };
        out.write(self.note(Actor::Supervisor, what, description, json!({}), now));
        self.ailing = why;
    }

    /// A check failed: the run is ended, and that end is judged.
    pub(crate) fn failed(&mut self, run: RunId, what: What, why: &str, now: Now, out: &mut Step) {
        let is_meant = match &self.phase {
            Phase::Unready { run: own } | Phase::Ready { run: own } => *own == run,
            _ => false,
        };
        if is_meant {
            out.write(self.note(Actor::Supervisor, what, why, json!({}), now));
            let cause = match what {
                What::UnitNotReady => Cause::NotReady,
                _ => Cause::Unhealthy,
            };
            self.check_message = Some(why.to_owned());
            let then = Then::Judge(cause);
            let why = "check failed";
            self.end(run, then, &Actor::Supervisor, why, now, out);
        }
    }

    /// Its run has ended. Returns whether to remove the unit.
    pub(crate) fn ended(&mut self, record: &RunRecord, now: Now, out: &mut Step) -> bool {
        // The previous supervisor was suspending it: whatever the end was, the unit is suspended.
        if self.phase == Phase::Reconciling && self.record.suspended.is_some() {
            self.again_or_rest(now);
            return false;
        }
        if record.extinct == Extinct::No && !self.is_to_vanish(record.run_id) {
            self.lives_on(record, now, out);
            return false;
        }
        let cause = match (&self.phase, record.termination) {
            (Phase::Stopping { run, then } | Phase::Leaving { run, then }, _)
                if *run == record.run_id =>
            {
                match then {
                    Then::Stay => {
                        self.enter(Phase::Stopped, now);
                        return false;
                    }
                    Then::Again => {
                        self.record.tally.restarts += 1;
                        out.write(self.save(now));
                        self.keeps_place = true;
                        self.enter(Phase::Waiting, now);
                        return false;
                    }
                    Then::Sleep => {
                        self.enter(Phase::Suspended, now);
                        return false;
                    }
                    Then::Vanish => return true,
                    Then::Judge(cause) => *cause,
                }
            }
            (_, Some(Termination::OverallTimeout | Termination::NoOutputTimeout)) => {
                Cause::TimedOut
            }
            (_, Some(Termination::SpawnError))
                if record.spawn_error_kind.is_some_and(SpawnErrorKind::is_shortage) =>
            {
                self.wait_for_room(record, now, out);
                return false;
            }
            (_, Some(Termination::SpawnError)) => Cause::NotSpawned,
            // Also if no supervisor ran at the end: the kernel counted the OOM kill.
            (
                _,
                Some(
                    Termination::Exit
                    | Termination::Signal
                    | Termination::OwnershipEscape
                    | Termination::ReconciledStale,
                ),
            ) if record.out_of_memory => Cause::OutOfMemory,
            // No supervisor saw the end, or ours was ending it: no failure of the unit.
            (_, Some(Termination::ReconciledStale | Termination::LeaseLost))
            | (Phase::Reconciling, Some(Termination::ManualCancel)) => {
                self.again_or_rest(now);
                return false;
            }
            (
                _,
                Some(
                    Termination::Exit
                    | Termination::Signal
                    | Termination::ManualCancel
                    | Termination::OwnershipEscape,
                )
                | None,
            ) => Cause::Itself,
        };
        let status = match (record.exit_code, record.exit_signal) {
            (Some(code), _) => ExitStatus::Code(code),
            (None, Some(signal)) => ExitStatus::Signal(signal),
            (None, None) => ExitStatus::Unknown,
        };
        self.judge(record, Death { status, cause }, now, out);
        false
    }

    fn is_to_vanish(&self, ended: RunId) -> bool {
        match &self.phase {
            Phase::Stopping { run, then } | Phase::Leaving { run, then } => {
                *run == ended && *then == Then::Vanish
            }
            _ => false,
        }
    }

    /// Processes of its run could not be ended. Two copies must never run, so the unit stays down until a person
    /// starts it.
    fn lives_on(&mut self, run: &RunRecord, now: Now, out: &mut Step) {
        let description = run.error.clone().unwrap_or_else(|| "not ended".to_owned());
        let ran_ms = run.started_at_ms.map_or(0, |started| now.wall_ms.saturating_sub(started));
        let then = "not restarted while those processes live".to_owned();
        let end = UnitEnd {
            run_id: run.run_id,
            at_ms: now.wall_ms,
            ran_ms,
            description: description.clone(),
            then,
        };
        self.record.ends.insert(0, end);
        self.record.ends.truncate(ENDS_MOST);
        self.trouble(Condition::Crash, &description, out);
        let boot_id = run.boot_id.clone();
        self.record.over =
            Some(Over { is_clean: false, description: description.clone(), boot_id });
        self.enter(Phase::Over, now);
        out.write(self.note(Actor::Supervisor, What::UnitOver, &description, json!({}), now));
        out.write(self.save(now));
    }

    /// A lack of our own resources is no failure of the unit: it is tried again, whatever its policy is, and not
    /// counted.
    fn wait_for_room(&mut self, run: &RunRecord, now: Now, out: &mut Step) {
        if self.record.desired == Desired::Stopped {
            self.enter(Phase::Stopped, now);
            return;
        }
        let tries = self.shortage.take().map_or(0, |shortage| shortage.tries);
        let wait_ms = (1_000 << tries.min(8)).min(ROOM_WAIT_MOST_MS);
        let description = run
            .error
            .clone()
            .unwrap_or_else(|| "not enough system resources to start it".to_owned());
        self.keeps_place = wait_ms <= KEEPS_PLACE_MS;
        self.record.again_at_ms = Some(now.wall_ms.saturating_add(wait_ms));
        let until_mono_ms = now.mono_ms.saturating_add(wait_ms);
        self.enter(Phase::Backoff { until_mono_ms, wait_ms }, now);
        let evidence = json!({ "waitMs": wait_ms, "counted": false });
        out.write(self.note(Actor::Supervisor, What::UnitAgain, &description, evidence, now));
        self.shortage = Some(Shortage { description, tries: tries.saturating_add(1) });
        out.write(self.save(now));
    }

    fn again_or_rest(&mut self, now: Now) {
        match self.record.desired {
            Desired::Running if std::mem::take(&mut self.is_queued) => {
                self.enter(Phase::Waiting, now);
            }
            Desired::Running => self.begin(now),
            Desired::Stopped => self.enter(Phase::Stopped, now),
        }
    }

    /// Records what follows from its last end.
    fn followed(&mut self, then: String) {
        if let Some(end) = self.record.ends.first_mut() {
            end.then = then;
        }
    }

    fn judge(&mut self, run: &RunRecord, death: Death, now: Now, out: &mut Step) {
        let ran_ms = run
            .started_at_ms
            .map_or(0, |started| run.ended_at_ms.unwrap_or(now.wall_ms).saturating_sub(started));
        let check_message = self.check_message.take();
        let check_message = match death.cause {
            Cause::NotReady | Cause::Unhealthy => check_message,
            Cause::NotSpawned => run.error.clone(),
            Cause::Itself => run.cancel_reason.as_ref().map(|said| format!("cancelled: {said}")),
            Cause::TimedOut | Cause::OutOfMemory => None,
        };
        let check_message =
            check_message.map(|check_message| format!(": {check_message}")).unwrap_or_default();
        let description = format!("{}{check_message}", death.description());
        self.record.ends.insert(
            0,
            UnitEnd {
                run_id: run.run_id,
                at_ms: now.wall_ms,
                ran_ms,
                description: description.clone(),
                then: String::new(),
            },
        );
        self.record.ends.truncate(ENDS_MOST);
        if self.record.desired == Desired::Stopped || self.record.spec.schedule.is_some() {
            let then = match self.record.desired {
                Desired::Stopped => "stays stopped",
                Desired::Running => "waits for its schedule",
            };
            self.followed(then.to_owned());
            self.again_or_rest(now);
            out.write(self.save(now));
            return;
        }
        let mut policy = self.record.spec.restart;
        if is_crash(&policy, death) {
            let unit = self.record.spec.name.clone();
            let (run, description) = (Box::new(run.clone()), description.clone());
            out.effect(Effect::Crashed { unit, run, ran_ms, description });
        }
        if death.cause == Cause::Unhealthy
            && let Some(backoff) = self.record.spec.liveness_backoff
        {
            policy.backoff = backoff;
        }
        let wishes = match self.record.spec.part {
            Some(_) => Wishes::Unlimited,
            None => Wishes::Limited,
        };
        let tally = &mut self.record.tally;
        let mut verdict = after_with(tally, &policy, wishes, death, ran_ms, now.wall_ms);
        let class = rule(&policy).class(death);
        if let (Verdict::Broken { why }, Some(opened)) =
            (&mut verdict, &mut self.record.tally.opened)
        {
            why.push_str(&check_message);
            opened.why.clone_from(why);
        }
        match &verdict {
            Verdict::Broken { why } => self.trouble(Condition::Breaker, why, out),
            // It completed its work or was asked to end: no crash, even if the policy restarts it.
            Verdict::Restart { .. } | Verdict::Over { .. }
                if matches!(class, ExitClass::Clean | ExitClass::Asked) => {}
            Verdict::Restart { wait_ms: 0 } if death.is_wish() => {}
            Verdict::Restart { .. } | Verdict::Over { .. } => {
                self.trouble(Condition::Crash, &description, out);
            }
        }
        let always = self.record.spec.part.map(|_| format!(" ({ALWAYS_AGAIN})"));
        let always = always.unwrap_or_default();
        self.followed(match &verdict {
            Verdict::Restart { wait_ms: 0 } => format!("restarted at once{always}"),
            Verdict::Restart { wait_ms } => format!("restarted after {wait_ms} ms{always}"),
            Verdict::Over { .. } => "not restarted".to_owned(),
            Verdict::Broken { why } => why.clone(),
        });
        self.keeps_place = match verdict {
            Verdict::Restart { wait_ms: 0 } if death.is_wish() => true,
            Verdict::Restart { wait_ms } => {
                let in_a_row = self.record.tally.steps.max(self.record.tally.wishes);
                wait_ms <= KEEPS_PLACE_MS && in_a_row <= KEEPS_PLACE_TIMES
            }
            Verdict::Over { .. } | Verdict::Broken { .. } => false,
        };
        match verdict {
            Verdict::Restart { wait_ms: 0 } => {
                if !self.keeps_place {
                    self.record.ticket = None;
                }
                self.enter(Phase::Waiting, now);
                let description = format!("{description}{always}");
                out.write(self.note(
                    Actor::Supervisor,
                    What::UnitAgain,
                    &description,
                    json!({}),
                    now,
                ));
            }
            Verdict::Restart { wait_ms } => {
                let until_mono_ms = now.mono_ms.saturating_add(wait_ms);
                self.record.again_at_ms = Some(now.wall_ms.saturating_add(wait_ms));
                self.enter(Phase::Backoff { until_mono_ms, wait_ms }, now);
                let evidence = json!({ "waitMs": wait_ms, "inARow": if death.is_wish() { self.record.tally.wishes } else { self.record.tally.steps } });
                let description = format!("{description}{always}");
                out.write(self.note(
                    Actor::Supervisor,
                    What::UnitAgain,
                    &description,
                    evidence,
                    now,
                ));
            }
            Verdict::Over { class } => {
                let is_clean = matches!(class, ExitClass::Clean | ExitClass::Asked);
                self.record.over = Some(Over {
                    is_clean,
                    description: description.clone(),
                    boot_id: run.boot_id.clone(),
                });
                self.enter(Phase::Over, now);
                let evidence = json!({ "class": class });
                out.write(self.note(
                    Actor::Supervisor,
                    What::UnitOver,
                    &description,
                    evidence,
                    now,
                ));
            }
            Verdict::Broken { why } => {
                self.enter(Phase::Broken, now);
                out.write(self.note(Actor::Supervisor, What::BreakerOpened, &why, json!({}), now));
            }
        }
        out.write(self.save(now));
    }
}

/// Whether the end was a failure.
fn is_crash(policy: &RestartPolicy, death: Death) -> bool {
    match rule(policy).class(death) {
        ExitClass::Clean | ExitClass::Asked | ExitClass::Temporary => false,
        ExitClass::Config
        | ExitClass::Fatal
        | ExitClass::Signal
        | ExitClass::OutOfMemory
        | ExitClass::Unhealthy
        | ExitClass::TimedOut
        | ExitClass::NotSpawned
        | ExitClass::Failure => true,
    }
}
