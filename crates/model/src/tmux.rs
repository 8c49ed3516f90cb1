//! A unit that runs in a tmux session.

use crate::TerminalSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The declaration of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TmuxSpec {
    pub session: String,
    /// The server's socket, as an absolute path.
    pub socket: String,
    /// The owner of the server.
    pub server: TmuxOwner,
    pub size: TerminalSize,
    /// The path of tmux. Without tmux the unit gets a PTY instead.
    pub program: Option<String>,
    /// It has no readiness check: it is ready when its session exists and its program has started.
    // The stored name is that of earlier versions.
    #[serde(rename = "isReadyWhenSeated")]
    pub is_ready_once_started: bool,
}

impl TmuxSpec {
    /// The unit of the daemon's own server. No user's unit can have this name.
    pub const SERVER: &'static str = "ostler:tmux";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TmuxOwner {
    /// Ours: it runs as a unit of the daemon.
    Ours,
    /// Another owner's: only sessions that we created are changed.
    Other,
}

/// The order for a session's shim. The program gets the shim's environment without this variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TmuxOrder {
    pub spec: TmuxSpec,
    pub argv: Vec<String>,
    pub cwd: String,
    pub stop_signal: i32,
    pub grace_ms: u64,
    /// What marks the session as ours: the home's instance, the unit, and the run. Stored as session options.
    pub home: String,
    pub unit: String,
    pub run: String,
    /// Prefix of the files in which the shim keeps notes for other processes.
    pub notes: String,
    /// Where a `tmux` that the program calls creates its sockets (`TMUX_TMPDIR`), so that it has a server of its own
    /// inside the run. Not set on a server of the user: there, the program talks to that server.
    #[serde(default)]
    pub own_sockets: Option<String>,
}

impl TmuxOrder {
    /// The environment variable that carries the order.
    pub const VARIABLE: &'static str = "OSTLER_TMUX";

    /// The folder of the notes in the home.
    pub const FOLDER: &'static str = "tmux";

    /// Note of why the session ended if its exit code does not tell.
    pub fn end_note(&self) -> String {
        format!("{}.end", self.notes)
    }

    /// Note of the process in the pane: a line for the kernel's identity, and a `TmuxSeat`.
    pub fn pane_note(&self) -> String {
        format!("{}.pane", self.notes)
    }

    /// Prefix of the files of a unit.
    pub fn note_name(unit: &str) -> String {
        unit.replace('/', "_")
    }
}

/// Where a run in a session is, for a process that must find it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaneRecord {
    pub run: String,
    pub unit: String,
    pub home: String,
    pub program: String,
    pub socket: String,
    /// `$3`. A name may be changed and reused by another session; an id may not.
    pub session_id: String,
    pub session: String,
    /// `%5`
    pub pane_id: String,
    /// The pane's first process, which is ours and waits for the program.
    pub pane_pid: i32,
    /// The program, once it has started.
    #[serde(default)]
    pub pid: Option<i32>,
    pub server_pid: i32,
    /// Its shim has closed it and is about to end.
    #[serde(default)]
    pub is_closed: bool,
}

/// How a session ended, besides its exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TmuxEnd {
    pub run: String,
    pub kind: TmuxEndKind,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TmuxEndKind {
    /// It cannot be created as declared: a retry would fail too.
    Refused,
    /// It could not be created.
    Failed,
    /// Another process ended its session, its pane or its server.
    Taken,
}
