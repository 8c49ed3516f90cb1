//! What a face may ask of the engine.

use crate::agents::AgentAsk;
use crate::agents::sessions::SessionReply;
use crate::apps::{AppReport, Apps, Refused};
use crate::guardian_link::ThreadHeartbeats;
use crate::output::{OutputState, OutputTotal};
use crate::runs::input::Input;
use crate::runs::pools::PoolRefused;
use crate::runs::viewers::AttachCount;
use crate::store::mail::{MailAsk, MailNews};
use crate::store::patrol::PatrolAsk;
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
    /// It names a pool that no file has declared.
    Pool(PoolRefused),
    /// The intent could not be made durable.
    Registry {
        message: String,
    },
}

#[derive(Debug)]
pub enum Cancelled {
    Ended(RunResult),
    /// Not ours, or over already: the registry knows.
    NotLive,
}

/// What an orderly stop had to end.
#[derive(Default, Debug)]
pub struct Stopped {
    pub ended: Vec<RunResult>,
    /// Results that could not be written to the registry any more.
    pub unsaved: usize,
    /// What of earlier runs could not be ended and still lives, each in a sentence.
    pub left: Vec<String>,
}

/// What became of the wish to hand over to a successor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandOver {
    Begun,
    /// The registry could not be copied, so there would be no way back from a program that fails.
    NoCopy(String),
    /// There is nobody above us who would start it.
    NoGuardian,
    /// It is systemd, which starts what its unit says.
    Systemd,
    Stopping,
}

/// Who keeps us.
#[derive(Clone, Debug, Default)]
pub struct Caretaker {
    pub guardian: Option<i32>,
    /// Why the program that was to take our place did not.
    pub went_back: Option<String>,
}

/// What holds a live run.
#[derive(Clone, Debug, Default)]
pub struct RunHandles {
    /// Its kernel boundary, where it has one.
    pub boundary: Option<String>,
    /// The note of who was started elsewhere for it.
    pub pane_slot: Option<PathBuf>,
    /// The process that takes in its orphans, where it has no boundary.
    pub reaper: Option<i32>,
}

pub(crate) type Declared = Result<Vec<Change>, PoolRefused>;

/// Who cancels a run, and the reason in their own words.
#[derive(Clone, Debug)]
pub struct Canceller {
    pub by: Actor,
    pub said: Option<String>,
}

pub(crate) enum Ask {
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
        reply: oneshot::Sender<Caretaker>,
    },
    Register {
        claim: Claim,
        reply: oneshot::Sender<Result<Arc<AppReport>, Refused>>,
    },
    Whose {
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
    Mail(MailAsk),
    /// The id of the conversation of a unit's agent; none forgets it.
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
    Patrol(PatrolAsk),
    Agent(AgentAsk),
}

/// Somebody says that it is this app.
#[derive(Clone, Debug)]
pub struct Claim {
    pub app: String,
    /// The kernel's word.
    pub pid: i32,
    pub secret: Option<String>,
}

/// The live ends of a run.
#[derive(Clone, Debug)]
pub struct Attached {
    pub output: Arc<OutputState>,
    pub input: Arc<Input>,
    pub hands: Arc<AttachCount>,
}

/// A face's way in. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    asks: mpsc::Sender<Ask>,
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
    #[expect(clippy::too_many_arguments, reason = "all that faces share with the dispatcher")]
    pub(crate) fn new(
        asks: mpsc::Sender<Ask>,
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
            asks,
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

    /// How much output of all runs is kept, and how much may be.
    pub fn output_total(&self) -> &OutputTotal {
        &self.output_total
    }

    /// Whose home it is.
    pub fn instance(&self) -> InstanceId {
        self.instance
    }

    /// Whose mailbox is not what it was.
    pub fn mail_news(&self) -> &Arc<MailNews> {
        &self.mail_news
    }

    pub(crate) async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.notify(make(reply));
        answer.await.ok()
    }

    pub(crate) fn notify(&self, ask: Ask) {
        if self.asks.send(ask).is_ok() {
            self.waker.wake();
        }
    }

    /// Answers once the run is executing and its record says so, or with the record that says why not.
    pub async fn spawn(&self, spec: Box<RunSpec>, by: Actor) -> Result<RunRecord, SpawnRefused> {
        self.ask(|reply| Ask::Spawn { spec, by, reply })
            .await
            .unwrap_or(Err(SpawnRefused::ShuttingDown))
    }

    /// Answers when it is over, with all that is known of it; `None` if it was not even tried.
    pub(crate) async fn check(&self, spec: Box<RunSpec>) -> Option<RunRecord> {
        self.ask(|reply| Ask::Check { spec, reply }).await
    }

    /// Answers when the run is over.
    pub async fn cancel(&self, run: RunId, by: Canceller) -> Cancelled {
        self.ask(|reply| Ask::Cancel { run, by, reply }).await.unwrap_or(Cancelled::NotLive)
    }

    /// The caller shows it in the foreground, and leaves it running. Answers when that is on disk.
    pub async fn leave(&self, run: RunId, by: Actor) -> Option<()> {
        self.ask(|reply| Ask::Leave { run, by, reply }).await
    }

    /// Live runs that end with this one: those that were asked for from inside it, and from inside those.
    pub async fn descendants(&self, run: RunId) -> Vec<RunId> {
        self.ask(|reply| Ask::Descendants { run, reply }).await.unwrap_or_default()
    }

    /// Answers when the run is over.
    pub async fn wait(&self, run: RunId) -> Cancelled {
        self.ask(|reply| Ask::Wait { run, reply }).await.unwrap_or(Cancelled::NotLive)
    }

    /// How many live runs are ours.
    pub async fn live(&self) -> usize {
        self.ask(|reply| Ask::Live { reply }).await.unwrap_or(0)
    }

    /// Our own live runs; `None` if the supervisor has stopped.
    pub async fn records(&self) -> Option<Vec<RunRecord>> {
        self.ask(|reply| Ask::Records { reply }).await
    }

    pub async fn record(&self, run: RunId) -> Option<RunRecord> {
        self.ask(|reply| Ask::Record { run, reply }).await.flatten()
    }

    pub async fn attach(&self, run: RunId) -> Option<Attached> {
        self.ask(|reply| Ask::Attach { run, reply }).await.flatten()
    }

    pub fn resize(&self, run: RunId, size: TerminalSize) {
        self.notify(Ask::Resize { run, size });
    }

    /// Ends every run, then the supervisor. Answers when the runs are gone; `None` if it had stopped before it was asked.
    pub async fn shutdown(&self, by: Actor) -> Option<Stopped> {
        self.ask(|reply| Ask::Shutdown { by, reply }).await
    }

    /// For a caller that is a process of a run, which is named: every run ends, that one too, and then a new
    /// supervisor begins. Nothing happens for any other caller.
    pub async fn restart_for(&self, by: Actor) -> Option<RunId> {
        self.ask(|reply| Ask::Restart { by, reply }).await.flatten()
    }

    /// What would change, or changes now; `None` if the supervisor has stopped.
    pub async fn declare(
        &self,
        declaration: Declaration,
        by: Actor,
    ) -> Option<Result<Vec<Change>, PoolRefused>> {
        self.ask(|reply| Ask::Declare { declaration, by, reply }).await
    }

    /// Every pool, with who runs and who waits.
    pub async fn pools(&self) -> Vec<PoolView> {
        self.ask(|reply| Ask::Pools { reply }).await.unwrap_or_default()
    }

    /// Answers when the run no longer waits for a place in its pool.
    pub async fn await_start(&self, run: RunId) {
        let _ = self.ask(|reply| Ask::AwaitStart { run, reply }).await;
    }

    /// The daemon is started by somebody: units that rested with it begin.
    pub fn wake(&self) {
        self.notify(Ask::Wake);
    }

    pub fn ask_units(&self, names: Vec<String>, ask: UnitAsk, by: Actor) {
        self.notify(Ask::Units { names, ask, by });
    }

    /// Answers when it is true of all of them; `None` if the supervisor has stopped.
    pub async fn await_units(
        &self,
        names: Vec<String>,
        until: WaitCondition,
    ) -> Option<Vec<UnitView>> {
        self.ask(|reply| Ask::Await { names, until, reply }).await
    }

    /// `None` if the supervisor has stopped.
    pub async fn unit_views(&self) -> Option<Vec<UnitView>> {
        self.ask(|reply| Ask::UnitViews { reply }).await
    }

    /// Our live runs, with what holds them.
    pub async fn boundaries(&self) -> HashMap<RunId, RunHandles> {
        self.ask(|reply| Ask::Boundaries { reply }).await.unwrap_or_default()
    }

    /// The run's standard input was closed: nobody is to hold it open any more.
    pub fn input_closed(&self, run: RunId) {
        self.notify(Ask::InputClosed { run });
    }

    /// Changes when a sign of life is wanted; whoever sees it says so.
    pub fn liveness(&self) -> watch::Receiver<u64> {
        self.liveness.clone()
    }

    pub fn thread_heartbeat_seen(&self, liveness: u64) {
        self.heartbeats_seen.door.store(liveness, Ordering::Release);
    }

    /// Makes room for a successor: the same program, or another. The runs go on.
    pub async fn hand_over(&self, program: Option<PathBuf>) -> HandOver {
        self.ask(|reply| Ask::HandOver { program, reply }).await.unwrap_or(HandOver::Stopping)
    }

    pub async fn keeping(&self) -> Caretaker {
        self.ask(|reply| Ask::Guardian { reply }).await.unwrap_or_default()
    }

    /// Who talks back.
    pub fn apps(&self) -> &Apps {
        &self.apps
    }

    /// The app that somebody says it is.
    pub async fn register(&self, claim: Claim) -> Result<Arc<AppReport>, Refused> {
        self.ask(|reply| Ask::Register { claim, reply }).await.unwrap_or(Err(Refused::NotRunning))
    }

    /// The run that a process belongs to, by the kernel's word.
    pub async fn run_of_pid(&self, pid: i32) -> Option<RunId> {
        self.ask(|reply| Ask::Whose { pid, reply }).await.flatten()
    }

    /// Something to be told of an app.
    pub fn note_app(
        &self,
        report: &AppReport,
        what: What,
        why: String,
        evidence: serde_json::Value,
    ) {
        let event = UnitEvent::Noted { run: report.run, what, why, evidence };
        self.notify(Ask::AppReported { unit: report.unit.clone(), event });
    }

    /// All apps that are declared.
    pub async fn app_views(&self) -> Vec<(UnitView, Arc<AppSpec>)> {
        self.ask(|reply| Ask::Specs { reply }).await.unwrap_or_default()
    }

    /// Changes with every commit to the journal; its value is the last entry's number.
    pub fn journal(&self) -> watch::Receiver<i64> {
        self.last_seq.clone()
    }
}
