//! The shape of the file.

use crate::words::{Command, Duration, SignalName};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// What `ostler.toml` may say.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    /// About the daemon itself.
    pub supervisor: SupervisorTable,
    /// Any key of a unit: what a unit does not say itself.
    pub defaults: UnitTable,
    /// Who is told.
    pub hooks: HookTable,
    #[schemars(with = "BTreeMap<String, UnitTable>")]
    pub units: BTreeMap<Spanned<String>, Spanned<UnitTable>>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SupervisorTable {
    /// How long a silent supervisor keeps its runs from others.
    pub lease: Option<Duration>,
    /// What to do with a live run taken over from another: adopt or terminate.
    pub adopt: Option<AdoptWord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdoptWord {
    Adopt,
    Terminate,
}

/// Commands, told once a condition begins, and again when it ends.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookTable {
    pub on_crash: Option<HookTarget>,
    pub on_breaker: Option<HookTarget>,
    pub on_recovery: Option<HookTarget>,
    /// Asked for as long as all is well, so that silence is the alarm.
    pub deadman: Option<DeadmanTable>,
}

/// A command, or `{ url = "http://…" }`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HookTarget {
    Command(Command),
    Url(UrlTable),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UrlTable {
    pub url: String,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadmanTable {
    pub url: String,
    pub every: Duration,
}

/// One unit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnitTable {
    #[schemars(with = "Option<Command>")]
    pub command: Option<Spanned<Command>>,
    /// Relative to the file.
    #[schemars(with = "Option<String>")]
    pub cwd: Option<Spanned<String>>,
    pub env: Option<BTreeMap<String, String>>,
    /// Lines of NAME=value; relative to the file.
    #[schemars(with = "Option<String>")]
    pub env_file: Option<Spanned<String>>,
    /// Variables taken over from whoever calls `ostler up`.
    pub inherit_env: Option<Vec<String>>,
    pub backend: Option<BackendWord>,
    pub preset: Option<PresetWord>,
    pub restart: Option<RestartTable>,
    pub stop: Option<StopTable>,
    #[schemars(with = "Option<ReadyTable>")]
    pub ready: Option<Spanned<ReadyTable>>,
    #[schemars(with = "Option<HealthTable>")]
    pub health: Option<Spanned<HealthTable>>,
    pub liveness_backoff: Option<BackoffTable>,
    /// Started when those are ready, stopped before them.
    #[schemars(with = "Option<Vec<String>>")]
    pub depends_on: Option<Vec<Spanned<String>>>,
    /// How long one run may last; 0 is off.
    pub timeout: Option<Duration>,
    /// How long it may be silent; 0 is off.
    pub no_output_timeout: Option<Duration>,
    #[schemars(with = "Option<ScheduleWord>")]
    pub schedule: Option<Spanned<ScheduleWord>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackendWord {
    Pipe,
    Pty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PresetWord {
    Goclaw,
    Openclawos,
    Ploinky,
    Crashloop,
    Gastown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenWord {
    Always,
    OnFailure,
    Never,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RestartTable {
    pub when: Option<WhenWord>,
    pub initial: Option<Duration>,
    pub factor: Option<f64>,
    pub max: Option<Duration>,
    pub reset_after: Option<Duration>,
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
    pub initial: Option<Duration>,
    pub factor: Option<f64>,
    pub max: Option<Duration>,
    pub reset_after: Option<Duration>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopTable {
    pub signal: Option<SignalName>,
    pub grace: Option<Duration>,
}

/// Exactly one of http, tcp, exec, line, notify, delay.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadyTable {
    pub http: Option<String>,
    pub tcp: Option<String>,
    pub exec: Option<Command>,
    pub line: Option<String>,
    pub notify: Option<bool>,
    pub delay: Option<Duration>,
    pub timeout: Option<Duration>,
}

/// Exactly one of http, tcp, exec.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HealthTable {
    pub http: Option<String>,
    pub tcp: Option<String>,
    pub exec: Option<Command>,
    pub interval: Option<Duration>,
    pub timeout: Option<Duration>,
    pub failures: Option<u32>,
    pub successes: Option<u32>,
    pub start_after: Option<Duration>,
}

/// `"*/5 * * * *"`, or a table with a time zone.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScheduleWord {
    Cron(String),
    Table(ScheduleTable),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleTable {
    pub cron: String,
    pub time_zone: Option<String>,
    /// The last one is still there: skip, replace or queue.
    #[serde(default)]
    pub overlap: OverlapWord,
    /// It was missed: skip it, or make up for it once.
    #[serde(default)]
    pub missed: MissedWord,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverlapWord {
    #[default]
    Skip,
    Replace,
    Queue,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissedWord {
    #[default]
    Skip,
    Once,
}

macro_rules! or {
    ($own:expr, $other:expr, $($field:ident),+) => {
        UnitTable { $($field: $own.$field.clone().or_else(|| $other.$field.clone())),+ }
    };
}

impl UnitTable {
    /// What it says itself, and the defaults for the rest. Variables are put together.
    pub(crate) fn over(&self, defaults: &UnitTable) -> UnitTable {
        let mut merged = or!(
            self,
            defaults,
            command,
            cwd,
            env,
            env_file,
            inherit_env,
            backend,
            preset,
            restart,
            stop,
            ready,
            health,
            liveness_backoff,
            depends_on,
            timeout,
            no_output_timeout,
            schedule
        );
        if let (Some(own), Some(other)) = (&self.env, &defaults.env) {
            let mut both = other.clone();
            both.extend(own.clone());
            merged.env = Some(both);
        }
        merged
    }
}
