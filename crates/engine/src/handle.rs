//! The requests that other threads send to the dispatcher.

use crate::agents::AgentRequest;
use crate::agents::sessions::SessionReply;
use crate::apps::{AppReport, Apps, Refused};
use crate::guardian_link::ThreadHeartbeats;
use crate::output::{OutputState, OutputTotal};
use crate::runs::input::Input;
use crate::runs::pools::PoolRefused;
use crate::runs::viewers::AttachCount;
use crate::store::mail::{MailNews, MailRequest};
use crate::store::patrol::PatrolRequest;
use crate::units::{Declaration, WaitCondition};
use ostler_core::unit::{Ask as UnitAsk, UnitEvent};
use ostler_model::{Actor, InstanceId, RunId, RunRecord, RunResult, RunSpec, TerminalSize};
use ostler_model::{AgentIdle, AppSpec, Change, PoolView, UnitView, What};
use ostler_os::Waker;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use tokio::sync::{oneshot, watch};

/// Why a spawn was not even tried.
#[derive(Debug)]
pub enum SpawnRefused {
    ShuttingDown,
    /// It names a pool that no file declares.
    Pool(PoolRefused),
    /// The intent could not be written.
    Registry {
        message: String,
    },
}

#[derive(Debug)]
pub enum Cancelled {
    Ended(RunResult),
    /// Not a live run of this supervisor; the registry has its record.
    NotLive,
}

/// The result of an orderly stop.
#[derive(Default, Debug)]
pub struct Stopped {
    pub ended: Vec<RunResult>,
    /// Results that could not be written to the registry.
    pub unsaved: usize,
    /// Processes of earlier runs that could not be ended and still live, one sentence each.
    pub left: Vec<String>,
}

/// The result of a request to hand over to a new supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandOver {
    Begun,
    /// The registry could not be copied, so a rollback from a failing program would be impossible.
    NoCopy(String),
    /// No guardian exists that could start the new supervisor.
    NoGuardian,
    /// systemd is the guardian; it starts the program of its unit file.
    Systemd,
    Stopping,
}

/// The guardian of this supervisor.
#[derive(Clone, Debug, Default)]
pub struct GuardianStatus {
    pub pid: Option<i32>,
    /// Why the program of an upgrade was not used.
    pub rollback_reason: Option<String>,
}

/// What holds the processes of a live run.
#[derive(Clone, Debug, Default)]
pub struct RunHandles {
    /// Its cgroup, if it has one.
    pub boundary: Option<String>,
    /// The note that names the run's process in a tmux pane.
    pub pane_note: Option<PathBuf>,
    /// The process that adopts its orphans, if it has no cgroup.
    pub reaper: Option<i32>,
}

pub(crate) type Declared = Result<Vec<Change>, PoolRefused>;

/// The actor that cancels a run, and the reason it gave.
#[derive(Clone, Debug)]
pub struct Canceller {
    pub by: Actor,
    pub said: Option<String>,
    /// Without the grace period.
    pub at_once: bool,
}

pub(crate) enum Request {
    Spawn {
        spec: Box<RunSpec>,
        by: Actor,
        reply: oneshot::Sender<Result<RunRecord, SpawnRefused>>,
    },
    Check {
        spec: Box<RunSpec>,
        reply: oneshot::Sender<RunRecord>,
    },
    Cancel {
        run: RunId,
        by: Canceller,
        reply: oneshot::Sender<Cancelled>,
    },
    Leave {
        run: RunId,
        by: Actor,
        reply: oneshot::Sender<()>,
    },
    Descendants {
        run: RunId,
        reply: oneshot::Sender<Vec<RunId>>,
    },
    Wait {
        run: RunId,
        reply: oneshot::Sender<Cancelled>,
    },
    AwaitStart {
        run: RunId,
        reply: oneshot::Sender<()>,
    },
    Pools {
        reply: oneshot::Sender<Vec<PoolView>>,
    },
    Live {
        reply: oneshot::Sender<usize>,
    },
    Records {
        reply: oneshot::Sender<Vec<RunRecord>>,
    },
    Record {
        run: RunId,
        reply: oneshot::Sender<Option<RunRecord>>,
    },
    Attach {
        run: RunId,
        reply: oneshot::Sender<Option<Attached>>,
    },
    Resize {
        run: RunId,
        size: TerminalSize,
    },
    Shutdown {
        by: Actor,
        reply: oneshot::Sender<Stopped>,
    },
    Restart {
        by: Actor,
        reply: oneshot::Sender<Option<RunId>>,
    },
    InputClosed {
        run: RunId,
    },
    Declare {
        declaration: Declaration,
        by: Actor,
        reply: oneshot::Sender<Declared>,
    },
    Units {
        names: Vec<String>,
        ask: UnitAsk,
        by: Actor,
        reply: oneshot::Sender<()>,
    },
    Wake,
    Await {
        names: Vec<String>,
        until: WaitCondition,
        reply: oneshot::Sender<Vec<UnitView>>,
    },
    UnitViews {
        reply: oneshot::Sender<Vec<UnitView>>,
    },
    Boundaries {
        reply: oneshot::Sender<HashMap<RunId, RunHandles>>,
    },
    HandOver {
        program: Option<PathBuf>,
        reply: oneshot::Sender<HandOver>,
    },
    Guardian {
        reply: oneshot::Sender<GuardianStatus>,
    },
    Register {
        claim: Claim,
        reply: oneshot::Sender<Result<Arc<AppReport>, Refused>>,
    },
    RunOfPid {
        pid: i32,
        reply: oneshot::Sender<Option<RunId>>,
    },
    AppReported {
        unit: String,
        event: UnitEvent,
    },
    Specs {
        reply: oneshot::Sender<Vec<(UnitView, Arc<AppSpec>)>>,
    },
    Mail(MailRequest),
    /// The id of the conversation of a unit's agent; `None` removes it.
    Session {
        of: String,
        session: Option<String>,
        reply: SessionReply,
    },
    AgentIdle {
        run: RunId,
        idle: AgentIdle,
    },
    WakeUnit {
        name: String,
        by: Actor,
        why: String,
    },
    Patrol(PatrolRequest),
    Agent(AgentRequest),
}

/// A process claims to be this app.
#[derive(Clone, Debug)]
pub struct Claim {
    pub app: String,
    /// According to the kernel.
    pub pid: i32,
    pub secret: Option<String>,
}

/// The output and input of a live run.
#[derive(Clone, Debug)]
pub struct Attached {
    pub output: Arc<OutputState>,
    pub input: Arc<Input>,
    pub attach_count: Arc<AttachCount>,
}

/// The interface to the dispatcher. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    requests: mpsc::Sender<Request>,
    waker: Waker,
    last_seq: watch::Receiver<i64>,
    liveness: watch::Receiver<u64>,
    heartbeats_seen: Arc<ThreadHeartbeats>,
    apps: Arc<Apps>,
    output_total: Arc<OutputTotal>,
    instance: InstanceId,
    mail_news: Arc<MailNews>,
}

impl Handle {
    #[expect(
        clippy::too_many_arguments,
        reason = "all that other threads share with the dispatcher"
    )]
    pub(crate) fn new(
        requests: mpsc::Sender<Request>,
        waker: Waker,
        last_seq: watch::Receiver<i64>,
        liveness: watch::Receiver<u64>,
        heartbeats_seen: Arc<ThreadHeartbeats>,
        apps: Arc<Apps>,
        output_total: Arc<OutputTotal>,
        instance: InstanceId,
    ) -> Self {
        let mail_news = Arc::default();
        Self {
            requests,
            waker,
            last_seq,
            liveness,
            heartbeats_seen,
            apps,
            output_total,
            instance,
            mail_news,
        }
    }

    /// The size of all output, and its limit.
    pub fn output_total(&self) -> &OutputTotal {
        &self.output_total
    }

    /// The instance of the home.
    pub fn instance(&self) -> InstanceId {
        self.instance
    }

    /// The mailboxes that changed.
    pub fn mail_news(&self) -> &Arc<MailNews> {
        &self.mail_news
    }

    pub(crate) async fn ask<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.notify(make(reply));
        answer.await.ok()
    }

    pub(crate) fn notify(&self, request: Request) {
        if self.requests.send(request).is_ok() {
            self.waker.wake();
        }
    }

    /// Replies when the run executes and its record says so, or with the record that says why not.
    pub async fn spawn(&self, spec: Box<RunSpec>, by: Actor) -> Result<RunRecord, SpawnRefused> {
        self.ask(|reply| Request::Spawn { spec, by, reply })
            .await
            .unwrap_or(Err(SpawnRefused::ShuttingDown))
    }

    /// Replies when the run is over, with its record; `None` if it was never tried.
    pub(crate) async fn check(&self, spec: Box<RunSpec>) -> Option<RunRecord> {
        self.ask(|reply| Request::Check { spec, reply }).await
    }

    /// Replies when the run is over.
    pub async fn cancel(&self, run: RunId, by: Canceller) -> Cancelled {
        self.ask(|reply| Request::Cancel { run, by, reply }).await.unwrap_or(Cancelled::NotLive)
    }

    /// The calling client shows the run in the foreground and detaches from it. Replies after that is on disk.
    pub async fn leave(&self, run: RunId, by: Actor) -> Option<()> {
        self.ask(|reply| Request::Leave { run, by, reply }).await
    }

    /// The live runs that end with this one: its children, and theirs.
    pub async fn descendants(&self, run: RunId) -> Vec<RunId> {
        self.ask(|reply| Request::Descendants { run, reply }).await.unwrap_or_default()
    }

    /// Replies when the run is over.
    pub async fn wait(&self, run: RunId) -> Cancelled {
        self.ask(|reply| Request::Wait { run, reply }).await.unwrap_or(Cancelled::NotLive)
    }

    /// The number of live runs of this supervisor.
    pub async fn live(&self) -> usize {
        self.ask(|reply| Request::Live { reply }).await.unwrap_or(0)
    }

    /// The live runs of this supervisor; `None` if it has stopped.
    pub async fn records(&self) -> Option<Vec<RunRecord>> {
        self.ask(|reply| Request::Records { reply }).await
    }

    pub async fn record(&self, run: RunId) -> Option<RunRecord> {
        self.ask(|reply| Request::Record { run, reply }).await.flatten()
    }

    pub async fn attach(&self, run: RunId) -> Option<Attached> {
        self.ask(|reply| Request::Attach { run, reply }).await.flatten()
    }

    pub fn resize(&self, run: RunId, size: TerminalSize) {
        self.notify(Request::Resize { run, size });
    }

    /// Ends every run, then the supervisor. Replies when all runs have ended; `None` if the supervisor had already stopped.
    pub async fn shutdown(&self, by: Actor) -> Option<Stopped> {
        self.ask(|reply| Request::Shutdown { by, reply }).await
    }

    /// If the caller is a process of a run, returns that run; every run ends, that one too, and a new supervisor
    /// starts. For any other caller, nothing happens.
    pub async fn restart_for(&self, by: Actor) -> Option<RunId> {
        self.ask(|reply| Request::Restart { by, reply }).await.flatten()
    }

    /// The changes, planned or made; `None` if the supervisor has stopped.
    pub async fn declare(
        &self,
        declaration: Declaration,
        by: Actor,
    ) -> Option<Result<Vec<Change>, PoolRefused>> {
        self.ask(|reply| Request::Declare { declaration, by, reply }).await
    }

    /// Every pool, with its running and waiting members.
    pub async fn pools(&self) -> Vec<PoolView> {
        self.ask(|reply| Request::Pools { reply }).await.unwrap_or_default()
    }

    /// Replies when the run no longer waits for a place in its pool.
    pub async fn await_start(&self, run: RunId) {
        let _ = self.ask(|reply| Request::AwaitStart { run, reply }).await;
    }

    /// A command started the daemon: units that were stopped with it start.
    pub fn wake(&self) {
        self.notify(Request::Wake);
    }

    /// Replies when the request is on disk, so that the next supervisor knows it too; `None` if this one ends before.
    pub async fn ask_units(&self, names: Vec<String>, ask: UnitAsk, by: Actor) -> Option<()> {
        self.ask(|reply| Request::Units { names, ask, by, reply }).await
    }

    /// Replies when the condition holds for all of them; `None` if the supervisor has stopped.
    pub async fn await_units(
        &self,
        names: Vec<String>,
        until: WaitCondition,
    ) -> Option<Vec<UnitView>> {
        self.ask(|reply| Request::Await { names, until, reply }).await
    }

    /// `None` if the supervisor has stopped.
    pub async fn unit_views(&self) -> Option<Vec<UnitView>> {
        self.ask(|reply| Request::UnitViews { reply }).await
    }

    /// The live runs, with what holds their processes.
    pub async fn boundaries(&self) -> HashMap<RunId, RunHandles> {
        self.ask(|reply| Request::Boundaries { reply }).await.unwrap_or_default()
    }

    /// The run's standard input was closed: release all other copies of it.
    pub fn input_closed(&self, run: RunId) {
        self.notify(Request::InputClosed { run });
    }

    /// Changes when a heartbeat is due; each thread then confirms it.
    pub fn liveness(&self) -> watch::Receiver<u64> {
        self.liveness.clone()
    }

    pub fn thread_heartbeat_seen(&self, liveness: u64) {
        self.heartbeats_seen.control_socket.store(liveness, Ordering::Release);
    }

    /// Hands over to a new supervisor of the same or another program. The runs continue.
    pub async fn hand_over(&self, program: Option<PathBuf>) -> HandOver {
        self.ask(|reply| Request::HandOver { program, reply }).await.unwrap_or(HandOver::Stopping)
    }

    pub async fn guardian_status(&self) -> GuardianStatus {
        self.ask(|reply| Request::Guardian { reply }).await.unwrap_or_default()
    }

    /// The apps that report to the supervisor.
    pub fn apps(&self) -> &Apps {
        &self.apps
    }

    /// Identifies the app of a caller.
    pub async fn register(&self, claim: Claim) -> Result<Arc<AppReport>, Refused> {
        self.ask(|reply| Request::Register { claim, reply })
            .await
            .unwrap_or(Err(Refused::NotRunning))
    }

    /// The run that a process belongs to, according to the kernel.
    pub async fn run_of_pid(&self, pid: i32) -> Option<RunId> {
        self.ask(|reply| Request::RunOfPid { pid, reply }).await.flatten()
    }

    /// Adds a journal entry about an app.
    pub fn note_app(
        &self,
        report: &AppReport,
        what: What,
        why: String,
        evidence: serde_json::Value,
    ) {
        let event = UnitEvent::Noted { run: report.run, what, why, evidence };
        self.notify(Request::AppReported { unit: report.unit.clone(), event });
    }

    /// All declared apps.
    pub async fn app_views(&self) -> Vec<(UnitView, Arc<AppSpec>)> {
        self.ask(|reply| Request::Specs { reply }).await.unwrap_or_default()
    }

    /// Changes with every commit to the journal; the value is the last entry's number.
    pub fn journal(&self) -> watch::Receiver<i64> {
        self.last_seq.clone()
    }
}
