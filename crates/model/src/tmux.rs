//! A unit that lives in a session of tmux.

use crate::TerminalSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is declared of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TmuxSpec {
    pub session: String,
    /// The server's socket, as a whole path.
    pub socket: String,
    /// Whose server it is.
    pub server: TmuxOwner,
    pub size: TerminalSize,
    /// Where tmux is. Without one, the unit has a terminal of our own instead.
    pub program: Option<String>,
    /// It has no other sign of being ready: it is when its session is there and its program has been started.
    pub is_ready_when_seated: bool,
}

impl TmuxSpec {
    /// The unit that is the daemon's own server. No unit of a user can have this name.
    pub const SERVER: &'static str = "ostler:tmux";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TmuxOwner {
    /// Ours: it runs as a unit of the daemon's own.
    Ours,
    /// Somebody else's: only sessions we made are ever touched.
    Other,
}

/// What a session's shim is to do, as it is handed to it. The program's environment is the shim's own, without this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TmuxOrder {
    pub spec: TmuxSpec,
    pub argv: Vec<String>,
    pub cwd: String,
    pub stop_signal: i32,
    pub grace_ms: u64,
    /// What makes it ours: the home's instance, the unit, and the run. They are options of the session.
    pub home: String,
    pub unit: String,
    pub run: String,
    /// Where the shim keeps what others have to know: the beginning of files' names.
    pub notes: String,
    /// Where a `tmux` that the program calls has its sockets (`TMUX_TMPDIR`): it has a server of its own then, inside of
    /// the run. On a server of the user's there is none, and the program is told of that server.
    #[serde(default)]
    pub own_sockets: Option<String>,
}

impl TmuxOrder {
    /// How it is handed over.
    pub const VARIABLE: &'static str = "OSTLER_TMUX";

    /// The folder of a home that has the notes.
    pub const FOLDER: &'static str = "tmux";

    /// Why it ended, where its exit code does not tell.
    pub fn end_note(&self) -> String {
        format!("{}.end", self.notes)
    }

    /// Who sits in the pane: a line for the kernel's word, and a `TmuxSeat`.
    pub fn pane_note(&self) -> String {
        format!("{}.pane", self.notes)
    }

    /// What the files of a unit begin with.
    pub fn note_name(unit: &str) -> String {
        unit.replace('/', "_")
    }
}

/// The place of a run that is in a session, for whoever has to find it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaneRecord {
    pub run: String,
    pub unit: String,
    pub home: String,
    pub program: String,
    pub socket: String,
    /// `$3`: a name may be changed, and another session may take it.
    pub session_id: String,
    pub session: String,
    /// `%5`
    pub pane_id: String,
    /// The pane's first process, which is ours and waits for the program.
    pub pane_pid: i32,
    /// The program, once it has been started.
    #[serde(default)]
    pub pid: Option<i32>,
    pub server_pid: i32,
    /// Its shim has closed it, and is about to end.
    #[serde(default)]
    pub is_closed: bool,
}

/// What the end of a session was, beside its exit code.
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
    /// It cannot be made as it is declared: the same again would fail again.
    Refused,
    /// It could not be made.
    Failed,
    /// Somebody else ended its session, its pane or its server.
    Taken,
}
