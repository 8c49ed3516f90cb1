//! A unit: something that is declared to run, and what has become of it.

use crate::restart::{Backoff, RestartPolicy};
use crate::{
    AgentNotified, AgentView, AppSpec, Backend, Condition, ContainerSpec, HeartbeatSpec, HookSpec,
    Limits, OsText, Resources, RunId, TmuxSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is declared of a unit, with every path and default resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitSpec {
    pub name: String,
    pub argv: Vec<String>,
    pub cwd: String,
    /// Declared for it.
    pub env: BTreeMap<String, String>,
    /// Taken over from whoever declared it: not part of what is declared, so it is no change if it differs.
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
    /// If it is one.
    #[serde(default)]
    pub app: Option<Arc<AppSpec>>,
    /// If it is one.
    #[serde(default)]
    pub container: Option<Arc<ContainerSpec>>,
    /// If it lives in a session of tmux.
    #[serde(default)]
    pub tmux: Option<Arc<TmuxSpec>>,
    /// The pool it is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// When it is put to sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleSpec>,
    /// What is run instead of its command if it has run before.
    #[serde(default)]
    pub resume: Option<Vec<String>>,
    /// How often it says that it lives, as an app or by `WATCHDOG=1`.
    #[serde(default)]
    pub heartbeat: Option<HeartbeatSpec>,
    /// Which agent it is, where that is declared; else it is recognised by its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Who is told of it.
    #[serde(default)]
    pub hooks: HookSpec,
    /// If it is a part of Ostler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The file it was declared in, if it was in one.
    pub file: Option<String>,
}

/// A unit that is a part of Ostler itself. It is started again after every end, and never given up on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// One file needs it, and it is removed with that file: the patrol, the service of podman, the follower of a list of
    /// agents.
    File,
    /// It is in no file and serves the units of all files: the tmux server. It starts when a unit first needs it, and
    /// ends with the daemon.
    Daemon,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopSpec {
    /// The signal's number.
    pub signal: i32,
    pub grace_ms: u64,
}

/// A unit with a terminal that has nothing to do is stopped, and comes back when there is something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdleSpec {
    pub after_ms: u64,
    pub suspend: Suspend,
}

/// How a unit is put to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Suspend {
    /// Its run is ended; `resume` brings it back.
    Stop,
}

/// It sleeps: since when, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suspended {
    pub since_ms: u64,
    pub why: String,
}

/// When a unit is ready. Not ready in time is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadySpec {
    pub check: Check,
    pub timeout_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "of")]
pub enum Check {
    /// It answers with a status of 200 to 299.
    Http(String),
    /// It answers with 200 and a JSON object whose `status` is `"healthy"`.
    HttpHealthy(String),
    /// `host:port`
    Tcp(String),
    Exec(Vec<String>),
    /// A line of its output that this regular expression matches.
    Line(String),
    /// It says `READY=1` itself.
    Notify,
    /// It registers and calls `app.ready`.
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

/// The time has come and the last run is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    Skip,
    Replace,
    Queue,
}

/// The time came while nobody was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missed {
    Skip,
    Once,
}

/// What a person wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Desired {
    Running,
    Stopped,
}

/// What is durably known of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitRecord {
    pub spec: UnitSpec,
    /// Of what a running copy is started with.
    pub run_digest: String,
    /// Of everything that is declared.
    pub digest: String,
    /// What the newest copy was started with; compare `run_digest`.
    #[serde(default)]
    pub started_with: Option<String>,
    pub desired: Desired,
    pub tally: Tally,
    /// It was stopped with the daemon, and begins when somebody starts that.
    #[serde(default)]
    pub rests: bool,
    /// What began to go wrong, until it is well again: told once.
    #[serde(default)]
    pub trouble: Option<Condition>,
    /// What its agent waits for, and a person was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<AgentNotified>,
    /// The run that was ready: one we take up need not say so again.
    #[serde(default)]
    pub ready_run: Option<RunId>,
    /// Its number in the line of its pool, from when it asked for a place until it gives that up. The lowest is next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<u64>,
    /// It was put to sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<Suspended>,
    /// It waits until then, on the wall clock.
    #[serde(default)]
    pub again_at_ms: Option<u64>,
    /// When its schedule began it last.
    #[serde(default)]
    pub fired_at_ms: Option<u64>,
    /// It ended and is not to be started again.
    pub over: Option<Over>,
    /// Its last ends, newest first.
    pub ends: Vec<UnitEnd>,
    pub created_at_ms: u64,
    pub updated_at_ms: u64,
}

/// What has been counted of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// How many in a row have failed quickly.
    pub steps: u32,
    /// How many in a row asked to be started again (exit 75) within a second of their start.
    pub wishes: u32,
    /// When failures came, on the wall clock, so that they count across a restart of everything.
    pub failures_ms: Vec<u64>,
    /// The breaker is open.
    pub opened: Option<BreakerOpen>,
    /// Starts that followed an end, of any kind.
    pub restarts: u64,
}

/// The breaker is open: since when, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerOpen {
    pub at_ms: u64,
    pub why: String,
}

/// How it came to its end.
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

/// What a unit does at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnitState {
    Stopped,
    /// For those it depends on.
    Waiting,
    /// For a place in its pool.
    Queued,
    Starting,
    Ready,
    Stopping,
    Backoff,
    /// The breaker is open, or it says that starting it again is of no use.
    Error,
    /// It ended well, and is not to be started again.
    Done,
    /// For its time.
    Scheduled,
    /// It had nothing to do. Mail, a nudge or `attach` brings it back.
    Suspended,
}

impl UnitState {
    /// It is as it is wanted.
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

/// A unit as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitView {
    pub name: String,
    pub state: UnitState,
    pub desired: Desired,
    pub why: String,
    pub since_ms: u64,
    pub run_id: Option<RunId>,
    pub pid: Option<i32>,
    pub started_at_ms: Option<u64>,
    pub restarts: u64,
    pub command: String,
    pub depends_on: Vec<String>,
    /// What runs is not what is declared now.
    pub changed: bool,
    pub ends: Vec<UnitEnd>,
    pub opened: Option<BreakerOpen>,
    pub next_at_ms: Option<u64>,
    pub file: Option<String>,
    /// If it lives in a session of tmux.
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
    /// The session of its agent, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// Why one that may sleep does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_awake: Option<String>,
    /// Of a container: what its probes say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_state: Option<ProbeState>,
    /// Of a container: when the engine last said that it runs, in ms since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_running_at: Option<u64>,
}

/// How the probes of a container stand, in the words of the watchdog's document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeState {
    /// It does not run yet, or not any more.
    Pending,
    /// They are asked, and have not passed yet.
    Running,
    Success,
    Failed,
}

impl UnitView {
    /// The profile of the agent on its terminal; a program without one may ask something all the same.
    pub fn profile(&self) -> Option<&str> {
        self.agent.as_ref().map(|agent| agent.profile.as_str()).filter(|name| !name.is_empty())
    }

    /// Whether a table of units has it: a part of the daemon only if something is wrong with it.
    pub fn is_listed(&self) -> bool {
        self.part != Some(Part::Daemon) || !self.state.is_well()
    }

    /// It sleeps, or is just being put to sleep: something for it wakes it.
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
