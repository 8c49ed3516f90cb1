use crate::{Backend, OsText, Purpose, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A requested run. Never stored, because the environment may hold secrets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunSpec {
    /// The run's id, if the caller chose one: then a repeated call starts one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub argv: Vec<OsText>,
    pub cwd: OsText,
    /// The whole environment, `NAME=value`. The supervisor's environment is not inherited.
    pub env: Vec<OsText>,
    pub umask: u32,
    pub backend: Backend,
    pub size: TerminalSize,
    /// Keep a pipe to the run's standard input open. Otherwise the run reads end of file.
    pub stdin: bool,
    /// The caller's group of runs; empty for a run that no caller requested.
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Purpose::is_program")]
    pub purpose: Purpose,
    pub unit: Option<String>,
    pub scope_key: Option<String>,
    pub limits: Limits,
    #[serde(default)]
    pub resources: Resources,
    /// The pool in which it waits for a slot. A unit waits before its run is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    pub detach: Detach,
    /// It continues when its parent run ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// It ends with the process that requests it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreground: bool,
}

/// Resource limits of a run, for its whole tree if the kernel can account for that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Resources {
    pub memory_bytes: Option<u64>,
    /// Relative weight; 1024 is the weight without this setting.
    pub cpu_shares: Option<u64>,
    /// For each of its processes.
    pub descriptors: Option<u64>,
}

/// The time limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    pub timeout_ms: Option<u64>,
    pub no_output_timeout_ms: Option<u64>,
    pub grace_ms: u64,
    /// The signal that asks it to end; TERM if absent.
    #[serde(default)]
    pub stop_signal: Option<i32>,
}

impl Limits {
    pub const DEFAULT_GRACE_MS: u64 = 3_000;
    pub const MAX_GRACE_MS: u64 = 60_000;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout_ms: None,
            no_output_timeout_ms: None,
            grace_ms: Self::DEFAULT_GRACE_MS,
            stop_signal: None,
        }
    }
}

/// What happens to a descendant that leaves the run's group and outlives its first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detach {
    /// It is ended and named; the result is that of the first process.
    Forbid,
    /// It is ended and named, and the run is marked `ownership-escape`.
    Strict,
    /// It is recorded as a run of its own.
    Allow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}

impl TerminalSize {
    /// The most columns and rows. The screen of a terminal is kept in memory, cell by cell.
    pub const MOST: u16 = 1_000;

    pub fn is_too_large(self) -> bool {
        self.columns > Self::MOST || self.rows > Self::MOST
    }

    /// The same size, reduced to what a terminal may have.
    #[must_use]
    pub fn clamped(self) -> Self {
        Self { columns: self.columns.min(Self::MOST), rows: self.rows.min(Self::MOST) }
    }
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { columns: 120, rows: 30 }
    }
}

impl RunSpec {
    /// The variable with the id of a program's run. Any program can set it, so no process is ended because of it.
    pub const RUN_ID_VARIABLE: &'static str = "OSTLER_RUN_ID";

    /// Its value for a helper of the container engine, which outlives the run that serves the engine.
    pub const OF_ENGINE: &'static str = "podman";

    pub fn run_id_variable(run: RunId) -> String {
        format!("{}={run}", Self::RUN_ID_VARIABLE)
    }

    /// For people, bounded: an argument list may be megabytes.
    pub fn command_shown(&self) -> String {
        const MOST: usize = 400;
        let mut shown = String::new();
        for (index, argument) in self.argv.iter().enumerate() {
            if index > 0 {
                shown.push(' ');
            }
            let text = String::from_utf8_lossy(&argument.0[..argument.0.len().min(MOST)]);
            let plain = !text.is_empty()
                && text.chars().all(|c| c.is_alphanumeric() || "-_./=:,@%+".contains(c));
            if plain {
                shown.push_str(&text);
            } else {
                shown.push('\'');
                shown.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
                shown.push('\'');
            }
            if shown.chars().count() > MOST {
                shown = shown.chars().take(MOST).collect();
                shown.push('…');
                break;
            }
        }
        shown
    }
}
