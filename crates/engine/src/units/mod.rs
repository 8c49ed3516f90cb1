//! The engine's part of units: creates their runs, starts their checks, and replies to waiting callers.

pub(crate) mod idle;
pub(crate) mod schedule;

use crate::agents::sessions::Resumption;
use crate::apps::AppReport;
use crate::backends::container::unlisted;
use crate::backends::{self, tmux::lacks_tmux};
use crate::checks::prober::{ProbeCommand, Subject};
use crate::runs::pools::PoolRefused;
use crate::supervisor::{Supervisor, now};
use ostler_core::Event;
use ostler_core::unit::{Ask as UnitAsk, Declared, UnitEvent};
use ostler_model::{
    Actor, Backend, Desired, Detach, OsText, Part, PoolSpec, Purpose, RunId, RunRecord, RunSpec,
    TerminalSize, UnitRecord, UnitSpec, UnitState, UnitView, What, stable_digest,
};
use ostler_model::{Change, ChangeKind};
use serde_json::json;
use std::collections::HashSet;
use tokio::sync::oneshot;

/// No run has more ancestors than this.
const GENERATIONS: usize = 1_000;

/// How long a unit must live before a waiting caller learns that it runs.
const PROOF_MS: u64 = 60;

/// What a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// Each unit is ready, done or failed, or waits for a failed one.
    Settled,
    /// Each unit is stopped or no longer exists.
    Stopped,
}

pub(crate) struct UnitWaiter {
    pub(crate) names: Vec<String>,
    pub(crate) until: WaitCondition,
    pub(crate) reply: oneshot::Sender<Vec<UnitView>>,
}

/// Units declared together, by one file or by a command.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub units: Vec<UnitSpec>,
    /// The pools of the file.
    pub pools: Vec<PoolSpec>,
    /// Units of this file that are not in `units` are withdrawn.
    pub file: Option<String>,
    /// Units of this file that stay as they are, although they are not in `units`.
    pub keep: Vec<String>,
    /// Withdrawn, whatever file declared them.
    pub gone: Vec<String>,
    pub start: bool,
    pub dry_run: bool,
}

impl Supervisor {
    pub(crate) fn declare(
        &mut self,
        declaration: Declaration,
        by: Actor,
    ) -> Result<Vec<Change>, PoolRefused> {
        self.may_declare(&declaration)?;
        let Declaration { units, pools, file, keep, mut gone, start, dry_run } = declaration;
        let down = file.as_deref().filter(|_| units.is_empty() && keep.is_empty());
        let left_before = self.left_to_end(&gone, down);
        let mut leaving = unlisted(self.core.world.unit_records().map(|record| &record.spec));
        leaving.retain(|name| {
            let of = self.core.world.unit(name).and_then(|unit| unit.spec.file.as_deref());
            !gone.contains(name) && (down.is_none() || of != down)
        });
        gone.extend(leaving.iter().cloned());
        let gone: Vec<String> = self
            .core
            .world
            .unit_views(now())
            .into_iter()
            .filter(|view| view.part != Some(Part::Daemon))
            .filter(|view| gone.contains(&view.name) || (file.is_some() && view.file == file))
            .map(|view| view.name)
            .filter(|name| !units.iter().any(|unit| unit.name == *name) && !keep.contains(name))
            .collect();
        let declared: Vec<Declared> = units.into_iter().map(digested).collect();
        // The daemon's own units belong to no file's plan.
        let of_files = declared.iter().filter(|new| new.spec.part != Some(Part::Daemon));
        let mut plan: Vec<Change> = of_files.map(|new| self.planned(new, start)).collect();
        plan.extend(
            gone.iter()
                .chain(&left_before)
                .map(|name| Change { unit: name.clone(), kind: ChangeKind::Remove }),
        );
        if !dry_run {
            for unit in &leaving {
                self.leave_container(unit);
            }
            for unit in &left_before {
                self.end_left(unit, &by);
            }
            for new in &declared {
                self.notify_changed_config(new);
            }
            self.forget_foreign_sessions(&declared);
            if let Some(file) = file {
                self.core.events.push_back(Event::PoolsDeclared { pools, file });
            }
            self.core.events.push_back(Event::UnitsDeclared { declared, gone, start, by });
        }
        Ok(plan)
    }

    fn notify_changed_config(&self, new: &Declared) {
        let Some(known) = self.core.world.unit(&new.spec.name) else { return };
        if let (Some(before), Some(now)) = (&known.spec.app, &new.spec.app)
            && before.config != now.config
            && known.run_digest == new.run_digest
        {
            self.notify_config(&new.spec.name, now);
        }
    }

    fn planned(&self, new: &Declared, start: bool) -> Change {
        let kind = match self.core.world.unit(&new.spec.name) {
            None => ChangeKind::Add,
            Some(known) if known.run_digest != new.run_digest => ChangeKind::Restart,
            Some(known) if known.digest != new.digest => ChangeKind::Update,
            Some(known) if start && known.desired == ostler_model::Desired::Stopped => {
                ChangeKind::Start
            }
            Some(_) => ChangeKind::Keep,
        };
        Change { unit: new.spec.name.clone(), kind }
    }

    pub(crate) fn ask_units(&mut self, names: Vec<String>, ask: UnitAsk, by: Actor) {
        self.core.events.push_back(Event::UnitsRequested { names, ask, by });
    }

    /// The views of all units, with their processes.
    pub(crate) fn unit_views(&self) -> Vec<UnitView> {
        let mut views = self.core.world.unit_views(now());
        for view in &mut views {
            if let Some(record) = view.run_id.and_then(|run| self.core.world.record(run)) {
                let shown = backends::of(record.backend_id).shown_pid(self, record);
                view.pid = shown.or(record.pid);
                view.started_at_ms = record.started_at_ms;
            }
            if view.run_id.is_none()
                && let Some(description) = self.survivor_in_scope(&scope_key(&view.name))
            {
                view.state = UnitState::Error;
                view.why = format!("not ended: {description}");
            }
            view.next_at_ms =
                view.next_at_ms.or_else(|| self.schedule.timetable.next_of(&view.name));
            view.kept_awake = self.awake_because(&view.name, view.run_id, view.state);
            view.agent_session =
                self.agents.sessions.get(&view.name).map(|session| session.id.clone());
            if view.agent.is_none() {
                view.agent = self.dead_agent(view).map(Box::new);
            }
            if let Some(why) =
                self.core.world.unit(&view.name).and_then(|unit| lacks_tmux(&unit.spec))
                && view.state == UnitState::Ready
                && view.why.is_empty()
            {
                view.why = why.to_owned();
            }
            let report = view.run_id.and_then(|run| self.endpoints.apps.get(run));
            if view.probe_state.is_some() {
                let report = report.as_deref().filter(|_| view.state == UnitState::Ready);
                view.last_seen_running_at = last_seen_running(view, report);
            }
            let said = report.map(|report| report.said());
            let is_reported = |said: &String| match view.state {
                UnitState::Starting => !said.is_empty(),
                // For a running unit, only a problem is shown.
                UnitState::Ready => said.starts_with("unknown") && view.why.is_empty(),
                _ => false,
            };
            if let Some(said) = said.filter(is_reported) {
                view.why = said;
            }
        }
        views
    }

    pub(crate) fn schedule_due(&mut self, now_ms: u64) -> u64 {
        if std::mem::take(&mut self.schedule.is_timetable_old) {
            let units = self.core.world.unit_records().filter_map(|record| {
                let spec = record.spec.schedule.clone()?;
                Some((record.spec.name.clone(), spec, record.fired_at_ms))
            });
            self.schedule.timetable.set(units, ostler_os::wall_ms());
            self.maintain_deadmen();
        }
        let in_ms = self.schedule.timetable.due_in(ostler_os::wall_ms());
        in_ms.map_or(u64::MAX, |in_ms| now_ms.saturating_add(in_ms))
    }

    pub(crate) fn check_timetable(&mut self) {
        for name in self.schedule.timetable.due(ostler_os::wall_ms()) {
            self.core.events.push_back(Event::Unit { name, event: UnitEvent::ScheduleDue });
        }
    }

    /// Replies to the callers whose condition is met.
    pub(crate) fn answer_unit_waiters(&mut self) {
        self.waiting.proven_at = None;
        if self.waiting.unit_waiters.is_empty() {
            return;
        }
        let now_ms = ostler_os::mono_ms();
        let with_runs = self.units_with_runs();
        for waiter in std::mem::take(&mut self.waiting.unit_waiters) {
            let is_true = match waiter.until {
                WaitCondition::Settled => self.is_settled(&waiter.names, now_ms),
                // If another caller requests a start meanwhile, the unit may not stop for a long time: the wait ends.
                WaitCondition::Stopped => waiter.names.iter().all(|name| {
                    (self.core.world.is_unit_stopped(name)
                        && !with_runs.contains(name)
                        && !self.is_left_watched(name))
                        || self.is_unit_wanted(name)
                }),
            };
            if is_true {
                let mut views = self.unit_views();
                views.retain(|view| waiter.names.contains(&view.name));
                let _ = waiter.reply.send(views);
            } else if !waiter.reply.is_closed() {
                self.waiting.unit_waiters.push(waiter);
            }
        }
    }

    /// Units whose processes requested runs that are live, in their current or an earlier run.
    fn units_with_runs(&self) -> HashSet<String> {
        let record = |run: RunId| {
            let live = self.core.world.record(run).cloned();
            live.or_else(|| self.store.registry.run(run).ok().flatten())
        };
        let children =
            self.core.world.records().filter(|child| child.parent.is_some() && !child.keep);
        let above = children.flat_map(|child| {
            let above = std::iter::successors(child.parent.and_then(record), |above| {
                above.parent.filter(|_| !above.keep).and_then(record)
            });
            above.take(GENERATIONS)
        });
        above.filter_map(|above| above.unit).collect()
    }

    fn is_unit_wanted(&self, name: &str) -> bool {
        self.core.world.unit(name).is_some_and(|record| record.desired == Desired::Running)
    }

    /// A unit without a readiness check must live for a moment first: a program that cannot work usually exits at once.
    fn is_settled(&mut self, names: &[String], now_ms: u64) -> bool {
        if !names.iter().all(|name| self.core.world.is_unit_settled(name)) {
            return false;
        }
        let proven_at = |name: &String| {
            let record = self.core.world.unit(name).filter(|record| record.spec.ready.is_none())?;
            let run = self.core.world.record(self.core.world.unit_run(&record.spec.name)?)?;
            Some(run.started_mono_ms? + PROOF_MS)
        };
        match names.iter().filter_map(proven_at).max() {
            Some(at) if now_ms < at => {
                self.waiting.proven_at =
                    Some(self.waiting.proven_at.map_or(at, |other| other.min(at)));
                false
            }
            Some(_) | None => true,
        }
    }

    pub(crate) fn launch(&mut self, unit: &str) {
        let Some(record) = self.core.world.unit(unit) else { return };
        if record.spec.container.is_some() || record.spec.tmux.is_some() {
            self.end_sweep(unit);
        }
        let run = ostler_os::random().map(|random| RunId::new(ostler_os::wall_ms(), random));
        let spec = run.ok().and_then(|run| Some((run, self.copy_of(unit, run)?)));
        let Some((run, spec)) = spec else {
            return self.core.events.push_back(Event::NotLaunched { unit: unit.to_owned() });
        };
        // If its reports cannot be received, it is not started, and an error says why.
        let _ = self.report_of(unit, run);
        let lacks = self.core.world.unit(unit).and_then(|record| lacks_tmux(&record.spec));
        match self.new_run(Box::new(spec), Actor::Supervisor) {
            // The spec is built again at the spawn: a thousand waiting specs would need much memory.
            Ok(run) => {
                if let Some(live) = self.runs.live.get_mut(&run) {
                    live.spec = None;
                }
                self.note_resumption(unit, run);
                if let Some(why) = lacks {
                    self.run_entry(run, What::Degraded, why, json!({ "unit": unit }));
                }
            }
            Err(_) => {
                self.endpoints.apps.forget(run);
                self.let_go_notify_socket(run);
                self.core.events.push_back(Event::NotLaunched { unit: unit.to_owned() });
            }
        }
    }

    /// What this run of the unit is started with.
    pub(crate) fn copy_of(&self, unit: &str, run: RunId) -> Option<RunSpec> {
        let record = self.core.world.unit(unit)?;
        let mut spec = run_spec(&record.spec);
        spec.run_id = Some(run);
        spec.env.extend(self.ways_of(&record.spec, run));
        match self.resumption(unit, run) {
            Resumption::Resume(words, _) => spec.argv = words,
            Resumption::Command | Resumption::NoSession | Resumption::FailedSession(_) => {}
        }
        let backend = backends::of(record.spec.backend);
        backend.prepare(self, &record.spec, run, &record.run_digest, &mut spec);
        Some(spec)
    }

    /// True if an earlier run of the unit was ever started.
    pub(crate) fn has_run(&self, unit: &str, run: RunId) -> bool {
        let is_earlier = |record: &RunRecord| record.run_id != run && record.pid.is_some();
        self.core.world.unit(unit).is_some_and(|record| !record.ends.is_empty())
            || self.store.registry.runs_of(unit, 2).is_ok_and(|runs| runs.iter().any(is_earlier))
    }

    pub(crate) fn check_ready(&mut self, unit: String, run: RunId) {
        let Some(spec) = self.core.world.unit(&unit).map(|record| &record.spec) else { return };
        let Some(ready) = spec.ready.clone() else { return };
        let register_ms = spec.app.as_ref().map(|app| app.register_ms);
        let own = spec.container.as_ref().and_then(|container| container.readiness.clone());
        let readiness = own.filter(|own| own.check == ready.check);
        if let Some(subject) = self.subject(unit, run) {
            let unit = subject.unit.clone();
            let order = match readiness {
                Some(health) => ProbeCommand::Readiness { subject, health },
                None => ProbeCommand::Ready { subject, ready, register_ms },
            };
            if let Err(error) = self.threads.prober.order(order) {
                let why = format!("the check could not start: {error}");
                self.take_probed(unit, UnitEvent::NotReady { run, why });
            }
        }
    }

    pub(crate) fn subject(&mut self, unit: String, run: RunId) -> Option<Subject> {
        let report = self.report_of(&unit, run).ok().flatten();
        let spec = &self.core.world.unit(&unit)?.spec;
        let mut like = Box::new(run_spec(spec));
        like.purpose = Purpose::Check;
        like.unit = None;
        like.scope_key = None;
        like.backend = Backend::Pipe;
        let output = self.runs.live.get(&run).map(|live| std::sync::Arc::clone(&live.output));
        let mut before = Vec::new();
        if spec.container.is_some() {
            let digest = self.core.world.unit(&unit)?.run_digest.clone();
            let spec = spec.clone();
            backends::of(spec.backend).prepare(self, &spec, run, &digest, &mut like);
            before = like.argv.clone();
            before.push(OsText::from("--"));
        }
        Some(Subject { unit, run, output, report, like, before })
    }

    pub(crate) fn check_health(&mut self, unit: String, run: RunId) {
        let Some(spec) = self.core.world.unit(&unit).map(|record| &record.spec) else { return };
        let (health, heartbeat) = (spec.health.clone(), spec.heartbeat);
        let Some(subject) = self.subject(unit.clone(), run) else { return };
        let mut orders = Vec::new();
        if let (Some(heartbeat), Some(report)) = (heartbeat, subject.report.clone()) {
            orders.push(ProbeCommand::Liveness { report, heartbeat });
        }
        if let Some(health) = health {
            orders.push(ProbeCommand::Health { subject, health });
        }
        for order in orders {
            if let Err(error) = self.threads.prober.order(order) {
                let why = format!("the check could not start: {error}");
                self.take_probed(unit.clone(), UnitEvent::Unhealthy { run, why });
            }
        }
    }

    pub(crate) fn take_probed(&mut self, unit: String, event: UnitEvent) {
        if let UnitEvent::Idle { run, idle } = event {
            return self.take_unattended(unit, run, idle);
        }
        if let UnitEvent::Ready { run } = event {
            self.let_go_notify_socket(run);
        }
        self.core.events.push_back(Event::Unit { name: unit, event });
    }
}

/// When the container was last seen running. The container engine reports an end at once, and its own failure too, so
/// otherwise the container runs now.
fn last_seen_running(view: &UnitView, report: Option<&AppReport>) -> Option<u64> {
    match report {
        Some(report) if report.said().starts_with("unknown") => Some(report.said_at_ms()),
        Some(_) => Some(ostler_os::wall_ms()),
        None => view.ends.first().map(|end| end.at_ms),
    }
}

/// At most one live run has this key.
pub(crate) fn scope_key(unit: &str) -> String {
    format!("unit {unit}")
}

/// The run spec of the unit.
pub(crate) fn run_spec(unit: &UnitSpec) -> RunSpec {
    let declared =
        unit.env.iter().map(|(name, value)| OsText(format!("{name}={value}").into_bytes()));
    RunSpec {
        run_id: None,
        argv: unit.argv.iter().map(|word| OsText(word.clone().into_bytes())).collect(),
        cwd: OsText(unit.cwd.clone().into_bytes()),
        env: unit.inherited.iter().cloned().chain(declared).collect(),
        umask: unit.umask,
        backend: unit.backend,
        size: TerminalSize::default(),
        stdin: false,
        session_id: String::new(),
        purpose: Purpose::Program,
        unit: Some(unit.name.clone()),
        // Never two runs at once.
        scope_key: Some(scope_key(&unit.name)),
        limits: unit.limits,
        resources: unit.resources,
        // The unit already holds its place in the pool.
        pool: None,
        detach: Detach::Forbid,
        keep: false,
        foreground: false,
    }
}

fn digested(spec: UnitSpec) -> Declared {
    // All fields are listed, so that a new one cannot be forgotten. An ignored field is no change if it differs.
    let UnitSpec {
        name,
        argv,
        cwd,
        env,
        inherited: _,
        umask: _,
        backend,
        restart,
        stop,
        ready,
        health,
        liveness_backoff,
        depends_on,
        schedule,
        limits,
        resources,
        app,
        container,
        tmux,
        pool,
        idle,
        resume,
        heartbeat,
        agent,
        hooks: _,
        part: _,
        file: _,
    } = &spec;
    let run = json!({
        "argv": argv, "cwd": cwd, "env": env, "backend": backend, "limits": limits, "resources": resources,
        "container": container, "tmux": tmux,
    });
    let whole = json!({
        "name": name, "run": run, "restart": restart, "stop": stop, "ready": ready, "health": health,
        "livenessBackoff": liveness_backoff, "dependsOn": depends_on, "schedule": schedule, "app": app,
        "heartbeat": heartbeat, "resume": resume, "agent": agent, "pool": pool, "idle": idle,
    });
    let (run_digest, digest) = (stable_digest(&run), stable_digest(&whole));
    Declared { run_digest, digest, spec }
}

/// Replaces digests of an earlier version, which depended on its toolchain, so that they do not count as a change.
pub(crate) fn renew_digests(record: &mut UnitRecord) {
    const DIGITS: usize = 32;
    if record.digest.len() == DIGITS {
        return;
    }
    let Declared { run_digest, digest, .. } = digested(record.spec.clone());
    if record.started_with.as_ref() == Some(&record.run_digest) {
        record.started_with = Some(run_digest.clone());
    }
    record.run_digest = run_digest;
    record.digest = digest;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> UnitSpec {
        serde_json::from_value(json!({
            "name": "web", "argv": ["sleep", "1000"], "cwd": "/srv", "env": { "PORT": "8080" },
            "inherited": [], "umask": 18, "backend": "pipe",
            "restart": {
                "when": "on-failure", "preset": null, "initialMs": 1_000, "factor": 2.0, "maxMs": 30_000,
                "resetAfterMs": 60_000, "limit": { "count": 5, "windowMs": 60_000 },
            },
            "stop": { "signal": 15, "graceMs": 10_000 }, "ready": null, "health": null,
            "livenessBackoff": null, "dependsOn": [], "schedule": null,
            "limits": { "timeoutMs": null, "noOutputTimeoutMs": null, "graceMs": 10_000 }, "file": null,
        }))
        .expect("a unit")
    }

    /// The digests are stored. A release that computes others restarts every unit of every home: never change them.
    #[test]
    fn the_digests_of_a_known_unit_stay_as_they_are() {
        let declared = digested(spec());
        assert_eq!(declared.run_digest, "62dbeac7ab3ac4d80c1822e43ac779d3");
        assert_eq!(declared.digest, "9d3bd77a83c71711561de743b56fe546");
    }

    #[test]
    fn a_digest_of_an_earlier_version_is_no_change() {
        let now = digested(spec());
        let mut record: UnitRecord = serde_json::from_value(json!({
            "spec": spec(), "runDigest": "00aa", "digest": "00bb", "startedWith": "00aa", "desired": "running",
            "tally": {}, "rests": false, "firedAtMs": null, "trouble": null, "asked": null, "readyRun": null,
            "ticket": null, "suspended": null, "againAtMs": null, "over": null, "ends": [],
            "createdAtMs": 1, "updatedAtMs": 1,
        }))
        .expect("a record");
        renew_digests(&mut record);
        assert_eq!((&record.run_digest, &record.digest), (&now.run_digest, &now.digest));
        assert_eq!(record.started_with, Some(now.run_digest));
        record.started_with = Some("another".to_owned());
        renew_digests(&mut record);
        assert_eq!(record.started_with.as_deref(), Some("another"));
    }
}
