use crate::{Enforced, InstanceId, Purpose, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `starting → running → exiting → exited`; `exited` is terminal. A pool member that must wait begins as `queued`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Waits for a slot in its pool. Nothing was executed.
    Queued,
    Starting,
    Running,
    Exiting,
    Exited,
}

/// How a run is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    Pipe,
    Pty,
    /// Its first process here is the container's shim.
    Container,
    /// Its first process here is the session's shim.
    Tmux,
}

/// Why a run ended. The first reason wins.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Termination {
    Exit,
    Signal,
    ManualCancel,
    OverallTimeout,
    NoOutputTimeout,
    SpawnError,
    OwnershipEscape,
    ReconciledStale,
    LeaseLost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimeoutKind {
    Overall,
    NoOutput,
}

/// The kind of a spawn error. It decides the exit code of `ostler run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpawnErrorKind {
    NotFound,
    NotExecutable,
    BadDirectory,
    TooBig,
    OutOfDescriptors,
    OutOfProcesses,
    OutOfMemory,
    Other,
}

impl SpawnErrorKind {
    /// Whether the supervisor or the machine lacks a resource at this moment. That is no fault of the program.
    pub fn is_shortage(self) -> bool {
        match self {
            Self::OutOfDescriptors | Self::OutOfProcesses | Self::OutOfMemory => true,
            Self::NotFound
            | Self::NotExecutable
            | Self::BadDirectory
            | Self::TooBig
            | Self::Other => false,
        }
    }
}

/// Whether the run's whole tree is gone. Independent of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extinct {
    Yes,
    No,
    Unknown,
}

macro_rules! words {
    ($type:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $type {
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $word),+ }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some($type::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words!(RunState { Queued => "queued", Starting => "starting", Running => "running", Exiting => "exiting", Exited => "exited" });
words!(Backend { Pipe => "pipe", Pty => "pty", Container => "container", Tmux => "tmux" });
words!(Extinct { Yes => "yes", No => "no", Unknown => "unknown" });
words!(TimeoutKind { Overall => "overall", NoOutput => "no_output" });
words!(SpawnErrorKind {
    NotFound => "not-found",
    NotExecutable => "not-executable",
    BadDirectory => "bad-directory",
    TooBig => "too-big",
    OutOfDescriptors => "out-of-descriptors",
    OutOfProcesses => "out-of-processes",
    OutOfMemory => "out-of-memory",
    Other => "other",
});
words!(Termination {
    Exit => "exit",
    Signal => "signal",
    ManualCancel => "manual-cancel",
    OverallTimeout => "overall-timeout",
    NoOutputTimeout => "no-output-timeout",
    SpawnError => "spawn-error",
    OwnershipEscape => "ownership-escape",
    ReconciledStale => "reconciled-stale",
    LeaseLost => "lease-lost",
});

impl Termination {
    pub fn timeout(self) -> Option<TimeoutKind> {
        match self {
            Termination::OverallTimeout => Some(TimeoutKind::Overall),
            Termination::NoOutputTimeout => Some(TimeoutKind::NoOutput),
            Termination::Exit
            | Termination::Signal
            | Termination::ManualCancel
            | Termination::SpawnError
            | Termination::OwnershipEscape
            | Termination::ReconciledStale
            | Termination::LeaseLost => None,
        }
    }
}

/// Identity of a process: a pid may be recycled, these three values together are not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fingerprint {
    pub pid: i32,
    /// In the kernel's ticks since boot.
    pub start_time: u64,
    pub boot_id: String,
    /// The kernel's own unique number of this process, never reused (Linux ≥ 6.9).
    pub unique: Option<u64>,
}

/// The durable record of a run (contract R2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    pub run_id: RunId,
    /// The caller's group of runs; empty for a run that no caller requested.
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Purpose::is_program")]
    pub purpose: Purpose,
    pub backend_id: Backend,
    pub unit: Option<String>,
    pub pid: Option<i32>,
    pub start_time: Option<u64>,
    pub boot_id: String,
    /// Tells a recycled pid apart even within one clock tick, if the kernel has it.
    pub process_unique: Option<u64>,
    pub process_group_id: Option<i32>,
    pub cgroup: Option<String>,
    /// The subreaper above the run, if the run has no cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaper: Option<Box<Fingerprint>>,
    pub state: RunState,
    pub created_at_ms: u64,
    pub updated_at_ms: u64,
    pub last_output_at_ms: Option<u64>,
    pub owner_instance_id: InstanceId,
    /// `None` once exited: a terminal record has no lease.
    pub lease_expires_at_ms: Option<u64>,
    pub termination: Option<Termination>,
    pub exit_code: Option<i32>,
    pub exit_signal: Option<i32>,
    pub extinct: Extinct,
    pub scope_key: Option<String>,
    /// For people only; decisions do not read it.
    pub command: String,
    /// What went wrong (a spawn error, a lost exit status).
    pub error: Option<String>,
    /// Why it was cancelled, in the caller's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    pub spawn_error_kind: Option<SpawnErrorKind>,
    pub started_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
    pub timeout_ms: Option<u64>,
    pub no_output_timeout_ms: Option<u64>,
    pub grace_ms: u64,
    pub stop_signal: Option<i32>,
    pub detach_allowed: bool,
    /// When it started on the monotonic clock, so that a deadline outlives its supervisor.
    pub started_mono_ms: Option<u64>,
    /// The bytes of output it wrote, kept or not.
    pub output_bytes: u64,
    /// Its resource limits, and how they are enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforced: Option<Box<Enforced>>,
    /// It ended because it ran out of memory.
    #[serde(default)]
    pub out_of_memory: bool,
    /// How many of its processes were killed for memory, as far as the journal knows.
    #[serde(default)]
    pub memory_kills: u64,
    /// Processes that left its group and outlived its first process, as far as they are named.
    #[serde(default)]
    pub escaped: Vec<Escapee>,
    /// Processes that could not be ended (`extinct: no`), or that may be left of it (`extinct: unknown`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<Fingerprint>,
    /// An escape makes the run a failure.
    #[serde(default)]
    pub strict: bool,
    /// The run whose process requested it. It ends with that run, unless it is kept.
    #[serde(default)]
    pub parent: Option<RunId>,
    #[serde(default)]
    pub keep: bool,
    /// The foreground client: the run ends with that process.
    #[serde(default)]
    pub client: Option<Box<Fingerprint>>,
    /// The pool it is a member of, if it belongs to no unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Its ticket in the queue of its pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<u64>,
    /// Why it waits. Not stored; true only at the moment of display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A process that left its run's group and outlived the run's first process. It ends with the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Escapee {
    pub pid: i32,
    /// For people, shortened.
    pub command: String,
}

impl RunRecord {
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        Some(Fingerprint {
            pid: self.pid?,
            start_time: self.start_time?,
            boot_id: self.boot_id.clone(),
            unique: self.process_unique,
        })
    }

    pub fn result(&self) -> RunResult {
        let timeout = self.termination.and_then(Termination::timeout);
        let started = self.started_at_ms.unwrap_or(self.created_at_ms);
        RunResult {
            run_id: self.run_id,
            pid: self.pid,
            state: self.state,
            termination: self.termination,
            exit_code: self.exit_code,
            exit_signal: self.exit_signal,
            duration_ms: self.ended_at_ms.map(|ended| ended.saturating_sub(started)),
            timed_out: timeout.is_some(),
            no_output_timed_out: timeout == Some(TimeoutKind::NoOutput),
            extinct: self.extinct,
            error: self.error.clone(),
            cancel_reason: self.cancel_reason.clone(),
            why: self.why.clone(),
            spawn_error_kind: self.spawn_error_kind,
            out_of_memory: self.out_of_memory,
            escaped: self.escaped.clone(),
        }
    }
}

/// The final output of `ostler run --json` and `ostler wait --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    pub run_id: RunId,
    pub pid: Option<i32>,
    pub state: RunState,
    pub termination: Option<Termination>,
    pub exit_code: Option<i32>,
    pub exit_signal: Option<i32>,
    pub duration_ms: Option<u64>,
    pub timed_out: bool,
    pub no_output_timed_out: bool,
    pub extinct: Extinct,
    #[serde(default)]
    pub out_of_memory: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it was cancelled, in the caller's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// Why it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_error_kind: Option<SpawnErrorKind>,
    /// Processes that left its group, outlived its first process and were ended.
    #[serde(default)]
    pub escaped: Vec<Escapee>,
}
