//! Everything one supervisor decides about, and the one way in: `step`.
//!
//! Each event goes to the run it is about. Three things are the world's own: whether new runs are
//! accepted, which run holds a scope, and whether our lease still lets us act at all. When the lease
//! has lapsed (we were stopped, or starved), every event waits until the registry has said which
//! runs are still ours: a supervisor that slept must not wake up and signal another's run.

use crate::action::{Action, Refusal};
use crate::event::{Event, ExitStatus, NewRun, Observation, Survey};
use crate::lease::Lease;
use crate::reconcile::{Decision, decide};
use crate::run::{Phase, Run, RunEvent};
use crate::time::Now;
use ostler_model::{
    Actor, AdoptPolicy, Counter, Detach, Entry, Limits, RunId, RunRecord, RunState, Settings,
    Termination, What,
};
use serde_json::{Map, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Debug)]
pub struct World {
    adopt: AdoptPolicy,
    lease: Lease,
    runs: BTreeMap<RunId, Run>,
    /// The newest run of each scope key.
    scopes: HashMap<String, RunId>,
    due: BTreeSet<(u64, RunId)>,
    serving: Serving,
    /// What came in while the lease was in doubt.
    deferred: Vec<Event>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Serving {
    Open,
    Stopping,
    Stopped,
}

impl World {
    /// A supervisor that has just taken its lease.
    pub fn new(settings: &Settings, now: Now) -> Self {
        Self {
            adopt: settings.adopt,
            lease: Lease::new(settings.lease_ms, now),
            runs: BTreeMap::new(),
            scopes: HashMap::new(),
            due: BTreeSet::new(),
            serving: Serving::Open,
            deferred: Vec::new(),
        }
    }

    pub fn records(&self) -> impl Iterator<Item = &RunRecord> {
        self.runs.values().map(|run| &run.record)
    }

    pub fn record(&self, run: RunId) -> Option<&RunRecord> {
        self.runs.get(&run).map(|run| &run.record)
    }

    pub fn live(&self) -> usize {
        self.runs.len()
    }

    /// The next moment at which something is due; the lease included, so never `None`.
    pub fn next_due(&self) -> u64 {
        let lease = self.lease.due_mono_ms();
        self.due.first().map_or(lease, |(due, _)| lease.min(*due))
    }

    pub fn lease_due(&self, now: Now) -> bool {
        now.mono_ms >= self.lease.due_mono_ms()
    }

    pub fn due_runs(&self, now: Now) -> Vec<RunId> {
        self.due.iter().take_while(|(due, _)| *due <= now.mono_ms).map(|(_, run)| *run).collect()
    }

    pub fn step(&mut self, event: Event, now: Now) -> Vec<Action> {
        let mut out = Vec::new();
        match event {
            Event::LeaseRenewed { lost } => {
                self.lease.renewed(now);
                for run in lost {
                    self.abandon(run, now, &mut out);
                }
                for event in std::mem::take(&mut self.deferred) {
                    self.act(event, now, &mut out);
                }
            }
            event if !self.lease.holds(now) => {
                self.deferred.push(event);
                if self.lease.ask() {
                    out.push(Action::RenewLease);
                }
            }
            event => self.act(event, now, &mut out),
        }
        if self.serving == Serving::Stopping && self.runs.is_empty() {
            self.serving = Serving::Stopped;
            out.push(Action::Stop);
        }
        out
    }

    fn act(&mut self, event: Event, now: Now, out: &mut Vec<Action>) {
        match event {
            Event::SpawnAsked(new) => self.spawn_asked(*new, now, out),
            Event::IntentLost { run } => self.forget(run, now, out),
            Event::Spawned { run, identity } => {
                self.tell(run, RunEvent::Spawned(identity), now, out);
            }
            Event::SpawnFailed { run, kind, error } => {
                self.tell(run, RunEvent::SpawnFailed { kind, error }, now, out);
            }
            Event::CancelAsked { run, by, why } => {
                let reason = Termination::ManualCancel;
                self.tell(run, RunEvent::Cancel { reason, by, why }, now, out);
            }
            Event::Due { run, last_output_mono_ms, tree } => {
                self.tell(run, RunEvent::Due { last_output_mono_ms, tree }, now, out);
            }
            Event::RootExited { run, status, tree } => {
                self.tell(run, RunEvent::RootExited { status, tree }, now, out);
            }
            Event::OutputEnded { run } => self.tell(run, RunEvent::OutputEnded, now, out),
            Event::Surveyed { run, tree } => self.tell(run, RunEvent::Surveyed(tree), now, out),
            Event::Killed { run, mode, processes } => {
                self.tell(run, RunEvent::Killed { mode, processes }, now, out);
            }
            Event::DetachDone { run, child } => self.detached(run, *child, now, out),
            Event::ShutdownAsked { by } => self.shutdown(by, now, out),
            Event::LeaseDue => {
                if self.lease.ask() {
                    out.push(Action::RenewLease);
                }
            }
            Event::LeaseRenewed { .. } => {}
            Event::Observed { record, seen } => self.observed(record, seen, false, now, out),
            Event::StealWon { record, seen } => self.observed(record, seen, true, now, out),
        }
    }

    /// Hands one event to one run; an event for a run that is over changes nothing.
    fn tell(&mut self, id: RunId, event: RunEvent, now: Now, out: &mut Vec<Action>) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.step(event, now, out);
        self.settle(id, now, out);
    }

    /// Keeps the list of deadlines true, and lets go of a run that is over.
    fn settle(&mut self, id: RunId, now: Now, out: &mut Vec<Action>) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if matches!(run.phase, Phase::Exited) {
            self.forget(id, now, out);
            return;
        }
        let due = run.due();
        if run.listed_due != due {
            if let Some(old) = run.listed_due {
                self.due.remove(&(old, id));
            }
            if let Some(new) = due {
                self.due.insert((new, id));
            }
            run.listed_due = due;
        }
    }

    fn forget(&mut self, id: RunId, now: Now, out: &mut Vec<Action>) {
        let Some(run) = self.runs.remove(&id) else { return };
        if let Some(due) = run.listed_due {
            self.due.remove(&(due, id));
        }
        // A late result of an older run must not end the newer one's claim on the scope.
        if let Some(key) = &run.record.scope_key
            && self.scopes.get(key) == Some(&id)
        {
            self.scopes.remove(key);
        }
        let unblocked: Vec<RunId> = self
            .runs
            .values()
            .filter(|other| matches!(other.phase, Phase::Queued { after } if after == id))
            .map(Run::id)
            .collect();
        for other in unblocked {
            self.tell(other, RunEvent::Unblocked, now, out);
        }
    }

    fn spawn_asked(&mut self, new: NewRun, now: Now, out: &mut Vec<Action>) {
        if self.serving != Serving::Open {
            let run = new.record.run_id;
            out.push(Action::Refuse { run, refusal: Refusal::ShuttingDown });
            return;
        }
        let id = new.record.run_id;
        let mut run = Run {
            limits: new.limits,
            detach: new.detach,
            phase: Phase::Starting { cancel: None },
            listed_due: None,
            hears_output: true,
            escape_told: false,
            record: new.record,
        };
        out.push(run.save(RunState::Starting, now));
        out.push(run.note(
            new.by.clone(),
            What::Intent,
            run.record.command.clone(),
            json!({
                "sessionId": run.record.session_id,
                "scopeKey": run.record.scope_key,
                "timeoutMs": run.limits.timeout_ms,
                "noOutputTimeoutMs": run.limits.no_output_timeout_ms,
                "graceMs": run.limits.grace_ms,
            }),
            now,
        ));
        let older = run
            .record
            .scope_key
            .clone()
            .and_then(|key| self.scopes.insert(key, id))
            .filter(|older| self.runs.contains_key(older));
        match older {
            None => {
                out.push(Action::Spawn(id));
                self.runs.insert(id, run);
            }
            Some(older) => {
                // Two copies of one scope never run at the same time: the newer waits.
                run.phase = Phase::Queued { after: older };
                self.runs.insert(id, run);
                if let Some(older_run) = self.runs.get(&older) {
                    out.push(older_run.note(
                        new.by.clone(),
                        What::Replaced,
                        format!("run {id} of the same scope takes its place"),
                        json!({ "by": id }),
                        now,
                    ));
                }
                let why = "a newer run of its scope takes its place";
                let reason = Termination::ManualCancel;
                self.tell(older, RunEvent::Cancel { reason, by: new.by, why }, now, out);
            }
        }
        self.settle(id, now, out);
    }

    fn shutdown(&mut self, by: Actor, now: Now, out: &mut Vec<Action>) {
        if self.serving != Serving::Open {
            return;
        }
        self.serving = Serving::Stopping;
        out.push(Action::Note(Entry {
            seq: 0,
            at_ms: now.wall_ms,
            who: by,
            what: What::SupervisorStopping,
            run_id: None,
            why: format!("{} live runs are ended first", self.runs.len()),
            evidence: Map::new(),
        }));
        let live: Vec<RunId> = self.runs.keys().copied().collect();
        for run in live {
            let reason = Termination::ManualCancel;
            let why = "the supervisor is stopping";
            self.tell(run, RunEvent::Cancel { reason, by: Actor::Supervisor, why }, now, out);
        }
    }

    /// The run is another instance's now. It is not signalled and its record is not written.
    fn abandon(&mut self, id: RunId, now: Now, out: &mut Vec<Action>) {
        let Some(run) = self.runs.get(&id) else { return };
        out.push(run.note(
            Actor::Supervisor,
            What::LeaseLost,
            "our lease ran out and another supervisor took the run over",
            json!({}),
            now,
        ));
        out.push(Action::Abandon(id));
        self.forget(id, now, out);
    }

    fn detached(&mut self, parent: RunId, child: RunRecord, now: Now, out: &mut Vec<Action>) {
        let limits = Limits::default();
        let mut run = Run {
            limits,
            detach: Detach::Allow,
            phase: Phase::Running { overall_due: None, silence_due: None },
            listed_due: None,
            hears_output: false,
            escape_told: false,
            record: child,
        };
        out.push(run.save(RunState::Running, now));
        out.push(run.note(
            Actor::Supervisor,
            What::Detached,
            format!("run {parent} was allowed to let it go"),
            json!({ "from": parent, "pid": run.record.pid }),
            now,
        ));
        out.push(Action::Count(Counter::Spawn, 1));
        self.runs.insert(run.id(), run);
    }

    fn observed(
        &mut self,
        record: Box<RunRecord>,
        seen: Observation,
        stolen: bool,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let decision = decide(&seen, self.adopt, stolen);
        let id = record.run_id;
        if decision == Decision::LeaveAlone {
            out.push(Action::Note(Entry {
                seq: 0,
                at_ms: now.wall_ms,
                who: Actor::Supervisor,
                what: What::LeftAlone,
                run_id: Some(id),
                why: "another supervisor's lease on it holds".to_owned(),
                evidence: Map::from_iter([("owner".to_owned(), json!(record.owner_instance_id))]),
            }));
            return;
        }
        if decision == Decision::Steal {
            out.push(Action::Steal { record, seen });
            return;
        }
        let mut run = Run::taken_up(*record, &seen);
        if stolen {
            out.push(Action::Count(Counter::LeaseSteal, 1));
            out.push(run.note(
                Actor::Supervisor,
                What::LeaseStolen,
                "its owner's lease had run out",
                json!({ "policy": self.adopt }),
                now,
            ));
        }
        match decision {
            Decision::LeaveAlone | Decision::Steal => {}
            Decision::MarkStale => run.found_gone(seen.why_not, now, out),
            Decision::EndRest | Decision::Resume | Decision::Terminate => {
                out.push(Action::Count(Counter::ReconcileOrphans, 1));
                out.push(Action::Adopt(Box::new(run.record.clone())));
                run.resume(decision, &seen, now, out);
            }
        }
        if matches!(run.phase, Phase::Exited) {
            return;
        }
        if let Some(key) = &run.record.scope_key {
            self.scopes.insert(key.clone(), id);
        }
        self.runs.insert(id, run);
        self.settle(id, now, out);
    }
}

impl Run {
    fn taken_up(record: RunRecord, seen: &Observation) -> Run {
        let mut run = Run {
            limits: Limits {
                timeout_ms: record.timeout_ms,
                no_output_timeout_ms: record.no_output_timeout_ms,
                grace_ms: record.grace_ms,
            },
            detach: if record.detach_allowed { Detach::Allow } else { Detach::Forbid },
            phase: Phase::Starting { cancel: None },
            listed_due: None,
            hears_output: false,
            escape_told: false,
            record,
        };
        if let Some(identity) = &seen.identity {
            run.record.pid = Some(identity.fingerprint.pid);
            run.record.start_time = Some(identity.fingerprint.start_time);
            run.record.process_group_id = Some(identity.process_group_id);
            run.record.cgroup = identity.cgroup.clone();
        }
        run
    }

    /// The recorded process does not exist any more; what is known of its end is kept.
    fn found_gone(&mut self, why: &'static str, now: Now, out: &mut Vec<Action>) {
        let reason = self.recorded_reason().unwrap_or(Termination::ReconciledStale);
        out.push(self.note(
            Actor::Supervisor,
            What::ReconciledStale,
            why,
            json!({ "pid": self.record.pid, "startTime": self.record.start_time }),
            now,
        ));
        let status = self.recorded_status();
        if status == ExitStatus::Unknown {
            self.record.error = Some(format!("{why}; how it ended is not known"));
        }
        self.phase = Phase::Draining {
            reason: Some(reason),
            status,
            due: now.mono_ms,
            extinct: ostler_model::Extinct::Yes,
        };
        self.step(RunEvent::OutputEnded, now, out);
    }

    /// What the dead supervisor had already learned is not thrown away.
    fn recorded_reason(&self) -> Option<Termination> {
        self.record.termination.or(match self.recorded_status() {
            ExitStatus::Code(_) => Some(Termination::Exit),
            ExitStatus::Signal(_) => Some(Termination::Signal),
            ExitStatus::Unknown => None,
        })
    }

    fn recorded_status(&self) -> ExitStatus {
        match (self.record.exit_code, self.record.exit_signal) {
            (Some(code), _) => ExitStatus::Code(code),
            (None, Some(signal)) => ExitStatus::Signal(signal),
            (None, None) => ExitStatus::Unknown,
        }
    }

    fn resume(&mut self, decision: Decision, seen: &Observation, now: Now, out: &mut Vec<Action>) {
        use crate::run::{RunOutput, RunRoot};
        let told = match decision {
            Decision::EndRest => "its first process is gone; the rest of it is ended",
            Decision::Terminate => "it lives, and the policy is to terminate",
            Decision::Resume | Decision::MarkStale | Decision::LeaveAlone | Decision::Steal => {
                "it lives and goes on"
            }
        };
        out.push(self.note(
            Actor::Supervisor,
            What::Adopted,
            told,
            json!({
                "pid": self.record.pid,
                "startTime": self.record.start_time,
                "inside": seen.tree.inside,
                "outside": seen.tree.outside,
                "outputSeen": false,
            }),
            now,
        ));
        if self.record.started_mono_ms.is_none() {
            self.record.started_mono_ms = Some(now.mono_ms);
            self.record.started_at_ms = Some(now.wall_ms);
        }
        let interrupted = self.record.termination;
        self.phase = match decision {
            Decision::EndRest => {
                let status = self.recorded_status();
                let reason = Some(self.recorded_reason().unwrap_or(Termination::ReconciledStale));
                let tree = seen.tree.clone();
                self.begin_ending(reason, RunRoot::Exited(status), tree, RunOutput::Ended, now, out)
            }
            Decision::Terminate => self.begin_ending(
                Some(Termination::LeaseLost),
                RunRoot::Alive,
                Survey::default(),
                RunOutput::Ended,
                now,
                out,
            ),
            Decision::Resume | Decision::MarkStale | Decision::LeaveAlone | Decision::Steal => {
                match interrupted {
                    // Its termination had begun; it is carried on, for the same reason.
                    Some(reason) => self.begin_ending(
                        Some(reason),
                        RunRoot::Alive,
                        Survey::default(),
                        RunOutput::Ended,
                        now,
                        out,
                    ),
                    None => {
                        out.push(self.save(RunState::Running, now));
                        self.running(now)
                    }
                }
            }
        };
    }
}
