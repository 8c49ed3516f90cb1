//! The parts of a supervisor. Each part has one concern; the comment of a part names its invariant.

use super::{Activity, NotifyOutput, Successor};
use crate::agents::ScreenWatch;
use crate::agents::sessions::Resumes;
use crate::apps::Apps;
use crate::checks::prober::{Probed, Prober};
use crate::guardian_link::{GuardianInfo, GuardianLink, ThreadHeartbeats};
use crate::handle::{Cancelled, Handle, Request, SpawnRefused, Stopped};
use crate::home::Home;
use crate::output::{OutputEvent, OutputTotal, OutputWriter};
use crate::runs::input::Input;
use crate::runs::memory_limits::LimitWatch;
use crate::runs::strays::Strays;
use crate::runs::table::LiveRun;
use crate::sockets::Sockets;
use crate::store::crash_log::CrashBudget;
use crate::store::life_log::LifeLog;
use crate::store::pruning::Pruning;
use crate::units::UnitWaiter;
use crate::units::idle::CpuMark;
use crate::units::schedule::Timetable;
use ostler_core::{Event, World};
use ostler_model::{
    AgentIdle, AgentSession, DeadmanSpec, InstanceId, RunId, RunRecord, RunResult, Settings,
};
use ostler_os::{Allocated, Census, HomeLock, Launcher, Poller, Reaper, ScopeFactory, Waker};
use ostler_registry::{Batch, Writer};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, mpsc};
use tokio::sync::{oneshot, watch};

/// The home of this supervisor. The locks are held as long as it may act on the home's runs.
pub(crate) struct Identity {
    pub(crate) home: Home,
    pub(crate) settings: Settings,
    pub(crate) instance: InstanceId,
    pub(crate) lock: HomeLock,
    pub(crate) _fence: HomeLock,
}

/// The core, and the events that it has not received yet. Only `turn` passes events to it.
pub(crate) struct Core {
    pub(crate) world: World,
    pub(crate) events: VecDeque<Event>,
}

/// The sockets and state through which callers and apps reach the supervisor.
pub(crate) struct Endpoints {
    pub(crate) handle: Handle,
    pub(crate) sockets: Sockets,
    pub(crate) apps: Arc<Apps>,
}

/// The registry and the pending writes: `batch` has those of this turn, `unsaved` those that failed before.
pub(crate) struct Store {
    pub(crate) registry: Box<dyn Writer>,
    pub(crate) batch: Batch,
    /// Not committed yet, because the registry could not be written.
    pub(crate) unsaved: Batch,
    pub(crate) retry_at: Option<u64>,
    pub(crate) registry_error: Option<String>,
    pub(crate) last_seq: watch::Sender<i64>,
    pub(crate) life_log: LifeLog,
    pub(crate) pruning: Pruning,
    pub(crate) pruned_mono_ms: u64,
    pub(crate) ended_since_prune: u64,
    pub(crate) crash_budget: CrashBudget,
}

/// The live runs. Each run in `live` has its tokens in `tokens`, and its first process in `leaders` if that is a child of this process.
pub(crate) struct RunTable {
    pub(crate) live: HashMap<RunId, LiveRun>,
    /// The first processes of runs that are children of this process.
    pub(crate) leaders: HashMap<i32, RunId>,
    /// The first processes of runs that an earlier supervisor started, while they live. They are no children of this process.
    pub(crate) adopted_roots: HashSet<i32>,
    /// The descriptors of runs that another supervisor took over; kept open as long as their output.
    pub(crate) kept_inputs: HashMap<RunId, Arc<Input>>,
    /// Processes of Ostler outside of live runs.
    pub(crate) strays: Strays,
    /// The list of all processes, read at most once per turn.
    pub(crate) census: OnceCell<Census>,
    pub(crate) tokens: HashMap<u64, RunId>,
    pub(crate) next_token: u64,
}

/// Callers that wait for an answer. Each is answered once, or repeats its request to the next supervisor.
pub(crate) struct Waiting {
    pub(crate) spawn_replies: HashMap<RunId, oneshot::Sender<Result<RunRecord, SpawnRefused>>>,
    pub(crate) waiters: HashMap<RunId, Vec<oneshot::Sender<Cancelled>>>,
    /// Callers that wait until a run has a slot in its pool, or can never have one.
    pub(crate) start_waiters: HashMap<RunId, Vec<oneshot::Sender<()>>>,
    pub(crate) stop_replies: Vec<oneshot::Sender<Stopped>>,
    pub(crate) unit_waiters: Vec<UnitWaiter>,
    /// When the condition of a waiting caller may be true.
    pub(crate) proven_at: Option<u64>,
    /// The runs that ended since a stop was requested.
    pub(crate) ended: Vec<RunResult>,
}

/// The state of agents besides their records. All of it except `sessions` is determined again after a restart.
pub(crate) struct AgentTable {
    /// Of the agents that units run, by unit.
    pub(crate) sessions: HashMap<String, AgentSession>,
    pub(crate) resumes: Resumes,
    /// Reports about agents.
    pub(crate) agent_idle: HashMap<RunId, AgentIdle>,
    /// The process that types queued texts, for each agent that has one.
    pub(crate) delivering: HashMap<RunId, RunId>,
    pub(crate) cpu_marks: HashMap<RunId, CpuMark>,
    /// Why a unit that may sleep does not, by unit.
    pub(crate) kept_awake: HashMap<String, (RunId, String)>,
    pub(crate) screens: ScreenWatch,
}

/// Times of units: schedules, pings to dead-man services, and journal entries that are not repeated.
pub(crate) struct Schedule {
    /// When this was last journaled for a unit, and how often since.
    pub(crate) noted: HashMap<(String, &'static str), (u64, u64)>,
    pub(crate) timetable: Timetable,
    pub(crate) is_timetable_old: bool,
    pub(crate) deadmen: BTreeSet<DeadmanSpec>,
}

/// The operating system's resources: poller, cgroups, launcher.
pub(crate) struct Platform {
    pub(crate) poller: Poller,
    pub(crate) scopes: ScopeFactory,
    pub(crate) launcher: Launcher,
    pub(crate) descriptors: Allocated,
    pub(crate) reaper: Reaper,
    pub(crate) waker: Waker,
}

/// The other threads of the supervisor, and what they send back.
pub(crate) struct Threads {
    pub(crate) output_writer: OutputWriter,
    pub(crate) prober: Prober,
    pub(crate) limit_watch: LimitWatch,
    pub(crate) probed: mpsc::Receiver<Probed>,
    pub(crate) output_events: mpsc::Receiver<OutputEvent>,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) notify_output: NotifyOutput,
    pub(crate) output_total: Arc<OutputTotal>,
}

/// Whether the supervisor goes on, stops or hands over to the next supervisor.
pub(crate) struct Lifecycle {
    pub(crate) stopping: bool,
    pub(crate) stopped: bool,
    /// A run requested a restart, which ends it too: the guardian starts the next supervisor.
    pub(crate) restart_requested: bool,
    /// Set when this supervisor must hand over to the next one.
    pub(crate) successor: Option<Successor>,
    /// The next supervisor is another program, which may migrate the registry and fail.
    pub(crate) names_program: bool,
    pub(crate) business: Activity,
}

/// The guardian, or systemd in its place, and the heartbeats that are reported to it.
pub(crate) struct GuardianSide {
    pub(crate) guardian_info: GuardianInfo,
    pub(crate) guardian_link: GuardianLink,
    pub(crate) liveness: watch::Sender<u64>,
    pub(crate) heartbeats_seen: Arc<ThreadHeartbeats>,
}
