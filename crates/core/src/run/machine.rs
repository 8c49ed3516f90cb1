//! The state machine of one run.
//!
//! ```text
//!            SpawnRequested
//!                │
//!                ├──► WaitingForScope (an older run of its scope is still live) ──┐
//!                ├──► WaitingForSlot (its pool has no free slot) ─────────────────┤
//!                │ ◄──────────────────────────────────────────────────────────────┘
//!                ▼
//!            Starting ──SpawnFailed──────────────────────────────► exited
//!                │ Spawned
//!                ▼
//!            Running ──RootExited──► Settling ──tree empty, output ended──► exited
//!                │                      │ 250 ms without output
//!   Cancel, timeout                     ▼ something of the tree is left
//!                └────────────────► Ending ──tree empty──► Draining ──output ended──► exited
//!                                   TERM, grace, KILL          │ 250 ms without output
//!                                                              └─────────────────────► exited
//! ```
//!
//! The happy path. The intent is saved, the process is spawned, its identity is saved and the caller gets its answer.
//! The process exits, its tree is empty and its output has ended: saved, finished.
//!
//! A cancel or a deadline. The first reason is kept. TERM goes to the whole tree; after the grace, KILL goes to what
//! remains. The run is over when the root has exited *and* the tree is empty, or when the tree could not be emptied
//! within `GIVE_UP_MS`, which the record then says.
//!
//! The root exits and leaves processes behind. They may continue until 250 ms pass without output (a pipeline may
//! still be flushing), but no longer than the grace. Then they are ended like a cancelled tree, and the root's own
//! status stays the result of the run. Processes that left the root's group are an escape: the journal names them, and
//! in a strict run the escape is the reason.
//!
//! A process outside holds the output open. The tree is empty, so no process of the run can still write: after 250 ms
//! without output the output is closed.
//!
//! A kill. It follows a cancel and waives the grace: KILL is sent at the next turn, or as soon as there is something to
//! signal.
//!
//! A cancel during the spawn. It is remembered and carried out as soon as there is an identity to signal, never before.

use super::finish;
use super::timeout::exceeded;
use crate::action::{Effect, Step, Write};
use crate::event::{ExitStatus, Identity, MemorySeen, Survey};
use crate::time::Now;
use ostler_model::{
    Actor, Counter, Detach, Entry, Extinct, Limits, RunId, RunRecord, RunState, SpawnErrorKind,
    Termination, TimeoutKind, What,
};
use serde_json::{Map, Value, json};

/// After the root exits, output is read until this time passes without any (R11).
pub const DRAIN_IDLE_MS: u64 = 250;
/// How long the tree may take to vanish after KILL.
pub const GIVE_UP_MS: u64 = 5_000;

/// One run that is not exited.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) record: RunRecord,
    pub(crate) limits: Limits,
    pub(crate) detach: Detach,
    pub(crate) phase: Phase,
    /// The run's entry in the world's list of deadlines.
    pub(crate) listed_due: Option<u64>,
    /// False for an adopted run whose output was not held: its silence has no meaning.
    pub(crate) reads_output: bool,
    /// The program closed its output while it was running.
    pub(crate) output_over: bool,
    pub(crate) escape_reported: bool,
    /// The modes of KILL that the journal already contains.
    pub(crate) reported_kills: Vec<&'static str>,
    /// When one of its processes was last found killed for memory.
    pub(crate) memory_kill_mono_ms: Option<u64>,
    /// Holds a slot in its pool, if it is a member of one: it is executed, or about to be.
    pub(crate) has_slot: bool,
    /// The caller and the journal know that it waits for a slot.
    pub(crate) is_queue_reported: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// An older run of its scope is being ended.
    WaitingForScope,
    /// Waits for a slot in its pool.
    WaitingForSlot,
    Starting {
        cancel: Option<Termination>,
    },
    Running {
        overall_due: Option<u64>,
        silence_due: Option<u64>,
    },
    Settling(Settling),
    Ending(Ending),
    Draining {
        reason: Option<Termination>,
        status: ExitStatus,
        due: u64,
        extinct: Extinct,
    },
    Exited,
}

/// The root exited by itself; the remaining processes get a short time.
#[derive(Clone, Debug)]
pub(crate) struct Settling {
    pub(super) status: ExitStatus,
    pub(super) since: u64,
    pub(super) due: u64,
    pub(super) tree: Survey,
    pub(super) output: Output,
}

/// The tree is being ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    /// `None` if the root ended by itself: its own status is the reason then.
    pub(super) reason: Option<Termination>,
    pub(super) root: Root,
    pub(super) tree: Survey,
    pub(super) output: Output,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Open,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Alive,
    Exited(ExitStatus),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Grace { kill_due: u64 },
    Killed { give_up_due: u64 },
}

/// Events of one run.
#[derive(Clone, Debug)]
pub(crate) enum RunEvent {
    /// The older run of the scope is over, or there is a free slot in its pool.
    Unblocked,
    Spawned(Identity),
    SpawnFailed {
        kind: SpawnErrorKind,
        error: String,
    },
    Cancel {
        reason: Termination,
        by: Actor,
        why: &'static str,
        /// The caller's own reason.
        said: Option<String>,
    },
    /// No grace period from now on.
    KillRequested {
        by: Actor,
    },
    Due {
        last_output_mono_ms: Option<u64>,
        tree: Option<Survey>,
    },
    RootExited {
        status: ExitStatus,
        tree: Survey,
    },
    OutputEnded,
    Surveyed(Survey),
    Killed {
        mode: &'static str,
        processes: usize,
    },
}

impl RunEvent {
    /// Memory facts of a new survey.
    fn memory(&self) -> Option<MemorySeen> {
        match self {
            RunEvent::RootExited { tree, .. } | RunEvent::Surveyed(tree) => tree.memory,
            RunEvent::Due { tree, .. } => tree.as_ref().and_then(|tree| tree.memory),
            RunEvent::Unblocked
            | RunEvent::Spawned(_)
            | RunEvent::SpawnFailed { .. }
            | RunEvent::Cancel { .. }
            | RunEvent::KillRequested { .. }
            | RunEvent::OutputEnded
            | RunEvent::Killed { .. } => None,
        }
    }
}

impl Run {
    pub(crate) fn new(record: RunRecord, limits: Limits, detach: Detach, phase: Phase) -> Self {
        Self {
            record,
            limits,
            detach,
            phase,
            listed_due: None,
            reads_output: true,
            output_over: false,
            escape_reported: false,
            reported_kills: Vec::new(),
            memory_kill_mono_ms: None,
            has_slot: true,
            is_queue_reported: false,
        }
    }

    /// The run's next deadline.
    pub(crate) fn due(&self) -> Option<u64> {
        match &self.phase {
            Phase::WaitingForScope
            | Phase::WaitingForSlot
            | Phase::Starting { .. }
            | Phase::Exited => None,
            Phase::Running { overall_due, silence_due } => {
                [*overall_due, *silence_due].into_iter().flatten().min()
            }
            Phase::Settling(settling) => Some(settling.due),
            Phase::Draining { due, .. } => Some(*due),
            Phase::Ending(ending) => match ending.stage {
                Stage::Grace { kill_due } => Some(kill_due),
                Stage::Killed { give_up_due } => Some(give_up_due),
            },
        }
    }

    /// Whether nothing of it will continue: it is being ended, or its tree is empty.
    pub(crate) fn is_ending(&self) -> bool {
        match &self.phase {
            Phase::Ending(_) | Phase::Draining { .. } | Phase::Exited => true,
            Phase::WaitingForScope
            | Phase::WaitingForSlot
            | Phase::Starting { .. }
            | Phase::Running { .. }
            | Phase::Settling(_) => false,
        }
    }

    /// Whether an end of its output is still to come.
    pub(super) fn expects_output(&self) -> bool {
        self.reads_output && !self.output_over
    }

    pub(crate) fn id(&self) -> RunId {
        self.record.run_id
    }

    /// The reason of the first cancel is kept. The caller's own text replaces ours.
    fn cancelled_for(&mut self, why: &str, said: Option<String>) -> String {
        self.record.cancel_reason.clone_from(&said);
        said.unwrap_or_else(|| why.to_owned())
    }

    pub(crate) fn note(
        &self,
        who: Actor,
        what: What,
        why: impl Into<String>,
        evidence: Value,
        now: Now,
    ) -> Write {
        let evidence = match evidence {
            Value::Object(map) => map,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        Write::Note(Entry {
            seq: 0,
            at_ms: now.wall_ms,
            who,
            what,
            run_id: Some(self.id()),
            why: why.into(),
            evidence,
        })
    }

    pub(crate) fn save(&mut self, state: RunState, now: Now) -> Write {
        self.record.state = state;
        self.record.updated_at_ms = now.wall_ms;
        Write::Save(Box::new(self.record.clone()))
    }

    pub(crate) fn step(&mut self, event: RunEvent, now: Now, out: &mut Step) {
        if let Some(seen) = event.memory() {
            self.learn_memory(seen, now, out);
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Exited);
        self.phase = match (phase, event) {
            // WaitingForScope: an older run of the same scope is being ended.
            (Phase::WaitingForScope, RunEvent::Unblocked) => {
                self.has_slot = true;
                out.effect(Effect::Spawn(self.id()));
                Phase::Starting { cancel: None }
            }
            // WaitingForSlot: no free slot in its pool yet.
            (Phase::WaitingForSlot, RunEvent::Unblocked) => {
                self.has_slot = true;
                if self.is_queue_reported {
                    out.write(self.save(RunState::Starting, now));
                    let waited_ms = now.wall_ms.saturating_sub(self.record.created_at_ms);
                    out.write(self.note(
                        Actor::Supervisor,
                        What::Admitted,
                        "next in the queue",
                        json!({ "pool": self.record.pool, "waitedMs": waited_ms }),
                        now,
                    ));
                }
                out.effect(Effect::Spawn(self.id()));
                Phase::Starting { cancel: None }
            }
            (
                Phase::WaitingForScope | Phase::WaitingForSlot,
                RunEvent::Cancel { reason, by, why, said },
            ) => {
                let why = self.cancelled_for(why, said);
                out.write(self.note(by, What::CancelAsked, why, json!({}), now));
                finish::never_started(self, reason, now, out)
            }
            (
                phase @ (Phase::WaitingForScope | Phase::WaitingForSlot),
                RunEvent::Spawned(_)
                | RunEvent::SpawnFailed { .. }
                | RunEvent::KillRequested { .. }
                | RunEvent::Due { .. }
                | RunEvent::RootExited { .. }
                | RunEvent::OutputEnded
                | RunEvent::Surveyed(_)
                | RunEvent::Killed { .. },
            ) => phase,

            // Starting: the intent is durable, the outcome of the spawn is awaited.
            (Phase::Starting { cancel }, RunEvent::Spawned(identity)) => {
                self.spawned(identity, now, out);
                match cancel {
                    None => self.running(now),
                    Some(reason) => self.begin_ending(
                        Some(reason),
                        Root::Alive,
                        Survey::default(),
                        Output::Open,
                        now,
                        out,
                    ),
                }
            }
            (Phase::Starting { .. }, RunEvent::SpawnFailed { kind, error }) => {
                out.write(self.note(
                    Actor::Kernel,
                    What::SpawnFailed,
                    error.clone(),
                    json!({ "error": error }),
                    now,
                ));
                self.record.error = Some(error);
                self.record.spawn_error_kind = Some(kind);
                finish::never_started(self, Termination::SpawnError, now, out)
            }
            (Phase::Starting { cancel: None }, RunEvent::Cancel { reason, by, why, said }) => {
                let why = self.cancelled_for(why, said);
                out.write(self.note(
                    by,
                    What::CancelAsked,
                    why,
                    json!({ "during": "starting" }),
                    now,
                ));
                Phase::Starting { cancel: Some(reason) }
            }
            (phase @ Phase::Starting { cancel: Some(_) }, RunEvent::Cancel { .. }) => phase,
            (phase @ Phase::Starting { .. }, RunEvent::KillRequested { .. }) => {
                self.limits.grace_ms = 0;
                phase
            }
            (
                phase @ Phase::Starting { .. },
                RunEvent::Unblocked
                | RunEvent::Due { .. }
                | RunEvent::RootExited { .. }
                | RunEvent::OutputEnded
                | RunEvent::Surveyed(_)
                | RunEvent::Killed { .. },
            ) => phase,

            // Running.
            (Phase::Running { .. }, RunEvent::Cancel { reason, by, why, said }) => {
                let why = self.cancelled_for(why, said);
                out.write(self.note(by, What::CancelAsked, why, json!({ "reason": reason }), now));
                self.begin_ending(
                    Some(reason),
                    Root::Alive,
                    Survey::default(),
                    Output::Open,
                    now,
                    out,
                )
            }
            (
                Phase::Running { overall_due, silence_due },
                RunEvent::Due { last_output_mono_ms, .. },
            ) => self.running_due(overall_due, silence_due, last_output_mono_ms, now, out),
            (Phase::Running { .. }, RunEvent::RootExited { status, tree }) => {
                self.root_exited(status, tree, Output::Open, now, out)
            }
            (phase @ Phase::Running { .. }, RunEvent::OutputEnded) => {
                // A program may close its output and continue. It is silent then, and the no-output timeout applies.
                self.output_over = true;
                phase
            }
            (
                phase @ Phase::Running { .. },
                RunEvent::Unblocked
                | RunEvent::Spawned(_)
                | RunEvent::SpawnFailed { .. }
                | RunEvent::KillRequested { .. }
                | RunEvent::Surveyed(_)
                | RunEvent::Killed { .. },
            ) => phase,

            // Settling: the root exited by itself.
            (Phase::Settling(settling), RunEvent::OutputEnded) => {
                self.settle(Settling { output: Output::Ended, ..settling }, now, out)
            }
            (Phase::Settling(settling), RunEvent::Surveyed(tree)) => {
                self.settle(Settling { tree, ..settling }, now, out)
            }
            (Phase::Settling(settling), RunEvent::Due { last_output_mono_ms, tree }) => {
                self.settling_due(settling, last_output_mono_ms, tree, now, out)
            }
            (Phase::Settling(settling), RunEvent::Cancel { .. }) => {
                // It ended by itself first, and that stays the reason, but the caller wants it gone now. The survey
                // is old; setting the time back makes the settling end at once, after a new survey.
                let since = now.mono_ms.saturating_sub(self.limits.grace_ms.max(DRAIN_IDLE_MS));
                Phase::Settling(Settling { since, due: now.mono_ms, ..settling })
            }
            (phase @ Phase::Settling(_), RunEvent::KillRequested { .. }) => {
                self.limits.grace_ms = 0;
                phase
            }
            (
                phase @ Phase::Settling(_),
                RunEvent::Unblocked
                | RunEvent::Spawned(_)
                | RunEvent::SpawnFailed { .. }
                | RunEvent::RootExited { .. }
                | RunEvent::Killed { .. },
            ) => phase,

            // Ending: TERM was sent, KILL follows.
            (Phase::Ending(ending), RunEvent::RootExited { status, tree }) => match ending.root {
                Root::Alive => {
                    self.end_on(Ending { root: Root::Exited(status), tree, ..ending }, now, out)
                }
                Root::Exited(_) => Phase::Ending(ending),
            },
            (Phase::Ending(ending), RunEvent::Surveyed(tree)) => {
                self.end_on(Ending { tree, ..ending }, now, out)
            }
            (Phase::Ending(ending), RunEvent::OutputEnded) => {
                Phase::Ending(Ending { output: Output::Ended, ..ending })
            }
            (Phase::Ending(ending), RunEvent::KillRequested { by }) => {
                self.kill_now(ending, by, now, out)
            }
            (Phase::Ending(mut ending), RunEvent::Due { tree, .. }) => {
                ending.tree = tree.unwrap_or(ending.tree);
                self.ending_due(ending, now, out)
            }
            (phase @ Phase::Ending(_), RunEvent::Killed { mode, processes }) => {
                self.killed(mode, processes, now, out);
                phase
            }
            (
                phase @ Phase::Ending(_),
                RunEvent::Unblocked
                | RunEvent::Spawned(_)
                | RunEvent::SpawnFailed { .. }
                | RunEvent::Cancel { .. },
            ) => phase,

            // Draining: the tree is gone.
            (Phase::Draining { reason, status, extinct, .. }, RunEvent::OutputEnded) => {
                finish::ended(self, reason, status, extinct, now, out)
            }
            (
                Phase::Draining { reason, status, due, extinct },
                RunEvent::Due { last_output_mono_ms, tree },
            ) => {
                let quiet_until = last_output_mono_ms.map_or(due, |last| last + DRAIN_IDLE_MS);
                if let Some(tree) = tree.filter(|tree| !tree.is_empty()) {
                    // A process of its own holds the output; the first survey missed it.
                    self.end_late(reason, status, tree, now, out)
                } else if now.mono_ms < quiet_until {
                    Phase::Draining { reason, status, due: quiet_until, extinct }
                } else {
                    out.write(self.note(
                        Actor::Supervisor,
                        What::OutputHeld,
                        "its output was still open after its last process ended",
                        json!({ "idleMs": DRAIN_IDLE_MS }),
                        now,
                    ));
                    finish::ended(self, reason, status, extinct, now, out)
                }
            }
            (phase @ Phase::Draining { .. }, RunEvent::Killed { mode, processes }) => {
                self.killed(mode, processes, now, out);
                phase
            }
            (
                phase @ Phase::Draining { .. },
                RunEvent::Unblocked
                | RunEvent::Spawned(_)
                | RunEvent::SpawnFailed { .. }
                | RunEvent::Cancel { .. }
                | RunEvent::KillRequested { .. }
                | RunEvent::RootExited { .. }
                | RunEvent::Surveyed(_),
            ) => phase,

            // Exited is terminal: late events change nothing.
            (
                Phase::Exited,
                RunEvent::Unblocked
                | RunEvent::Spawned(_)
                | RunEvent::SpawnFailed { .. }
                | RunEvent::Cancel { .. }
                | RunEvent::KillRequested { .. }
                | RunEvent::Due { .. }
                | RunEvent::RootExited { .. }
                | RunEvent::OutputEnded
                | RunEvent::Surveyed(_)
                | RunEvent::Killed { .. },
            ) => Phase::Exited,
        };
    }

    fn spawned(&mut self, identity: Identity, now: Now, out: &mut Step) {
        self.record.pid = Some(identity.fingerprint.pid);
        self.record.start_time = Some(identity.fingerprint.start_time);
        self.record.boot_id = identity.fingerprint.boot_id;
        self.record.process_unique = identity.fingerprint.unique;
        self.record.process_group_id = Some(identity.process_group_id);
        self.record.cgroup = identity.cgroup;
        self.record.reaper = identity.reaper;
        self.record.enforced = identity.enforced;
        self.record.started_at_ms = Some(now.wall_ms);
        self.record.started_mono_ms = Some(now.mono_ms);
        out.write(self.save(RunState::Running, now));
        out.write(self.note(
            Actor::Supervisor,
            What::Spawned,
            self.record.command.clone(),
            json!({
                "pid": self.record.pid,
                "startTime": self.record.start_time,
                "processGroupId": self.record.process_group_id,
                "cgroup": self.record.cgroup,
            }),
            now,
        ));
        if let Some(enforced) = self.record.enforced.clone() {
            out.write(self.note(
                Actor::Supervisor,
                What::Limited,
                enforced.description(),
                json!({ "resources": enforced.resources, "memoryBy": enforced.memory_by, "cpuBy": enforced.cpu_by }),
                now,
            ));
        }
        out.write(Write::Count(Counter::Spawn, 1));
        out.effect(Effect::Started(self.id()));
    }

    /// The deadlines of a live run, counted from its start.
    pub(crate) fn running(&self, now: Now) -> Phase {
        let started = self.record.started_mono_ms.unwrap_or(now.mono_ms);
        Phase::Running {
            overall_due: self.limits.timeout_ms.map(|limit| started.saturating_add(limit)),
            silence_due: self
                .limits
                .no_output_timeout_ms
                .filter(|_| self.reads_output)
                .map(|limit| started.max(now.mono_ms).saturating_add(limit)),
        }
    }

    fn running_due(
        &mut self,
        overall_due: Option<u64>,
        silence_due: Option<u64>,
        last_output_mono_ms: Option<u64>,
        now: Now,
        out: &mut Step,
    ) -> Phase {
        // Output on either stream moves the no-output deadline.
        let silence_due = match (silence_due, last_output_mono_ms, self.limits.no_output_timeout_ms)
        {
            (Some(due), Some(last), Some(limit)) => Some(due.max(last.saturating_add(limit))),
            (due, _, _) => due,
        };
        // If both have passed, the overall timeout has precedence.
        let (reason, kind) = if overall_due.is_some_and(|due| now.mono_ms >= due) {
            (Termination::OverallTimeout, TimeoutKind::Overall)
        } else if silence_due.is_some_and(|due| now.mono_ms >= due) {
            (Termination::NoOutputTimeout, TimeoutKind::NoOutput)
        } else {
            return Phase::Running { overall_due, silence_due };
        };
        let started = self.record.started_mono_ms.unwrap_or(now.mono_ms);
        out.write(self.note(
            Actor::Supervisor,
            What::TimedOut,
            exceeded(&self.record, kind),
            json!({
                "ranMs": now.mono_ms.saturating_sub(started),
                "silentMs": now.mono_ms.saturating_sub(last_output_mono_ms.unwrap_or(started)),
            }),
            now,
        ));
        self.begin_ending(Some(reason), Root::Alive, Survey::default(), Output::Open, now, out)
    }
}
