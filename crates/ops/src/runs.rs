//! Runs: start, list, wait, cancel, write input, view output.

use crate::Done;
use crate::operation::{operation, repeatable};
use ostler_model::{RunId, RunRecord, RunResult, RunSpec, ScreenText, TerminalSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A new run. The response comes when the program is executed, or when it is known that it cannot be.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Spawn(pub Box<RunSpec>);

operation!(Spawn: "runs.spawn", Command, Operator, Quick, At("/runs") => RunRecord, "start a run",
    // The supervisor recognizes the run by its id, and returns the same response again.
    fn may_repeat(&self) -> bool {
        self.0.run_id.is_some()
    }
);

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct List {
    pub live_only: bool,
    pub newest_ended: Option<u64>,
    /// Only runs of this unit, newest first.
    pub unit: Option<String>,
}

operation!(List: "runs.list", Query, ReadOnly, Large, List("/runs", "runId") => Vec<RunRecord>, "list live runs and the newest ended ones");

/// A run id, or the unambiguous beginning or end of one; or a unit's name, for its newest run.
macro_rules! of_a_run {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// A run id, the unambiguous beginning or end of one, or a unit's name for its newest run.
            pub run: String,
        }

        impl $name {
            pub fn of(run: impl ToString) -> Self {
                Self { run: run.to_string() }
            }
        }
    };
}

of_a_run!(Show);
operation!(Show: "runs.show", Query, ReadOnly, Quick, At("/runs/{run}") => RunRecord, "show the record of a run");

of_a_run!(Wait);
operation!(Wait: "runs.wait", Query, ReadOnly, Waiting, At("/runs/{run}/wait") => RunResult, "wait until a run has ended");

of_a_run!(AwaitStart);
operation!(AwaitStart: "runs.await-start", Query, ReadOnly, Waiting, At("/runs/{run}/await-start") => RunRecord,
    "wait until a run has a slot in its pool, or has ended");

of_a_run!(
    /// The caller is the run's foreground client.
    Leave
);
repeatable!(Leave: "runs.leave", Command, Operator, Waiting, Internal("only the foreground client of a run detaches from it") => Done, "detach from a foreground run");

of_a_run!(Screen);
operation!(Screen: "runs.screen", Query, ReadOnly, Large, At("/runs/{run}/screen") => ScreenText, "show what is on the terminal of a run");

of_a_run!(
    /// The bytes follow as `Input` frames after the first response; after the last frame comes a `Written`.
    Write
);
// Nothing is written to the run before the first response.
repeatable!(Write: "runs.write", Stream, Operator, Quick, Internal("its input comes as frames on the control socket") => Done, "write to the standard input of a run");

/// The number of bytes that a run accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    pub bytes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// As in `Show`.
    pub run: String,
    /// The caller's own reason, which the record keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Without the grace period: KILL follows TERM at once.
    #[serde(default)]
    pub now: bool,
}

impl Cancel {
    /// The most characters of a reason.
    pub const REASON_MOST: usize = 1_000;

    pub fn of(run: impl ToString) -> Self {
        Self { run: run.to_string(), reason: None, now: false }
    }
}

repeatable!(Cancel: "runs.cancel", Command, Operator, Waiting, At("/runs/{run}/cancel") => Cancelled, "end a run and everything it started");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    /// The run had ended before the call; nothing was done.
    pub already_ended: bool,
    pub result: RunResult,
}

/// Frames follow the response.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// As in `Show`.
    pub run: String,
    pub from: ViewFrom,
    /// Continue with new output until the run has ended.
    pub follow: bool,
    /// May send input, and may control the size of the terminal.
    pub interactive: bool,
    pub size: Option<TerminalSize>,
}

operation!(View: "runs.view", Stream, ReadOnly, Quick, Internal("its output comes as frames on the control socket; `logs.read` reads the same log") => Viewing, "follow the output of a run");

/// The start of a view.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ViewFrom {
    Start,
    Offset(u64),
    /// This many lines before the end.
    Lines(u64),
    /// Output at or after this wall time.
    Since(u64),
    /// The current screen of the terminal (PTY), or the last lines (pipe).
    Screen,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Viewing {
    pub run_id: RunId,
    pub pty: bool,
    pub writable: bool,
    pub offset: u64,
    pub size: TerminalSize,
}
