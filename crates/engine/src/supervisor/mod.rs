//! The loop. Each turn gathers what the kernel and the other threads have to say, lets the core decide,
//! commits, and acts; what comes of the actions is decided about in the same turn. What happened inside
//! goes before what is asked from outside.

use crate::agents::sessions::Resumes;
use crate::agents::{Judge, ScreenWatch};
use crate::apps::{Apps, Proof};
use crate::checks::prober::{Probed, Prober};
use crate::error::EngineError;
use crate::guardian_link::inheritance::{Inheritance, LOCK};
use crate::guardian_link::{GuardianInfo, GuardianLink, ThreadHeartbeats, status_of};
use crate::handle::{Ask, Cancelled, HandOver, Handle, SpawnRefused, Stopped};
use crate::home::Home;
use crate::output::{OutputEvent, OutputTotal, OutputWriter, Sweep, Swept, default_output_bytes};
use crate::runs::input::Input;
use crate::runs::memory_limits::LimitWatch;
use crate::runs::strays::Strays;
use crate::runs::table::{CLIENT_TOKEN, LiveRun, TOKENS, survey};
use crate::sockets::Sockets;
use crate::store::crash_log::CrashBudget;
use crate::store::failpoint;
use crate::store::life_log::LifeLog;
use crate::store::pruning::Pruning;
use crate::units::UnitWaiter;
use crate::units::idle::CpuMark;
use crate::units::schedule::Timetable;
use ostler_core::{Effect, Event, Now, World};
use ostler_model::{
    Actor, AgentIdle, AgentSession, Counter, DeadmanSpec, InstanceId, RunId, RunRecord, RunResult,
    RunState, Settings, What,
};
use ostler_os::{
    Allocated, Census, Ending, HomeLock, Interest, Launcher, Notice, Poller, Ready, Reaper,
    ScopeFactory, Waker,
};
use ostler_registry::{Batch, Registry, RegistryError, Rollback};
use serde_json::json;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use tokio::sync::{oneshot, watch};

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
    pub(crate) home: Home,
    pub(crate) settings: Settings,
    pub(crate) instance: InstanceId,
    pub(crate) registry: Registry,
    pub(crate) world: World,
    pub(crate) poller: Poller,
    pub(crate) room: ScopeFactory,
    pub(crate) launcher: Launcher,
    pub(crate) descriptors: Allocated,
    pub(crate) output_writer: OutputWriter,
    pub(crate) prober: Prober,
    pub(crate) limit_watch: LimitWatch,
    pub(crate) screens: ScreenWatch,
    pub(crate) apps: Arc<Apps>,
    /// Of the agents that units run, by unit.
    pub(crate) sessions: HashMap<String, AgentSession>,
    pub(crate) resumes: Resumes,
    /// What is known of agents by those who can tell.
    pub(crate) agent_idle: HashMap<RunId, AgentIdle>,
    /// The process that types what waits, for each agent that has one.
    pub(crate) delivering: HashMap<RunId, RunId>,
    pub(crate) cpu_marks: HashMap<RunId, CpuMark>,
    /// Why a unit that may sleep does not, by unit.
    pub(crate) kept_awake: HashMap<String, (RunId, String)>,
    /// When this was last noted of a unit, and how often since.
    pub(crate) noted: HashMap<(String, &'static str), (u64, u64)>,
    pub(crate) unit_waiters: Vec<UnitWaiter>,
    /// When what somebody waits for may be true.
    pub(crate) proven_at: Option<u64>,
    pub(crate) timetable: Timetable,
    pub(crate) is_timetable_old: bool,
    pub(crate) deadmen: BTreeSet<DeadmanSpec>,
    pub(crate) crash_budget: CrashBudget,
    pub(crate) business: Activity,
    probed: mpsc::Receiver<Probed>,
    pub(crate) live: HashMap<RunId, LiveRun>,
    /// The first processes of our runs that are our children.
    pub(crate) leaders: HashMap<i32, RunId>,
    /// Of runs that another supervisor took over from us; kept open as long as their output is.
    pub(crate) kept_inputs: HashMap<RunId, Arc<Input>>,
    /// What is ours beside the runs.
    pub(crate) strays: Strays,
    /// One look at all processes a turn is enough.
    pub(crate) census: OnceCell<Census>,
    pub(crate) tokens: HashMap<u64, RunId>,
    pub(crate) next_token: u64,
    pub(crate) events: VecDeque<Event>,
    pub(crate) batch: Batch,
    /// Committed nowhere yet, because the registry could not be written.
    pub(crate) unsaved: Batch,
    pub(crate) retry_at: Option<u64>,
    pub(crate) registry_error: Option<String>,
    pub(crate) spawn_replies: HashMap<RunId, oneshot::Sender<Result<RunRecord, SpawnRefused>>>,
    pub(crate) waiters: HashMap<RunId, Vec<oneshot::Sender<Cancelled>>>,
    /// Callers that wait until a run has a place in its pool, or will never have one.
    pub(crate) start_waiters: HashMap<RunId, Vec<oneshot::Sender<()>>>,
    pub(crate) stop_replies: Vec<oneshot::Sender<Stopped>>,
    /// What ended since a stop was asked for.
    pub(crate) ended: Vec<RunResult>,
    pub(crate) ended_since_prune: u64,
    pub(crate) pruning: Pruning,
    pub(crate) life_log: LifeLog,
    pub(crate) pruned_mono_ms: u64,
    pub(crate) stopping: bool,
    pub(crate) stopped: bool,
    /// A run asked for a restart, and cannot live to see it: our guardian starts the next supervisor.
    pub(crate) is_to_come_again: bool,
    pub(crate) guardian_info: GuardianInfo,
    pub(crate) guardian_link: GuardianLink,
    pub(crate) sockets: Sockets,
    /// Set when we are to make room for a successor.
    pub(crate) successor: Option<Successor>,
    /// The successor is another program, which may change the registry and fail.
    pub(crate) names_program: bool,
    pub(crate) liveness: watch::Sender<u64>,
    pub(crate) heartbeats_seen: Arc<ThreadHeartbeats>,
    reaper: Reaper,
    waker: Waker,
    asks: mpsc::Receiver<Ask>,
    output_events: mpsc::Receiver<OutputEvent>,
    notify_output: NotifyOutput,
    output_total: Arc<OutputTotal>,
    pub(crate) last_seq: watch::Sender<i64>,
    pub(crate) handle: Handle,
    pub(crate) lock: HomeLock,
    _fence: HomeLock,
}

impl Supervisor {
    /// Takes the home, opens the registry and reconciles. Must be called before any other thread is made.
    pub fn start(
        home: Home,
        settings: Settings,
        guardian_info: GuardianInfo,
        mut inheritance: Inheritance,
        judge: Arc<dyn Judge>,
    ) -> Result<Self, EngineError> {
        let reaper = Reaper::new().map_err(EngineError::os("listen to signals"))?;
        let inherited_lock = inheritance.take(LOCK).map(HomeLock::shared);
        if inherited_lock.as_ref().is_some_and(|lock| !lock.is_in_place(&home.lock())) {
            // The home was removed meanwhile: what is there now, if anything, is another's.
            return Err(EngineError::Removed { home: home.path().to_owned() });
        }
        let mut home = home;
        home.prepare()?;
        // Whoever gave us the lock has it as well, so that the home has an owner while we are dead. The
        // fence is ours alone, and of children between their birth and their exec.
        let lock = match inherited_lock {
            Some(lock) => lock,
            None => take_lock(&home, &home.lock())?,
        };
        let fence = take_lock(&home, &home.fence())?;
        ostler_os::become_reaper().map_err(EngineError::os("become the reaper of descendants"))?;
        let descriptors = ostler_os::lift_descriptor_limit();
        let instance = home.instance()?;
        let (mut registry, went_back) = open_registry(home.registry(), instance)?;
        failpoint::arm(&mut registry);
        if guardian_info.guardian.is_none() {
            let _ = home.write_pid();
        }
        let mut guardian_link = GuardianLink::new(&guardian_info, inheritance);
        if guardian_info.guardian.is_none() {
            // systemd knows nothing of homes: whoever called while we are dead could take it.
            guardian_link.fd_store.keep(LOCK, &lock);
        }

        let poller = Poller::new().map_err(EngineError::os("make a poller"))?;
        let waker = Waker::new(&poller, WAKER).map_err(EngineError::os("make a waker"))?;
        poller
            .add(&reaper, SIGNALS, Interest::Readable)
            .map_err(EngineError::os("watch for signals"))?;
        let (ask_sender, asks) = mpsc::channel();
        let (output_sender, output_events) = mpsc::channel();
        let output_waker = waker.clone();
        let heartbeats_seen = Arc::new(ThreadHeartbeats::default());
        let most = settings.output_bytes.unwrap_or_else(|| default_output_bytes(home.path()));
        let output_total = Arc::new(OutputTotal::new(most));
        let notify_output = move |event| {
            if output_sender.send(event).is_ok() {
                output_waker.wake();
            }
        };
        let notify_output: NotifyOutput = Arc::new(notify_output);
        let notify = Arc::clone(&notify_output);
        let total = Arc::clone(&output_total);
        let splice_pipe = guardian_link.splice_pipe();
        let output_writer =
            OutputWriter::start(splice_pipe, Arc::clone(&heartbeats_seen), total, move |event| {
                notify(event)
            })
            .map_err(EngineError::os("start the output writer"))?;
        let (last_seq, seq_receiver) = watch::channel(0);
        let (liveness, liveness_receiver) = watch::channel(0);
        let proof = Proof::of(&home.secret()).or_else(|_| Proof::passing());
        let proof = proof.map_err(EngineError::os("make a key for apps"))?;
        let apps = Arc::new(Apps::new(proof, home.app_socket()));
        let handle = Handle::new(
            ask_sender,
            waker.clone(),
            seq_receiver,
            liveness_receiver,
            Arc::clone(&heartbeats_seen),
            Arc::clone(&apps),
            Arc::clone(&output_total),
            instance,
        );
        let (probed_sender, probed) = mpsc::channel();
        let probed_waker = waker.clone();
        let prober = Prober::new(handle.clone(), move |event| {
            if probed_sender.send(event).is_ok() {
                probed_waker.wake();
            }
        });
        let room = if settings.kernel_boundary {
            ScopeFactory::open(&instance.to_string())
        } else {
            ScopeFactory::without_boundary(
                &instance.to_string(),
                "it is turned off by OSTLER_NO_CGROUP",
            )
        };
        let room =
            if settings.limit_groups { room } else { room.without_groups(&instance.to_string()) };
        let mut supervisor = Self {
            world: World::new(&settings, now()),
            handle,
            launcher: Launcher::new(),
            live: HashMap::new(),
            leaders: HashMap::new(),
            kept_inputs: HashMap::new(),
            strays: Strays::default(),
            is_to_come_again: false,
            census: OnceCell::new(),
            tokens: HashMap::new(),
            next_token: FIRST_RUN,
            events: VecDeque::new(),
            batch: Batch::default(),
            unsaved: Batch::default(),
            retry_at: None,
            registry_error: None,
            spawn_replies: HashMap::new(),
            waiters: HashMap::new(),
            start_waiters: HashMap::new(),
            stop_replies: Vec::new(),
            ended: Vec::new(),
            ended_since_prune: 0,
            pruning: Pruning::default(),
            life_log: LifeLog::default(),
            pruned_mono_ms: 0,
            stopping: false,
            stopped: false,
            guardian_info,
            guardian_link,
            sockets: Sockets::default(),
            successor: None,
            names_program: false,
            liveness,
            heartbeats_seen,
            home,
            settings,
            instance,
            registry,
            poller,
            room,
            descriptors,
            output_writer,
            prober,
            limit_watch: LimitWatch::new(waker.clone()),
            screens: ScreenWatch::new(judge, waker.clone()),
            apps,
            sessions: HashMap::new(),
            resumes: Resumes::default(),
            agent_idle: HashMap::new(),
            delivering: HashMap::new(),
            cpu_marks: HashMap::new(),
            kept_awake: HashMap::new(),
            noted: HashMap::new(),
            unit_waiters: Vec::new(),
            proven_at: None,
            timetable: Timetable::default(),
            is_timetable_old: true,
            deadmen: BTreeSet::new(),
            crash_budget: CrashBudget::default(),
            business: Activity::Busy,
            probed,
            reaper,
            waker,
            asks,
            output_events,
            notify_output,
            output_total,
            last_seq,
            lock,
            _fence: fence,
        };
        supervisor.watch_guardian();
        supervisor.note_way_back(went_back);
        if let Err(error) = supervisor.reconcile() {
            supervisor.room.close();
            return Err(error.at(supervisor.home.registry()));
        }
        supervisor.miss_guardian(supervisor.guardian_info.guardian);
        if supervisor.output_total.begin_sweep() {
            supervisor.sweep_output();
        }
        Ok(supervisor)
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Until it was asked to stop and every run has ended, or to hand over.
    pub fn run(mut self) -> Result<Outcome, EngineError> {
        let mut ready: Vec<Ready> = Vec::new();
        self.turn();
        while !self.stopped {
            if self.successor == Some(Successor::Named) && self.is_all_written() {
                self.successor = Some(Successor::Awaited);
                return Ok(self.leave());
            }
            let now_ms = ostler_os::mono_ms();
            let due = self
                .world
                .next_due()
                .min(self.retry_at.unwrap_or(u64::MAX))
                .min(self.proven_at.unwrap_or(u64::MAX))
                .min(self.guardian_link.next_due(now_ms))
                .min(self.sockets.next_due())
                .min(self.schedule_due(now_ms));
            self.poller
                .wait(Some(due.saturating_sub(now_ms)), &mut ready)
                .map_err(EngineError::os("wait for events"))?;
            self.gather(&ready);
            self.turn();
        }
        self.finish();
        Ok(match self.is_to_come_again {
            true => Outcome::Restarted(self.lock),
            false => Outcome::Stopped(self.lock),
        })
    }

    /// Ends every run, then us. Our guardian is told how long it may take.
    pub(crate) fn begin_stop(&mut self, by: Actor) {
        self.stopping = true;
        self.report_stopping();
        self.events.push_back(Event::ShutdownAsked { by });
    }

    /// A process of a run wants the daemon restarted. It would not live to start it: our guardian does.
    pub(crate) fn restart_for_caller_inside(&mut self, by: Actor) -> Option<RunId> {
        let Actor::Caller { pid, .. } = &by else { return None };
        let run = self.run_of_pid(*pid)?;
        if self.stopping
            || self.guardian_info.guardian.is_none()
            || !self.guardian_link.fd_store.is_there()
        {
            return None;
        }
        self.is_to_come_again = true;
        self.begin_stop(by);
        Some(run)
    }

    /// To the guardian: also to one that comes when it has begun.
    pub(crate) fn report_stopping(&mut self) {
        let grace_ms = self.world.records().map(|record| record.grace_ms).max().unwrap_or(0);
        let rounds = self.world.stop_depth() + 1;
        let most_ms = grace_ms.saturating_mul(rounds).saturating_add(STOP_MARGIN_MS);
        self.guardian_link.fd_store.report_stopping(most_ms);
    }

    /// Takes nothing new: ends what it took up, then itself.
    pub fn end_all(&mut self) {
        self.begin_stop(Actor::Supervisor);
    }

    /// Leaves the runs to a successor.
    pub(crate) fn hand_over(&mut self, program: Option<PathBuf>) -> HandOver {
        if self.stopping {
            return HandOver::Stopping;
        }
        if !self.guardian_link.fd_store.is_there() {
            return HandOver::NoGuardian;
        }
        match (program, self.guardian_info.guardian) {
            (Some(_), None) => return HandOver::Systemd,
            (Some(program), Some(_)) => {
                // Made now, so that it can be refused, and again when the last word is written.
                if let Err(error) = self.registry.keep_copy() {
                    return HandOver::NoCopy(error.description());
                }
                self.names_program = true;
                self.guardian_link.fd_store.report_successor(&program);
            }
            (None, _) => {}
        }
        self.successor = Some(Successor::Named);
        HandOver::Begun
    }

    /// What a successor needs is on disk and with the guardian.
    fn is_all_written(&self) -> bool {
        self.spawn_replies.is_empty()
            && self.unsaved.is_empty()
            && self.guardian_link.fd_store.retry_in().is_none()
    }

    fn leave(mut self) -> Outcome {
        self.entry(What::HandedOver, "a successor takes up what lives", json!({}));
        self.commit();
        if self.names_program {
            let _ = self.registry.keep_copy();
        }
        // The log is written to the end. Nobody who waits here is answered: they ask our successor.
        self.output_writer.finish();
        std::mem::forget(self);
        Outcome::HandedOver
    }

    fn finish(&mut self) {
        self.end_strays();
        self.entry(What::SupervisorStopped, "every run has ended", json!({}));
        self.retry_at = None;
        self.batch_unsaved();
        self.commit();
        let unsaved = self.unsaved.runs.len();
        let _ = self.registry.release(self.instance);
        self.room.close();
        if self.guardian_info.guardian.is_none() && self.lock.is_in_place(&self.home.lock()) {
            let _ = std::fs::remove_file(self.home.pid_file());
        }
        self.sockets.remove_all();
        let ended = std::mem::take(&mut self.ended);
        let left = self.all_that_lives_on();
        for reply in self.stop_replies.drain(..) {
            let _ = reply.send(Stopped { ended: ended.clone(), unsaved, left: left.clone() });
        }
    }

    /// What happened since the last turn, inside first.
    fn gather(&mut self, ready: &[Ready]) {
        self.census = OnceCell::new();
        for event in ready {
            match event.token {
                WAKER => self.waker.rest(),
                SIGNALS => self.take_signals(),
                GUARDIAN => self.guardian_died(),
                GUARDIAN_LINE => self.accept_new_guardian(),
                REPORTS => self.take_reports(),
                token => self.take_run_word(token),
            }
        }
        while let Ok(event) = self.output_events.try_recv() {
            self.take_output_event(event);
        }
        while let Ok(Probed { unit, event }) = self.probed.try_recv() {
            self.take_probed(unit, event);
        }
        self.take_memory_news();
        self.take_screen_news();
        self.maintain_guardian();
        self.maintain_sockets();
        let now = now();
        if self.world.lease_due(now) {
            self.events.push_back(Event::LeaseDue);
        }
        self.look_at_timetable();
        if self.world.units_due(now) {
            self.events.push_back(Event::UnitsDue);
        }
        for run in self.world.due_runs(now) {
            let is_ending =
                self.world.record(run).is_some_and(|record| record.state == RunState::Exiting);
            let tree = is_ending.then(|| self.survey(run));
            let last_output_mono_ms =
                self.live.get(&run).and_then(|live| live.output.last_mono_ms());
            self.events.push_back(Event::Due { run, last_output_mono_ms, tree });
        }
        if self.retry_at.is_some_and(|at| now.mono_ms >= at) {
            self.retry_at = None;
            self.batch_unsaved();
        }
        for _ in 0..ASKS_A_TURN {
            let Ok(ask) = self.asks.try_recv() else { return };
            self.take_ask(ask);
        }
        // However much is asked, ends and deadlines are looked at in between.
        self.waker.wake();
    }

    fn take_signals(&mut self) {
        for notice in self.reaper.notices() {
            match notice {
                Notice::ChildChanged => self.reap(),
                Notice::StopAsked => self.begin_stop(Actor::Kernel),
                Notice::HandOverAsked => {
                    self.hand_over(None);
                }
            }
        }
    }

    /// Every child that has ended: the runs' own, and the orphans that came to us. A tree is looked at when
    /// all corpses are gone.
    fn reap(&mut self) {
        let mut orphans = 0;
        let mut roots = Vec::new();
        while let Some(reaped) = self.reaper.next() {
            match self.leaders.remove(&reaped.pid) {
                Some(run) => roots.push((run, reaped.ending)),
                None if self.strays.reapers.remove(&reaped.pid).is_some() => {
                    self.reaper_ended(reaped.pid, reaped.ending);
                }
                None => orphans += 1,
            }
        }
        for (run, ending) in roots {
            if let Some(live) = self.live.get_mut(&run).filter(|live| live.is_watched_by_descriptor)
            {
                // It had a reaper, which was killed; its descriptor has nothing more to tell.
                live.is_watched_by_descriptor = false;
                live.root_gone = true;
                if let Some(process) = &live.process {
                    self.poller.remove(process);
                }
            }
            let status = status_of(Some(ending));
            let tree = self.survey(run);
            self.events.push_back(Event::RootExited { run, status, tree });
        }
        if orphans > 0 {
            self.batch.counts.push((Counter::ZombiesReaped, orphans));
        }
    }

    pub(crate) fn survey(&self, run: RunId) -> ostler_core::Survey {
        let mut seen =
            self.live.get(&run).map(|live| survey(&self.members(live))).unwrap_or_default();
        seen.memory = seen.memory.or_else(|| self.memory_of_container(run));
        seen.is_unexplained |= self.may_have_container(run);
        seen
    }

    /// It ends by itself when nobody of its run is left. Killed, it leaves its run to us.
    fn reaper_ended(&mut self, pid: i32, ending: Ending) {
        let is_its = |live: &&LiveRun| {
            let reaper = live.scope.as_ref().and_then(ostler_os::Scope::reaper);
            reaper.is_some_and(|reaper| reaper.fingerprint().pid == pid)
        };
        let run = self.live.values().find(is_its).map(|live| live.run);
        if let (Some(run), Ending::Signal(signal)) = (run, ending) {
            let why =
                format!("it was killed by signal {signal}; what it held came to the supervisor");
            self.run_entry(run, What::ReaperLost, &why, json!({ "pid": pid, "signal": signal }));
        }
    }

    /// A word from a run's own descriptors: its scope changed, or (if adopted) its first process ended.
    fn take_run_word(&mut self, token: u64) {
        let Some(run) = self.tokens.get(&token).copied() else { return };
        let Some(live) = self.live.get(&run) else { return };
        if token == live.token + CLIENT_TOKEN {
            return self.client_gone(run);
        }
        if live.is_watched_by_descriptor && token == live.token {
            // Our guardian tells before it reaps: if the corpse is gone, we have been told. One whose reaper was
            // killed is our own child.
            self.take_reports();
            self.reap();
            if self.live.get(&run).is_some_and(|live| live.is_watched_by_descriptor) {
                self.root_gone(run);
            }
            return;
        }
        self.unwatch(run);
        // Corpses among our own children are collected first, so that a tree told to be empty is so.
        self.reap();
        let tree = self.survey(run);
        if !tree.is_empty() {
            self.watch(run);
        }
        self.events.push_back(Event::Surveyed { run, tree });
    }

    fn sweep_output(&self) {
        let notify = Arc::clone(&self.notify_output);
        let sweep = Sweep {
            runs: self.home.path().join("runs"),
            registry: self.home.registry().to_owned(),
            total: Arc::clone(&self.output_total),
        };
        sweep.begin(move |event| notify(event));
    }

    fn note_swept(&mut self, swept: Swept) {
        let most = self.output_total.most();
        for (run, bytes) in swept.dropped {
            let why = "its output was removed: that of all runs together has a bound, and it is among the oldest";
            let evidence = json!({ "bytes": bytes, "mostBytes": most });
            self.run_entry(run, What::OutputDropped, why, evidence);
        }
        for (run, keeps) in swept.trimmed {
            self.output_writer.trim(run, keeps);
            let why = "its oldest output is removed: the output of all live runs together is more than is kept";
            let evidence = json!({ "keepsBytes": keeps, "mostBytes": most });
            self.run_entry(run, What::OutputDropped, why, evidence);
        }
    }

    fn take_output_event(&mut self, event: OutputEvent) {
        match event {
            OutputEvent::TooMuch => self.sweep_output(),
            OutputEvent::Swept(swept) => self.note_swept(swept),
            OutputEvent::Ended { run } => {
                self.kept_inputs.remove(&run);
                self.events.push_back(Event::OutputEnded { run });
            }
            OutputEvent::GapBegan { run, from, error } => {
                self.run_entry(
                    run,
                    What::OutputLost,
                    "its log cannot be written; it goes on, only its newest output is in memory",
                    json!({ "fromOffset": from, "error": error }),
                );
            }
            OutputEvent::GapEnded { run, from, to } => {
                self.run_entry(
                    run,
                    What::OutputLost,
                    "its log is written again; what came between is lost",
                    json!({ "fromOffset": from, "toOffset": to }),
                );
            }
        }
    }

    pub(crate) fn new_token(&mut self, run: RunId) -> u64 {
        // Its process, the watch on its scope, and its client.
        let token = self.next_token;
        self.next_token += TOKENS;
        for each in token..self.next_token {
            self.tokens.insert(each, run);
        }
        token
    }

    /// The record with what changes too often to be written each time.
    pub(crate) fn shown(&self, record: &RunRecord) -> RunRecord {
        let mut shown = record.clone();
        if let Some(live) = self.live.get(&record.run_id) {
            shown.last_output_at_ms = live.output.last_wall_ms().or(shown.last_output_at_ms);
            shown.output_bytes = live.output.written().max(shown.output_bytes);
        }
        shown.why = self.world.why_queued(record.run_id, now());
        shown.lease_expires_at_ms = Some(ostler_os::wall_ms() + self.settings.lease_ms)
            .filter(|_| record.state != RunState::Exited);
        shown
    }

    /// Decides, commits and acts until nothing more follows.
    pub(crate) fn turn(&mut self) {
        loop {
            let mut effects = Vec::new();
            let mut launches = 0;
            while let Some(event) = self.events.pop_front() {
                let now = now();
                let step = self.world.step(event, now);
                for write in step.writes {
                    self.add_to_batch(write);
                }
                for effect in step.effects {
                    match effect {
                        // It only asks for a run: the end of the last one and the intent of the next are one
                        // commit. Those of thousands are not: such a batch would be the most memory we ever need.
                        Effect::Launch(unit) if launches < LAUNCHES_AT_ONCE => {
                            launches += 1;
                            self.launch(&unit);
                        }
                        effect => effects.push(effect),
                    }
                }
            }
            let durable = self.commit();
            for effect in effects {
                self.carry_out(effect, durable);
            }
            if self.events.is_empty() && self.batch.is_empty() {
                self.answer_unit_waiters();
                return;
            }
        }
    }
}

/// Opens it. One that a program on trial has made too new for us is put back as it was.
fn open_registry(
    path: &Path,
    instance: InstanceId,
) -> Result<(Registry, Option<Rollback>), EngineError> {
    match Registry::open(path) {
        Err(newer @ RegistryError::Newer { .. }) => {
            match Registry::go_back(path, instance, ostler_os::wall_ms())? {
                went_back @ Rollback::Yes { .. } => Ok((Registry::open(path)?, Some(went_back))),
                Rollback::NoCopy | Rollback::Shared => Err(newer.into()),
            }
        }
        outcome => Ok((outcome?, None)),
    }
}

pub(crate) fn now() -> Now {
    Now { mono_ms: ostler_os::mono_ms(), wall_ms: ostler_os::wall_ms() }
}

/// How many units' runs are asked for in the commit that says why.
const LAUNCHES_AT_ONCE: usize = 16;
/// Beyond the longest grace: for KILL, and for writing down how it ended.
const STOP_MARGIN_MS: u64 = 15_000;

/// A killed predecessor may still have a child between birth and exec, which holds the lock with it; that
/// is over in an instant.
fn take_lock(home: &Home, path: &Path) -> Result<HomeLock, EngineError> {
    const TRIES: u32 = 50;
    for _ in 0..TRIES {
        match ostler_os::take_lock(path).map_err(EngineError::os("lock the home"))? {
            Some(lock) => return Ok(lock),
            None if ostler_os::connect(home.socket()).is_ok() => break,
            None => ostler_os::nap(std::time::Duration::from_millis(20)),
        }
    }
    Err(EngineError::Owned { home: home.path().to_owned() })
}
