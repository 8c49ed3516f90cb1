//! A unit: something that is declared to run, and its state.

use crate::restart::{Backoff, RestartPolicy};
use crate::{
    AgentNotified, AgentView, AppSpec, Backend, Condition, ContainerSpec, HeartbeatSpec, HookSpec,
    Limits, OsText, Resources, RunId, TmuxSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The declaration of a unit, with every path and default resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitSpec {
    pub name: String,
    pub argv: Vec<String>,
    pub cwd: String,
    /// The declared variables.
    pub env: BTreeMap<String, String>,
    /// Inherited from the process that declared the unit. Not part of the declaration: a difference is no change.
    pub inherited: Arc<[OsText]>,
    pub umask: u32,
    pub backend: Backend,
    pub restart: RestartPolicy,
    pub stop: StopSpec,
    pub ready: Option<ReadySpec>,
    pub health: Option<HealthSpec>,
    pub liveness_backoff: Option<Backoff>,
    pub depends_on: Vec<String>,
    pub schedule: Option<ScheduleSpec>,
    pub limits: Limits,
    #[serde(default)]
    pub resources: Resources,
    /// If it is an app.
    #[serde(default)]
    pub app: Option<Arc<AppSpec>>,
    /// If it is a container.
    #[serde(default)]
    pub container: Option<Arc<ContainerSpec>>,
    /// If it runs in a tmux session.
    #[serde(default)]
    pub tmux: Option<Arc<TmuxSpec>>,
    /// The pool it is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// When it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleSpec>,
    /// Replaces its command if it has run before.
    #[serde(default)]
    pub resume: Option<Vec<String>>,
    /// Its expected heartbeats, as an app or by `WATCHDOG=1`.
    #[serde(default)]
    pub heartbeat: Option<HeartbeatSpec>,
    /// Its agent profile, if declared; otherwise recognized by the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The hooks for its conditions.
    #[serde(default)]
    pub hooks: HookSpec,
    /// If it is a part of Ostler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The file it was declared in, if it was in one.
    pub file: Option<String>,
}

/// A unit that is a part of Ostler itself. It restarts after every end and is never given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Needed by one file and removed with it: the patrol, the podman service, the follower of a list of agents.
    File,
    /// In no file, and used by units of all files: the tmux server. It starts when a unit first needs it, and ends
    /// with the daemon.
    Daemon,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopSpec {
    /// The signal's number.
    pub signal: i32,
    pub grace_ms: u64,
}

/// A unit with a terminal is stopped while it has nothing to do, and is started again when there is work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdleSpec {
    pub after_ms: u64,
    pub suspend: Suspend,
}

/// How a unit is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Suspend {
    /// Its run is ended; `resume` starts it again.
    Stop,
}

/// Since when the unit is suspended, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suspended {
    pub since_ms: u64,
    pub why: String,
}

/// When a unit is ready. If it is not ready in time, that is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadySpec {
    pub check: Check,
    pub timeout_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "of")]
pub enum Check {
    /// A response with a status of 200 to 299.
    Http(String),
    /// A response with status 200 and a JSON object whose `status` is `"healthy"`.
    HttpHealthy(String),
    /// `host:port`
    Tcp(String),
    Exec(Vec<String>),
    /// A line of its output that matches this regular expression.
    Line(String),
    /// The program sends `READY=1`.
    Notify,
    /// The app registers and calls `app.ready`.
    App,
    Delay(u64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthSpec {
    pub check: Check,
    pub interval_ms: u64,
    pub timeout_ms: u64,
    pub failures: u32,
    pub successes: u32,
    pub start_after_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleSpec {
    pub cron: String,
    pub time_zone: Option<String>,
    pub overlap: Overlap,
    pub missed: Missed,
}

/// What happens if a scheduled time comes while the last run is still live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    Skip,
    Replace,
    Queue,
}

/// What happens after a scheduled time passed while no supervisor ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missed {
    Skip,
    Once,
}

/// The desired state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Desired {
    Running,
    Stopped,
}

/// The durable record of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitRecord {
    pub spec: UnitSpec,
    /// Digest of the settings that a run is started with.
    pub run_digest: String,
    /// Digest of the whole declaration.
    pub digest: String,
    /// The `run_digest` that the newest run was started with.
    #[serde(default)]
    pub started_with: Option<String>,
    pub desired: Desired,
    pub tally: Tally,
    /// It was stopped with the daemon, and starts when the daemon is started.
    #[serde(default)]
    pub rests: bool,
    /// The condition that began, until the unit has recovered. Reported once.
    #[serde(default)]
    pub trouble: Option<Condition>,
    /// The question of its agent of which the operator was notified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<AgentNotified>,
    /// The run that was ready: an adopted run does not have to report it again.
    #[serde(default)]
    pub ready_run: Option<RunId>,
    /// Its ticket in the queue of its pool, from its request for a slot until it releases the slot. The lowest is
    /// next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<u64>,
    /// Set while it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<Suspended>,
    /// The end of its restart delay, on the wall clock.
    #[serde(default)]
    pub again_at_ms: Option<u64>,
    /// When its schedule last started it.
    #[serde(default)]
    pub fired_at_ms: Option<u64>,
    /// It ended and will not be restarted.
    pub over: Option<Over>,
    /// Its last ends, newest first.
    pub ends: Vec<UnitEnd>,
    pub created_at_ms: u64,
    pub updated_at_ms: u64,
}

/// The counters of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// Quick failures in a row.
    pub steps: u32,
    /// Restart requests (exit 75) in a row, each within a second of the start.
    #[serde(rename = "wishes")]
    pub restart_requests: u32,
    /// The times of the failures, on the wall clock, so that they survive a reboot.
    pub failures_ms: Vec<u64>,
    /// The breaker is open.
    pub opened: Option<BreakerOpen>,
    /// Starts that followed an end of any kind.
    pub restarts: u64,
}

/// The breaker is open: since when, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerOpen {
    pub at_ms: u64,
    pub why: String,
}

/// The final end of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Over {
    pub is_clean: bool,
    #[serde(alias = "told")]
    pub description: String,
    pub boot_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitEnd {
    pub run_id: RunId,
    pub at_ms: u64,
    pub ran_ms: u64,
    #[serde(alias = "told")]
    pub description: String,
    /// What followed from it.
    #[serde(default)]
    pub then: String,
}

/// The current state of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnitState {
    Stopped,
    /// Waits for its dependencies.
    Waiting,
    /// Waits for a slot in its pool.
    Queued,
    Starting,
    Ready,
    Stopping,
    Backoff,
    /// The breaker is open, or its exit code says that a restart is of no use.
    Error,
    /// It completed its work and will not be restarted.
    Done,
    /// Waits for its schedule.
    Scheduled,
    /// It had no work and was stopped. Mail, a nudge or `attach` wakes it.
    Suspended,
}

impl UnitState {
    /// Whether its state is the desired one.
    pub fn is_well(self) -> bool {
        match self {
            UnitState::Ready
            | UnitState::Queued
            | UnitState::Done
            | UnitState::Scheduled
            | UnitState::Suspended
            | UnitState::Stopped => true,
            UnitState::Waiting
            | UnitState::Starting
            | UnitState::Stopping
            | UnitState::Backoff
            | UnitState::Error => false,
        }
    }
}

/// A unit, as displayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitView {
    #[serde(rename = "unit", alias = "name")]
    pub name: String,
    pub state: UnitState,
    pub desired: Desired,
    pub why: String,
    #[serde(rename = "sinceAtMs", alias = "sinceMs")]
    pub since_ms: u64,
    pub run_id: Option<RunId>,
    pub pid: Option<i32>,
    pub started_at_ms: Option<u64>,
    pub restarts: u64,
    pub command: String,
    pub depends_on: Vec<String>,
    /// The running copy differs from the declaration.
    pub changed: bool,
    pub ends: Vec<UnitEnd>,
    pub opened: Option<BreakerOpen>,
    pub next_at_ms: Option<u64>,
    pub file: Option<String>,
    /// If it runs in a tmux session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmux: Option<Arc<TmuxSpec>>,
    /// If an agent is on its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentView>>,
    /// If it is a part of Ostler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The pool it is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The conversation of its agent, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// Why it is not suspended although it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_awake: Option<String>,
    /// For a container: the state of its probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_state: Option<ProbeState>,
    /// For a container: when the engine last reported it running, in ms since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_running_at: Option<u64>,
}

/// The state of a container's probes, in Ploinky's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeState {
    /// The container is not running.
    Pending,
    /// The probes run, but have not passed yet.
    Running,
    Success,
    Failed,
}

impl UnitView {
    /// The profile of the agent on its terminal. A program without a profile may ask questions too.
    pub fn profile(&self) -> Option<&str> {
        self.agent.as_ref().map(|agent| agent.profile.as_str()).filter(|name| !name.is_empty())
    }

    /// Whether a table of units lists it: a daemon part only if it has a problem.
    pub fn is_listed(&self) -> bool {
        self.part != Some(Part::Daemon) || !self.state.is_well()
    }

    /// Whether it is suspended or being suspended, so that work wakes it.
    pub fn is_asleep(&self) -> bool {
        match self.state {
            UnitState::Suspended => true,
            UnitState::Stopping => self.desired == Desired::Running,
            UnitState::Stopped
            | UnitState::Waiting
            | UnitState::Queued
            | UnitState::Starting
            | UnitState::Ready
            | UnitState::Backoff
            | UnitState::Error
            | UnitState::Done
            | UnitState::Scheduled => false,
        }
    }
}

macro_rules! words {
    ($type:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $($type::$variant => $word),+ })
            }
        }
    };
}

words!(UnitState {
    Stopped => "stopped",
    Waiting => "waiting",
    Queued => "queued",
    Starting => "starting",
    Ready => "ready",
    Stopping => "stopping",
    Backoff => "backoff",
    Error => "error",
    Done => "done",
    Scheduled => "scheduled",
    Suspended => "suspended",
});
words!(Desired { Running => "running", Stopped => "stopped" });
