//! Requests from other threads: turned into events, or answered from the current state.

use crate::backends;
use crate::handle::{
    Attached, Cancelled, Canceller, GuardianStatus, Request, RunHandles, SpawnRefused,
};
use crate::output::OutputState;
use crate::runs::input::Input;
use crate::runs::parents::RunParents;
use crate::runs::table::LiveRun;
use crate::supervisor::{Activity, Supervisor, now};
use crate::units::UnitWaiter;
use ostler_core::{Event, NewRun};
use ostler_model::{
    Actor, Detach, Extinct, Purpose, RunId, RunRecord, RunSpec, RunState, UnitView,
};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::oneshot;

impl Supervisor {
    pub(crate) fn take_request(&mut self, request: Request) {
        self.life.business = Activity::Busy;
        match request {
            Request::Spawn { spec, by, reply } => self.take_spawn(spec, by, reply),
            Request::Check { spec, reply } => {
                if let Ok(run) = self.new_run(spec, Actor::Supervisor)
                    && let Some(live) = self.runs.live.get_mut(&run)
                {
                    live.asked = Some(reply);
                }
            }
            Request::Cancel { run, by: Canceller { by, said, at_once }, reply } => {
                if self.add_waiter(run, reply) {
                    let why = "requested";
                    let kill = at_once.then(|| Event::KillRequested { run, by: by.clone() });
                    self.core.events.push_back(Event::CancelRequested { run, by, why, said });
                    self.core.events.extend(kill);
                }
            }
            Request::Leave { run, by, reply } => {
                self.client_left(run, by);
                self.turn();
                let _ = reply.send(());
            }
            Request::Descendants { run, reply } => {
                let _ = reply.send(self.core.world.descendants(run));
            }
            Request::Wait { run, reply } => {
                self.add_waiter(run, reply);
            }
            Request::AwaitStart { run, reply } => self.await_start(run, reply),
            Request::Pools { reply } => {
                let _ = reply.send(self.core.world.pool_views(now()));
            }
            Request::Live { reply } => {
                let _ = reply.send(self.core.world.live());
            }
            Request::Records { reply } => {
                let known = self.core.world.records().chain(self.unsaved_ends());
                let records = known.map(|record| self.shown(record)).collect();
                let _ = reply.send(records);
            }
            Request::Record { run, reply } => {
                let known = self.core.world.record(run).or_else(|| self.unsaved_end(run));
                let _ = reply.send(known.map(|record| self.shown(record)));
            }
            Request::Attach { run, reply } => {
                let attached = self.runs.live.get(&run).map(|live| Attached {
                    output: Arc::clone(&live.output),
                    input: Arc::clone(&live.input),
                    attach_count: Arc::clone(&live.attach_count),
                });
                let _ = reply.send(attached);
            }
            Request::Resize { run, size } => {
                let size = size.clamped();
                if let Some(live) = self.runs.live.get(&run)
                    && let Input::Terminal { master, .. } = &*live.input
                {
                    live.output.resize_screen(size);
                    let _ = ostler_os::resize(&**master, size);
                }
            }
            Request::Shutdown { by, reply } => {
                self.waiting.stop_replies.push(reply);
                self.identity.home.note_stopped();
                self.life.restart_requested = false;
                self.begin_stop(by);
            }
            Request::Restart { by, reply } => {
                let _ = reply.send(self.restart_for_caller_inside(by));
            }
            Request::InputClosed { run } => self.input_closed(run),
            Request::Declare { declaration, by, reply } => {
                let plan = self.declare(declaration, by);
                // The reply is sent after the change is effective and on disk.
                self.turn();
                self.name_agents();
                let _ = reply.send(plan);
            }
            Request::Wake => self.core.events.push_back(Event::UnitsWoken),
            Request::Units { names, ask, by, reply } => {
                self.ask_units(names, ask, by);
                self.turn();
                let _ = reply.send(());
            }
            Request::Await { names, until, reply } => {
                self.waiting.unit_waiters.push(UnitWaiter { names, until, reply });
            }
            Request::UnitViews { reply } => {
                let _ = reply.send(self.unit_views());
            }
            Request::Boundaries { reply } => {
                let boundary = |live: &LiveRun| {
                    let scope = live.scope.as_ref();
                    let pane_note = scope.and_then(ostler_os::Scope::pane_note).cloned();
                    let boundary = scope.and_then(ostler_os::Scope::boundary);
                    let reaper = scope.and_then(ostler_os::Scope::reaper);
                    let reaper = reaper.map(|reaper| reaper.fingerprint().pid);
                    (live.run, RunHandles { boundary, pane_note, reaper })
                };
                let _ = reply.send(self.runs.live.values().map(boundary).collect());
            }
            Request::HandOver { program, reply } => {
                let _ = reply.send(self.hand_over(program));
            }
            Request::Register { claim, reply } => {
                let _ = reply.send(self.register(&claim));
            }
            Request::RunOfPid { pid, reply } => {
                let _ = reply.send(self.run_of_pid(pid));
            }
            Request::AppReported { unit, event } => self.note_app(unit, event),
            Request::Specs { reply } => {
                let views = self.unit_views();
                let app = |view: UnitView| {
                    let app = self.core.world.unit(&view.name)?.spec.app.clone()?;
                    Some((view, app))
                };
                let _ = reply.send(views.into_iter().filter_map(app).collect());
            }
            Request::AgentIdle { run, idle } => {
                if self.runs.live.contains_key(&run) {
                    self.agents.agent_idle.insert(run, idle);
                }
            }
            Request::WakeUnit { name, by, why } => self.wake_unit(name, by, why),
            Request::Session { of, session, reply } => {
                let _ = reply.send(self.learn_session(of, session));
            }
            Request::Mail(request) => self.take_mail(request),
            Request::Patrol(request) => self.take_patrol(request),
            Request::Agent(request) => self.take_agent(request),
            Request::Guardian { reply } => {
                let _ = reply.send(GuardianStatus {
                    pid: self.guardian_pid(),
                    rollback_reason: self.guardian.guardian_info.rollback_reason.clone(),
                });
            }
        }
    }

    /// If the run is not live here, replies and returns false.
    fn add_waiter(&mut self, run: RunId, reply: oneshot::Sender<Cancelled>) -> bool {
        // A run that was requested in the same turn is only in `live`.
        if self.core.world.record(run).is_none() && !self.runs.live.contains_key(&run) {
            let _ = reply.send(match self.unsaved_end(run) {
                Some(record) => Cancelled::Ended(record.result()),
                None => Cancelled::NotLive,
            });
            return false;
        }
        self.waiting.waiters.entry(run).or_default().push(reply);
        true
    }

    /// Runs that ended while the registry could not be written: the registry does not know about them yet.
    fn unsaved_ends(&self) -> impl Iterator<Item = &RunRecord> {
        self.store.unsaved.runs.iter().filter(|record| record.state == RunState::Exited)
    }

    fn unsaved_end(&self, run: RunId) -> Option<&RunRecord> {
        self.unsaved_ends().find(|record| record.run_id == run)
    }

    fn take_spawn(
        &mut self,
        spec: Box<RunSpec>,
        by: Actor,
        reply: oneshot::Sender<Result<RunRecord, SpawnRefused>>,
    ) {
        if let Err(refused) = self.knows_pool(spec.pool.as_deref(), &[]) {
            let _ = reply.send(Err(SpawnRefused::Pool(refused)));
            return;
        }
        match self.new_run(spec, by) {
            Ok(run) => {
                self.waiting.spawn_replies.insert(run, reply);
            }
            Err(message) => {
                let _ = reply.send(Err(SpawnRefused::Registry { message }));
            }
        }
    }

    /// Requests a run from the core; it is spawned after the intent is on disk.
    pub(crate) fn new_run(&mut self, spec: Box<RunSpec>, by: Actor) -> Result<RunId, String> {
        if let Some(message) = &self.store.registry_error {
            // A run that cannot be recorded could be lost.
            return Err(message.clone());
        }
        let at_ms = ostler_os::wall_ms();
        let new = || ostler_os::random().map(|random| RunId::new(at_ms, random));
        let id = spec.run_id.map_or_else(new, Ok).map_err(|error| error.to_string())?;
        if self.runs.live.contains_key(&id) {
            return Err(format!("run {id} already exists"));
        }
        let RunParents { parent, client } = self.run_parents(&spec, &by)?;
        let watched = client.clone();
        let record = RunRecord {
            run_id: id,
            session_id: spec.session_id.clone(),
            purpose: spec.purpose,
            backend_id: spec.backend,
            unit: spec.unit.clone(),
            pid: None,
            start_time: None,
            boot_id: ostler_os::boot_id().to_owned(),
            process_unique: None,
            process_group_id: None,
            cgroup: self.platform.scopes.planned(&id.to_string()),
            reaper: None,
            state: RunState::Starting,
            created_at_ms: at_ms,
            updated_at_ms: at_ms,
            last_output_at_ms: None,
            owner_instance_id: self.identity.instance,
            lease_expires_at_ms: None,
            termination: None,
            exit_code: None,
            exit_signal: None,
            extinct: Extinct::No,
            scope_key: spec.scope_key.clone(),
            command: spec.command_shown(),
            error: None,
            spawn_error_kind: None,
            started_at_ms: None,
            ended_at_ms: None,
            timeout_ms: spec.limits.timeout_ms,
            no_output_timeout_ms: spec.limits.no_output_timeout_ms,
            grace_ms: spec.limits.grace_ms,
            stop_signal: spec.limits.stop_signal,
            detach_allowed: spec.detach == Detach::Allow,
            started_mono_ms: None,
            output_bytes: 0,
            enforced: self.platform.scopes.planned_limits(&id.to_string(), spec.resources),
            out_of_memory: false,
            memory_kills: 0,
            escaped: Vec::new(),
            survivors: Vec::new(),
            strict: spec.detach == Detach::Strict,
            parent,
            keep: spec.keep,
            client,
            pool: spec.pool.clone().filter(|_| spec.unit.is_none()),
            ticket: None,
            why: None,
            cancel_reason: None,
        };
        let (limits, detach) = (spec.limits, spec.detach);
        let is_passing = spec.purpose == Purpose::Check && record.cgroup.is_some();
        let note = self.pane_note(&record);
        self.add_live(id, spec, note, is_passing);
        self.watch_client(id, watched.as_deref());
        self.core.events.push_back(Event::SpawnRequested(Box::new(NewRun {
            by,
            record,
            limits,
            detach,
        })));
        Ok(id)
    }

    /// Adds the dispatcher's data of a run that has no process yet.
    pub(crate) fn add_live(
        &mut self,
        run: RunId,
        spec: Box<RunSpec>,
        pane_note: Option<PathBuf>,
        is_passing: bool,
    ) {
        let screen = backends::of(spec.backend).screen(&spec, pane_note);
        let token = self.new_token(run);
        let live = LiveRun {
            run,
            spec: Some(spec),
            process: None,
            scope: None,
            watch: None,
            output: Arc::new(OutputState::new(self.identity.home.run_folder(run), screen)),
            input: Arc::new(Input::Closed),
            attach_count: Arc::default(),
            descriptors: Vec::new(),
            leader: 0,
            root_gone: false,
            is_adopted: false,
            is_watched_by_descriptor: false,
            is_passing,
            asked: None,
            client: None,
            token,
        };
        self.runs.live.insert(run, live);
    }
}
