//! The life of one unit: what is declared, and what is done so that it is so.
//!
//! ```text
//!             start                 all it needs are ready          it runs            ready
//!   Stopped ─────────► Waiting ────────────┬─────────────► Launching ─────► Unready ─────────► Ready
//!      ▲                  ▲                ▼ of a pool         ▲│               │ not in time     │
//!      │                  │              Queued ───────────────┘│               │                 │
//!      │                  │                      a place is free│               │                 │
//!      │                  │ the wait is over                   │ ended          │ ended           │ ended, or
//!      │                  │                                    ▼                ▼                 ▼ unhealthy
//!      │               Backoff ◄─────── again ──────────────── judged by its restart policy
//!      │                                                          │ no more            │ too often
//!      │ ended                                                    ▼                    ▼
//!   Stopping ◄──── stop, restart, or a changed declaration       Over                Broken
//! ```
//!
//! The happy path. It is wanted, those it depends on are ready, it is launched, becomes ready, and stays so.
//!
//! It ends by itself. The restart policy decides: again after a wait, over (it said so itself), or broken (too
//! often). The tally is saved before anything follows from it.
//!
//! It is not ready in time, or no longer healthy. It is ended, and that counts as an end of its own.
//!
//! Somebody stops it. What is wanted is saved first, then it is ended; it stays stopped whatever happens
//! meanwhile, and so it does across restarts of everything. A start during that takes effect when it is gone.
//!
//! It is a member of a pool. Before it is launched it waits for a place there (`Queued`). It has the place until it
//! has ended and is not started again soon; one that is, keeps its place.
//!
//! It is idle, and declared to sleep then. It is ended (`Stopping`, then `Suspended`); that it sleeps is saved first. It
//! is woken by mail, a nudge, somebody who attaches, or a start. No end is counted, and it is still wanted.
//!
//! There is no room to start it: no descriptor, no process, no memory for us. It waits (`Backoff`) and is tried again,
//! 1 s later, then 2, 4 and so on. That is no end of its own: nothing is counted, whatever its policy is.
//!
//! Its declaration changes. It is ended and launched as it is declared now; nothing is counted.
//!
//! The supervisor dies. What is wanted, the tally and what is over are in the record; what runs is adopted.

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

/// How many ends are remembered.
const ENDS_MOST: usize = 10;
/// A member of a pool keeps its place while it waits this long to be started again,
const KEEPS_PLACE_MS: u64 = 10_000;
/// and after so many failures in a row. Then it queues behind those that wait, so that a crash loop keeps nobody out.
const KEEPS_PLACE_TIMES: u32 = 3;

/// The longest wait for room to start it.
const ROOM_WAIT_MOST_MS: u64 = 30_000;

/// A unit as somebody wants it, with the digests of what is declared.
#[derive(Clone, Debug)]
pub struct Declared {
    pub spec: UnitSpec,
    /// Of what a running copy was started with: if it differs, it must be started anew.
    pub run_digest: String,
    /// Of everything.
    pub digest: String,
}

/// What somebody asks of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Start,
    Stop,
    Restart,
}

/// What happens to a unit.
#[derive(Clone, Debug)]
pub enum UnitEvent {
    /// It is ready, as its check says.
    Ready { run: RunId },
    /// It was not ready in time.
    NotReady { run: RunId, why: String },
    /// Its health check failed too often.
    Unhealthy { run: RunId, why: String },
    /// It is silent for longer than it should be.
    Ailing { run: RunId, why: String },
    /// It is heard again.
    Well { run: RunId },
    /// Something to be told of it, that changes nothing.
    Noted { run: RunId, what: What, why: String, evidence: Value },
    /// Its time has come, by its schedule.
    ScheduleDue,
    /// How long its agent has had nothing to do, as `LookIdle` asked for.
    Idle { run: RunId, idle: Idle },
    /// There is something for it: if it sleeps, it is brought back.
    Wake { by: Actor, why: String },
}

/// Whether an agent has nothing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Since this moment on the monotonic clock.
    Since { mono_ms: u64 },
    /// Something keeps it awake.
    No,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Stopped,
    /// Records are being compared with the kernel.
    Reconciling,
    Waiting,
    /// For a place in its pool.
    Queued,
    Launching,
    Unready {
        run: RunId,
    },
    Ready {
        run: RunId,
    },
    /// It is to be ended, when those that depend on it are gone.
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
    /// It is judged as if it had ended by itself, for this cause.
    Judge(Cause),
    /// Nobody declares it any more.
    Vanish,
}

#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) record: UnitRecord,
    pub(crate) phase: Phase,
    pub(crate) since_ms: u64,
    /// Its time came while the last run was still there.
    pub(crate) is_queued: bool,
    /// If it stays ready until then, its trouble is over.
    pub(crate) well_at_mono_ms: Option<u64>,
    /// Why it is not well, though it runs.
    pub(crate) ailing: Option<String>,
    /// What its check said, for which it is being ended.
    pub(crate) find_owner: Option<String>,
    /// It is started again soon, and its place in the pool is nobody else's meanwhile.
    pub(crate) keeps_place: bool,
    /// The journal knows that it waits for a place.
    pub(crate) is_queue_reported: bool,
    /// When it is looked whether it is idle.
    pub(crate) look_idle_mono_ms: Option<u64>,
    /// When it was started lately.
    pub(crate) pace: Pace,
    /// What we lack to start it, and how often in a row it was tried.
    pub(crate) shortage: Option<Shortage>,
}

/// A shortage of the supervisor's own, for which a unit waits.
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
            find_owner: None,
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

    /// What its new phase means for its place in the pool.
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
            // It has left the line, and will stand at its end the next time.
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

    /// Whether its place in the pool is taken by it. One that waits for others to be ready keeps none.
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

    /// The run that is its own now.
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

    /// Whether those that depend on it may be launched: it is ready, or it has done its work.
    pub(crate) fn is_there(&self) -> bool {
        match &self.phase {
            // One that sleeps comes back when it is needed.
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

    /// Something begins to go wrong: told once, until it is well again.
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
            let why = "it has been ready long enough";
            out.write(self.note(Actor::Supervisor, What::UnitRecovered, why, json!({}), now));
            out.effect(Effect::CallHook {
                unit: self.name().to_owned(),
                condition: Condition::Recovery,
                why: why.to_owned(),
            });
        }
    }

    /// It is wanted: as soon as those it depends on are there.
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
        // Somebody has looked: what was wrong is known.
        self.record.trouble = None;
        if desired == Desired::Running {
            // Somebody has looked.
            clear(&mut self.record.tally);
            self.record.over = None;
        }
        out.write(self.save(now));
        out.write(self.note(by.clone(), what, "somebody asked for it", json!({}), now));
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
            // It was to be ended and is not yet: nothing has happened to it.
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
                self.end(run, Then::Again, by, "it is restarted", now, out);
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
            // The spawn is on its way: it is ended as soon as there is something to end.
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

    /// Its time has come, by its schedule.
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
                let why = "its next time has come";
                self.end(run, Then::Again, &Actor::Supervisor, why, now, out);
            }
            (_, Overlap::Queue) => self.is_queued = true,
            (_, Overlap::Skip | Overlap::Replace) => {
                let why = "its last run is still there";
                out.write(self.note(Actor::Supervisor, What::UnitSkipped, why, json!({}), now));
            }
        }
    }

    /// Its run is there, or is being spawned.
    pub(crate) fn launched(&mut self, run: RunId, now: Now, out: &mut Step) {
        match (self.record.desired, self.phase.clone()) {
            (Desired::Running, Phase::Launching | Phase::Reconciling | Phase::Waiting) => {
                self.enter(Phase::Unready { run }, now);
            }
            // Stopped meanwhile.
            (Desired::Stopped, _) => {
                self.end(run, Then::Stay, &Actor::Supervisor, "its unit is stopped", now, out);
            }
            (Desired::Running, _) => {}
        }
    }

    /// Its run executes: from now on its checks count.
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

    /// Whether a container lives is asked from its start: one that never gets ready may be stuck.
    fn watch_container(&self, run: RunId, out: &mut Step) {
        if self.record.spec.container.is_some() && self.record.spec.health.is_some() {
            out.effect(Effect::CheckHealth { unit: self.name().to_owned(), run });
        }
    }

    /// A wait that our predecessor began goes on; whoever has none begins.
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

    /// Taken up from a supervisor before us. What can be asked again is asked again.
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
            None => "it runs",
            Some(Check::App) => "it called app.ready",
            Some(Check::Notify) => "it said READY=1",
            Some(Check::Delay(_)) => "its time to begin is over",
            Some(Check::Line(_)) => "it wrote the line",
            Some(Check::Http(_) | Check::HttpHealthy(_) | Check::Tcp(_) | Check::Exec(_)) => {
                "as its check says"
            }
        };
        out.write(self.note(Actor::Supervisor, What::UnitReady, why, json!({}), now));
        let UnitSpec { health, heartbeat, container, .. } = &self.record.spec;
        if (health.is_some() && container.is_none()) || heartbeat.is_some() {
            out.effect(Effect::CheckHealth { unit: self.name().to_owned(), run });
        }
    }

    /// It is there and silent, or heard again. Nothing follows yet.
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
            None => (What::UnitRecovered, "it is heard again"),
        };
        out.write(self.note(Actor::Supervisor, what, description, json!({}), now));
        self.ailing = why;
    }

    /// A check has failed: it is ended, and that is judged.
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
            self.find_owner = Some(why.to_owned());
            let then = Then::Judge(cause);
            let why = "its check failed";
            self.end(run, then, &Actor::Supervisor, why, now, out);
        }
    }

    /// Its run is over. Returns whether the unit is to vanish.
    pub(crate) fn ended(&mut self, record: &RunRecord, now: Now, out: &mut Step) -> bool {
        // Our predecessor was putting it to sleep: however it ended since, it sleeps.
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
            // Also where nobody saw its end: the kernel has counted it.
            (
                _,
                Some(
                    Termination::Exit
                    | Termination::Signal
                    | Termination::OwnershipEscape
                    | Termination::ReconciledStale,
                ),
            ) if record.out_of_memory => Cause::OutOfMemory,
            // Nobody saw its end, or it was being ended for us, which is no fault of its own.
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

    /// Something of its run could not be ended: there are never two copies, so nothing follows until somebody starts it.
    fn lives_on(&mut self, run: &RunRecord, now: Now, out: &mut Step) {
        let description = run.error.clone().unwrap_or_else(|| "not ended".to_owned());
        let ran_ms = run.started_at_ms.map_or(0, |started| now.wall_ms.saturating_sub(started));
        let then = "not started while that lives".to_owned();
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

    /// What we lack is no fault of the unit's: it is tried again, whatever its policy says, and nothing is counted.
    fn wait_for_room(&mut self, run: &RunRecord, now: Now, out: &mut Step) {
        if self.record.desired == Desired::Stopped {
            self.enter(Phase::Stopped, now);
            return;
        }
        let tries = self.shortage.take().map_or(0, |shortage| shortage.tries);
        let wait_ms = (1_000 << tries.min(8)).min(ROOM_WAIT_MOST_MS);
        let description =
            run.error.clone().unwrap_or_else(|| "there is no room to start it".to_owned());
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

    /// What follows from its last end.
    fn followed(&mut self, then: String) {
        if let Some(end) = self.record.ends.first_mut() {
            end.then = then;
        }
    }

    fn judge(&mut self, run: &RunRecord, death: Death, now: Now, out: &mut Step) {
        let ran_ms = run
            .started_at_ms
            .map_or(0, |started| run.ended_at_ms.unwrap_or(now.wall_ms).saturating_sub(started));
        let find_owner = self.find_owner.take();
        let find_owner = match death.cause {
            Cause::NotReady | Cause::Unhealthy => find_owner,
            Cause::NotSpawned => run.error.clone(),
            Cause::Itself => run.cancel_reason.as_ref().map(|said| format!("cancelled: {said}")),
            Cause::TimedOut | Cause::OutOfMemory => None,
        };
        let find_owner = find_owner.map(|find_owner| format!(": {find_owner}")).unwrap_or_default();
        let description = format!("{}{find_owner}", death.description());
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
                Desired::Running => "waits for its time",
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
            why.push_str(&find_owner);
            opened.why.clone_from(why);
        }
        match &verdict {
            Verdict::Broken { why } => self.trouble(Condition::Breaker, why, out),
            // It did its work, or was asked to end: no crash, also where the policy starts it again.
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
            Verdict::Restart { wait_ms: 0 } => format!("started again at once{always}"),
            Verdict::Restart { wait_ms } => format!("started again after {wait_ms} ms{always}"),
            Verdict::Over { .. } => "not started again".to_owned(),
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

/// Whether it ended otherwise than it was meant to.
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
