//! The tables of `ostler.toml`.

use crate::either::{HookTarget, RestartWord, ScheduleWord};
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

/// The keys of `ostler.toml`.
#[derive(Debug, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "ostler.toml")]
pub struct ConfigFile {
    /// Settings of the daemon itself.
    pub supervisor: SupervisorTable,
    /// Default keys for every unit of this file; a key in a unit replaces the one here, and env is merged.
    pub defaults: UnitTable,
    /// Commands or URLs to notify when the condition of a unit changes.
    pub hooks: HookTable,
    /// A list of agent containers that another program maintains; each agent in it becomes a unit.
    pub agents: Option<AgentsTable>,
    /// The watchdog: agents in terminals, and the rules for nudging and restarting them.
    pub patrol: Option<PatrolTable>,
    /// Pools by name; a pool limits how many of its units and runs execute at once.
    #[schemars(with = "BTreeMap<String, PoolTable>")]
    pub pools: BTreeMap<Located<String>, PoolTable>,
    /// The units (supervised programs), by name.
    #[schemars(with = "BTreeMap<String, UnitTable>")]
    pub units: BTreeMap<Located<String>, UnitTable>,
}

/// A pool. A member that may not start yet is queued; queued members start in the order in which they arrived.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoolTable {
    /// Maximum number of members that run at once; default: no limit.
    pub max: Option<Located<u32>>,
    /// Start a member only while at least this much memory is free; default: no check.
    pub min_free_memory: Option<Size>,
    /// Start no member while memory pressure (PSI some avg10) is above this; default 20%, 0 disables the check.
    pub max_pressure: Option<Percent>,
}

/// A list of agent containers in another file. An agent added to the list is started. An agent removed from it is no
/// longer watched, and its container keeps running.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentsTable {
    /// Path of the list; default .ploinky/agents.json.
    pub file: Option<Text>,
    /// Folder that holds REPO/AGENT/manifest.json; default .ploinky/repos.
    pub repos: Option<Text>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SupervisorTable {
    /// Loopback address on which the daemon serves HTTP; "" disables HTTP.
    pub http: Option<HttpListen>,
    /// Lifetime of the supervisor's lease on its runs; renewed every tenth of it; default 30s, at least 100ms.
    pub lease: Option<Lease>,
    /// What to do with a live run whose lease was taken over from another supervisor: adopt (default) or terminate.
    pub adopt: Option<AdoptWord>,
    /// Maximum stored output of all runs together; the output of the oldest ended runs is deleted first.
    /// 0 is the default: 10 GB, or a tenth of the file system if that is less.
    pub output: Option<Size>,
}

/// Commands or URLs to notify once when a condition begins.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookTable {
    /// Notified when a unit begins to fail.
    pub on_crash: Option<HookTarget>,
    /// Notified when a unit has failed too often and is no longer restarted.
    pub on_breaker: Option<HookTarget>,
    /// Notified when a unit that failed is well again.
    pub on_recovery: Option<HookTarget>,
    /// Notified when an agent asks a person something; once for each question.
    pub on_waiting: Option<HookTarget>,
    /// Notified when an agent's provider rejects its requests because of a usage limit.
    pub on_limited: Option<HookTarget>,
    /// URL requested periodically while no unit is in error, so that missing requests are the alarm.
    pub deadman: Option<DeadmanTable>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UrlTable {
    /// HTTP URL that receives a POST with a JSON object.
    pub url: HttpUrl,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadmanTable {
    /// HTTP URL that receives a GET.
    pub url: HttpUrl,
    /// Time between two requests.
    pub every: Duration,
}

/// A unit: a program that Ostler starts and supervises.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnitTable {
    /// The program and its arguments, or one string for the shell.
    pub command: Option<Command>,
    /// An app's manifest, or the folder that holds its openclawos.manifest.json; command replaces its entry point.
    pub manifest: Option<Located<Text>>,
    /// Configuration that an app receives when it requests its configuration.
    #[schemars(with = "Option<BTreeMap<String, AnyValue>>")]
    pub config: Option<Located<ConfigTable>>,
    /// Working directory; default: the folder of this file, or of the manifest.
    pub cwd: Option<Located<Text>>,
    /// Environment variables, in addition to the inherited ones.
    pub env: Option<BTreeMap<VariableName, Text>>,
    /// File of NAME=value lines with environment variables; relative to this file.
    pub env_file: Option<Located<Text>>,
    /// Names of the variables taken from the environment of `ostler up`.
    pub inherit_env: Option<Vec<VariableName>>,
    /// Name of the pool the unit belongs to: [pools.NAME] of this file or of another.
    pub pool: Option<Located<Text>>,
    /// Stop a unit with a terminal when it has been idle; mail, a nudge or `ostler attach` starts it again with resume.
    pub idle: Option<Located<IdleTable>>,
    /// Command that replaces command if the unit has run before, to continue the agent's conversation.
    /// {session} stands for the conversation's id; while the id is unknown, command is run.
    pub resume: Option<Located<Command>>,
    /// Agent profile for the screen of its terminal, for example "claude"; default: recognized from the command.
    pub agent: Option<Located<Text>>,
    /// How the program runs: pipe (default), pty (a terminal), container, or tmux (a tmux session).
    pub backend: Option<BackendWord>,
    /// Name of the tmux session; only with backend = "tmux"; default ostler-UNIT.
    pub session: Option<Located<Text>>,
    /// An existing tmux server: "default", a name (`tmux -L`) or a path (`tmux -S`); default: the daemon's own server.
    pub tmux: Option<Located<Text>>,
    /// Name of a complete restart policy; single keys of restart override it.
    pub preset: Option<PresetWord>,
    /// When the unit is restarted ("always", "on-failure" or "never"), or a table with the delays as well.
    pub restart: Option<RestartWord>,
    /// How the unit is stopped.
    pub stop: Option<StopTable>,
    /// When the unit counts as ready; default: as soon as it runs.
    pub ready: Option<Located<ReadyTable>>,
    /// Check that runs periodically; after too many failures the unit is restarted.
    pub health: Option<Located<HealthTable>>,
    /// Expected heartbeats: an app sends them over its socket, any other program sends WATCHDOG=1 (sd_notify).
    pub heartbeat: Option<Located<HeartbeatTable>>,
    /// Resource limits.
    pub limits: Option<Located<ResourceTable>>,
    /// Image of the container; only with backend = "container".
    pub image: Option<Text>,
    /// Name of the container; only with backend = "container"; default: an unused name.
    pub container_name: Option<Located<Text>>,
    /// Volumes of the container: "host/path:/inside", "host/path:/inside:ro", or a volume of the container engine.
    pub volumes: Option<Vec<Located<Text>>>,
    /// Published ports of the container: "8080:80", "127.0.0.1:8080:80", "53:53/udp".
    pub ports: Option<Vec<Located<Text>>>,
    /// Network of the container: "none", "host", "bridge", or the name of a network of the container engine.
    pub network: Option<Text>,
    /// Delays before restarts that follow a failed health check; default: the delays of restart.
    pub liveness_backoff: Option<BackoffTable>,
    /// Units that must be ready before this one starts; they are stopped after it.
    pub depends_on: Option<Vec<Located<String>>>,
    /// `ostler up` includes the unit only with `--profile` and one of these names, or when it is named or needed.
    pub profiles: Option<Vec<Text>>,
    /// Maximum duration of one run; 0 disables the limit.
    pub timeout: Option<Duration>,
    /// Maximum time without output; 0 disables the limit.
    pub no_output_timeout: Option<Duration>,
    /// Times at which the unit is run, instead of being kept running.
    pub schedule: Option<ScheduleWord>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleTable {
    /// Stop after this time without output, input, mail, nudges or an attached viewer; at least 1s.
    pub after: Located<Duration>,
    /// How an idle unit is suspended: stop (default), which ends its process.
    #[serde(default)]
    pub suspend: Option<SuspendWord>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RestartTable {
    /// always, on-failure (default) or never.
    pub when: Option<WhenWord>,
    /// The first delay.
    pub initial: Option<Duration>,
    /// Factor by which the delay grows after each failure.
    pub factor: Option<Factor>,
    /// The longest delay.
    pub max: Option<Duration>,
    /// After a run longer than this, the next delay is the first one again.
    pub reset_after: Option<Duration>,
    /// After a run of at least this time, the first restart is immediate; default 10s, without preset and initial.
    /// 0 disables it.
    pub immediate_after: Option<Duration>,
    /// Give up after this many failures within a time window.
    pub limit: Option<LimitTable>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitTable {
    /// Number of failures; 0 is no limit.
    pub count: u32,
    /// Time window in which they are counted.
    pub window: Duration,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BackoffTable {
    /// The first delay.
    pub initial: Option<Duration>,
    /// Factor by which the delay grows after each failure.
    pub factor: Option<Factor>,
    /// The longest delay.
    pub max: Option<Duration>,
    /// After a run longer than this, the next delay is the first one again.
    pub reset_after: Option<Duration>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopTable {
    /// Signal that asks the program to end; default TERM.
    pub signal: Option<SignalName>,
    /// Time between that signal and KILL; at most 60s.
    pub grace: Option<Grace>,
}

/// Exactly one of http, tcp, exec, line, notify, delay. An app reports its own readiness, so it has only timeout and
/// register.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadyTable {
    /// Ready when this URL answers with a status of 200 to 299.
    pub http: Option<HttpUrl>,
    /// With http: "healthy" requires status 200 and a JSON object whose status is "healthy".
    pub expect: Option<Located<ExpectWord>>,
    /// Ready when a TCP connection to this host:port succeeds.
    pub tcp: Option<Address>,
    /// Ready when this command exits with 0.
    pub exec: Option<Command>,
    /// Ready when a line of its output matches this regular expression.
    pub line: Option<Pattern>,
    /// Ready when the program sends READY=1 (sd_notify).
    pub notify: Option<bool>,
    /// Ready after this time.
    pub delay: Option<Duration>,
    /// Fail if the unit is not ready within this time; default 60s. For an app the time starts when it registers.
    pub timeout: Option<Duration>,
    /// Fail if an app has not registered within this time after its start; default 30s.
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
    /// Expected time between two heartbeats; default 30s, 0 disables heartbeats.
    pub interval: Option<Duration>,
    /// Unhealthy after this time without a heartbeat; default: interval times misses.
    pub timeout: Option<Duration>,
    /// Restart the unit after this many missed intervals; default 3.
    pub misses: Option<u32>,
}

/// Resource limits. 0 is no limit, and overrides a limit in the manifest.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResourceTable {
    /// Memory limit for the whole process tree.
    pub memory: Option<Size>,
    /// CPU weight relative to other units; 1024 is the weight of a unit without this key.
    pub cpu_shares: Option<u64>,
    /// Maximum number of open files for each process.
    pub fds: Option<u64>,
}

/// Exactly one of http, tcp, exec.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HealthTable {
    /// Healthy when this URL answers with a status of 200 to 299.
    pub http: Option<HttpUrl>,
    /// With http: "healthy" requires status 200 and a JSON object whose status is "healthy".
    pub expect: Option<Located<ExpectWord>>,
    /// Healthy when a TCP connection to this host:port succeeds.
    pub tcp: Option<Address>,
    /// Healthy when this command exits with 0.
    pub exec: Option<Command>,
    /// Time between two checks; default 30s.
    pub interval: Option<Duration>,
    /// Maximum duration of one check; default 5s.
    pub timeout: Option<Duration>,
    /// Restart the unit after this many failed checks in a row; default 3.
    pub failures: Option<u32>,
    /// Number of successful checks in a row after which the unit is healthy again; default 1.
    pub successes: Option<u32>,
    /// Delay between the start and the first check; default 10s.
    pub start_after: Option<Duration>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleTable {
    /// Cron expression: minute, hour, day, month, weekday; a sixth field in front is seconds.
    pub cron: Cron,
    /// Time zone name, for example Europe/Berlin; default: the local time zone.
    pub time_zone: Option<TimeZone>,
    /// If the previous run has not ended: skip (default), replace or queue.
    #[serde(default)]
    pub overlap: Option<OverlapWord>,
    /// If a time was missed while the daemon did not run: skip it (default), or run once.
    #[serde(default)]
    pub missed: Option<MissedWord>,
}
