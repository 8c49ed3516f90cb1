//! A unit that lives in a session of tmux.

use crate::TerminalSize;
use serde::{Deserialize, Serialize};

/// What is declared of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TmuxSpec {
    pub session: String,
    /// The server's socket, as a whole path.
    pub socket: String,
    /// Whose server it is.
    pub server: TmuxOwner,
    pub size: TerminalSize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TmuxOwner {
    /// Ours: it runs as a unit of its own.
    Ours,
    /// Somebody else's: only sessions we made are ever touched.
    Other,
}

/// What a session's shim is to do, as it is handed to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

impl TmuxOrder {
    /// How it is handed over.
    pub const VARIABLE: &'static str = "OSTLER_TMUX";

    /// Why it ended, where its exit code does not tell.
    pub fn end_note(&self) -> String {
        format!("{}.end", self.notes)
    }
}
