//! The shape of the file.

use crate::either::{HookTarget, ScheduleWord};
use crate::located::Located;
use crate::patrol::PatrolTable;
use crate::scalars::{
    Address, AdoptWord, AnyValue, BackendWord, Command, Cron, Duration, ExpectWord, Factor, Grace,
    HttpListen, HttpUrl, Lease, MissedWord, OverlapWord, Pattern, Percent, PresetWord, SignalName,
    Size, SuspendWord, Text, TimeZone, VariableName, WhenWord,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What `ostler.toml` may say.
#[derive(Debug, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "ostler.toml")]
pub struct ConfigFile {
    /// About the daemon itself.
    pub supervisor: SupervisorTable,
    /// Any key of a unit: what a unit does not say itself.
    pub defaults: UnitTable,
    /// Who is told.
    pub hooks: HookTable,
    /// A list of agents that another program keeps: each is a container to watch.
    pub agents: Option<AgentsTable>,
    /// The watchdog chain: agents in terminals, and who looks after them.
    pub patrol: Option<PatrolTable>,
    /// How many of their members run at once, by name. Units name their pool, and so does `ostler run --pool`.
    #[schemars(with = "BTreeMap<String, PoolTable>")]
    pub pools: BTreeMap<Located<String>, PoolTable>,
    /// What runs, by name.
    #[schemars(with = "BTreeMap<String, UnitTable>")]
    pub units: BTreeMap<Located<String>, UnitTable>,
}

/// A pool: whoever of its members may not start now is queued, and started in the order in which they came.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolTable {
    /// How many members run at once; without a limit if it is left out.
    pub max: Option<Located<u32>>,
    /// A member is started only while this much memory is free.
    pub min_free_memory: Option<Size>,
    /// No member is started while tasks of the machine wait for memory for a larger share of their time; by default 20%,
    /// and 0 is off.
    pub max_pressure: Option<Percent>,
}

/// Containers that are listed elsewhere. The list is followed: who is new in it is started, who is gone from it is no
/// longer watched, and runs on.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentsTable {
    /// The list; by default .ploinky/agents.json.
    pub file: Option<Text>,
    /// Where <repo>/<agent>/manifest.json is; by default .ploinky/repos.
    pub repos: Option<Text>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SupervisorTable {
    /// Where HTTP is spoken, on this machine alone; "" turns it off.
    pub http: Option<HttpListen>,
    /// How long its claim on the runs lasts; renewed every tenth of it.
    pub lease: Option<Lease>,
    /// What to do with a live run whose lease was stolen.
    pub adopt: Option<AdoptWord>,
    /// How much output of all runs together is kept; the oldest of ended runs goes first. 0 is the default: 10 GB, or a
    /// tenth of the file system if that is less.
    pub output: Option<Size>,
}

/// Commands, told once a condition begins, and again when it ends.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookTable {
    /// A unit failed.
    pub on_crash: Option<HookTarget>,
    /// A unit failed too often and is not started again.
    pub on_breaker: Option<HookTarget>,
    /// It is well again.
    pub on_recovery: Option<HookTarget>,
    /// An agent asks a person something: once for each question.
    pub on_waiting: Option<HookTarget>,
    /// An agent's provider refuses its requests for a time.
    pub on_limited: Option<HookTarget>,
    /// Asked for as long as all is well, so that silence is the alarm.
    pub deadman: Option<DeadmanTable>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UrlTable {
    pub url: HttpUrl,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadmanTable {
    pub url: HttpUrl,
    pub every: Duration,
}

/// One unit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnitTable {
    /// The program and its arguments, or one line for the shell.
    pub command: Option<Command>,
    /// An app: its manifest, or the folder with its openclawos.manifest.json. A command beside it replaces its own.
    pub manifest: Option<Located<Text>>,
    /// What an app gets when it asks for its configuration.
    #[schemars(with = "Option<BTreeMap<String, AnyValue>>")]
    pub config: Option<Located<ConfigTable>>,
    /// The folder it is started in; by default the one of this file, or of its manifest.
    pub cwd: Option<Located<Text>>,
    /// Variables, in addition to those that are taken over.
    pub env: Option<BTreeMap<VariableName, Text>>,
    /// Lines of NAME=value; relative to the file.
    pub env_file: Option<Located<Text>>,
    /// Variables taken over from whoever calls `ostler up`.
    pub inherit_env: Option<Vec<VariableName>>,
    /// The pool it is a member of: [pools.NAME] of this file or of another.
    pub pool: Option<Located<Text>>,
    /// Of one with a terminal: it is stopped when it has had nothing to do for so long; mail, a nudge or `ostler attach`
    /// brings it back with resume.
    pub idle: Option<Located<IdleTable>>,
    /// What is run instead of the command if it has run before: the same session again, not a new one. {session} stands
    /// for the id of the agent's session; as long as none is known, the command is run.
    pub resume: Option<Located<Command>>,
    /// The profile of the agent on its terminal, as "claude"; by default it is recognised by its command.
    pub agent: Option<Located<Text>>,
    /// pipe, pty for a terminal of its own, container, or tmux for a session of tmux.
    pub backend: Option<BackendWord>,
    /// Of one in tmux: what its session is called; by default ostler-UNIT.
    pub session: Option<Located<Text>>,
    /// Of one in tmux: your own server, "default", a name as for `tmux -L`, or a path as for `tmux -S`; by default one that
    /// belongs to the daemon.
    pub tmux: Option<Located<Text>>,
    /// A whole restart policy by name; single keys of restart override it.
    pub preset: Option<PresetWord>,
    /// When it is started again, and after how long.
    pub restart: Option<RestartTable>,
    /// How it is asked to end.
    pub stop: Option<StopTable>,
    /// When it counts as ready; by default as soon as it runs.
    pub ready: Option<Located<ReadyTable>>,
    /// Asked while it runs; too many failures, and it is started anew.
    pub health: Option<Located<HealthTable>>,
    /// How often it says that it lives: an app over its socket, any other by WATCHDOG=1 as to systemd.
    pub heartbeat: Option<Located<HeartbeatTable>>,
    /// How much of the machine it may have.
    pub limits: Option<Located<ResourceTable>>,
    /// Of a container: what it is made from.
    pub image: Option<Text>,
    /// Of a container: the name that others know it by; by default one that is free.
    pub container_name: Option<Located<Text>>,
    /// Of a container: "host/path:/inside", "host/path:/inside:ro", or a volume of the engine's.
    pub volumes: Option<Vec<Located<Text>>>,
    /// Of a container: "8080:80", "127.0.0.1:8080:80", "53:53/udp".
    pub ports: Option<Vec<Located<Text>>>,
    /// Of a container: "none", "host", "bridge" or one of the engine's.
    pub network: Option<Text>,
    /// The waits before it is started anew because its health check failed.
    pub liveness_backoff: Option<BackoffTable>,
    /// Started when those are ready, stopped before them.
    pub depends_on: Option<Vec<Located<String>>>,
    /// How long one run may last; 0 is off.
    pub timeout: Option<Duration>,
    /// How long it may be silent; 0 is off.
    pub no_output_timeout: Option<Duration>,
    /// Run at these times instead of always.
    pub schedule: Option<ScheduleWord>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleTable {
    /// So long without output, input, mail, nudges and anybody attached; at least 1s.
    pub after: Located<Duration>,
    /// How it is put to sleep; by default it is stopped.
    #[serde(default)]
    pub suspend: Option<SuspendWord>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RestartTable {
    pub when: Option<WhenWord>,
    /// The first wait.
    pub initial: Option<Duration>,
    /// By what the wait grows each time.
    pub factor: Option<Factor>,
    /// The longest wait.
    pub max: Option<Duration>,
    /// A run that lasted longer makes the next wait the first again.
    pub reset_after: Option<Duration>,
    /// So many failures in so long a time are too many.
    pub limit: Option<LimitTable>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitTable {
    /// 0 is no limit.
    pub count: u32,
    pub window: Duration,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BackoffTable {
    /// The first wait.
    pub initial: Option<Duration>,
    /// By what the wait grows each time.
    pub factor: Option<Factor>,
    /// The longest wait.
    pub max: Option<Duration>,
    /// A run that lasted longer makes the next wait the first again.
    pub reset_after: Option<Duration>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopTable {
    /// What it is asked to end with; by default TERM.
    pub signal: Option<SignalName>,
    /// How long it has until KILL; at most 60s.
    pub grace: Option<Grace>,
}

/// Exactly one of http, tcp, exec, line, notify, delay. An app says itself when it is ready: for one, only timeout
/// and register.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadyTable {
    pub http: Option<HttpUrl>,
    /// Of http: "healthy" if its answer must be 200 and a JSON object whose status is "healthy".
    pub expect: Option<Located<ExpectWord>>,
    pub tcp: Option<Address>,
    pub exec: Option<Command>,
    /// A line of its output that matches.
    pub line: Option<Pattern>,
    /// It says READY=1 itself, as to systemd.
    pub notify: Option<bool>,
    /// After this long.
    pub delay: Option<Duration>,
    /// Not ready within this time is an error; by default 60s. Of an app it begins when it has registered.
    pub timeout: Option<Duration>,
    /// An app that has not registered within this time after its start is an error; by default 30s.
    pub register: Option<Located<Duration>>,
}

impl ReadyTable {
    pub(crate) fn names_a_check(&self) -> bool {
        let Self { http, expect, tcp, exec, line, notify, delay, timeout: _, register: _ } = self;
        http.is_some()
            || expect.is_some()
            || tcp.is_some()
            || exec.is_some()
            || line.is_some()
            || *notify == Some(true)
            || delay.is_some()
    }
}

pub type ConfigTable = BTreeMap<Located<String>, Located<AnyValue>>;

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeartbeatTable {
    /// How often it is expected; by default 30s, and 0 is never.
    pub interval: Option<Duration>,
    /// Silent for longer, it is unhealthy; by default as many intervals as may be missed.
    pub timeout: Option<Duration>,
    /// So many intervals missed, and it is started anew; by default 3.
    pub misses: Option<u32>,
}

/// 0 is no limit, whatever a manifest says.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResourceTable {
    /// Of its whole tree.
    pub memory: Option<Size>,
    /// Relative to others, where 1024 is one that has none.
    pub cpu_shares: Option<u64>,
    /// How many files each of its processes may have open.
    pub fds: Option<u64>,
}

/// Exactly one of http, tcp, exec.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HealthTable {
    pub http: Option<HttpUrl>,
    /// Of http: "healthy" if its answer must be 200 and a JSON object whose status is "healthy".
    pub expect: Option<Located<ExpectWord>>,
    pub tcp: Option<Address>,
    pub exec: Option<Command>,
    /// How often it is asked; by default 30s.
    pub interval: Option<Duration>,
    /// How long one answer may take.
    pub timeout: Option<Duration>,
    /// So many in a row; by default 3.
    pub failures: Option<u32>,
    pub successes: Option<u32>,
    /// How long after the start it is asked first; by default 10s.
    pub start_after: Option<Duration>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleTable {
    /// Minute, hour, day, month, weekday.
    pub cron: Cron,
    /// A name like Europe/Berlin.
    pub time_zone: Option<TimeZone>,
    /// The last one is still there: skip, replace or queue.
    #[serde(default)]
    pub overlap: Option<OverlapWord>,
    /// It was missed: skip it, or make up for it once.
    #[serde(default)]
    pub missed: Option<MissedWord>,
}
