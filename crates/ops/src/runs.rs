//! Runs: start, list, wait, cancel, type into, look at.

use crate::Done;
use crate::operation::{operation, repeatable};
use ostler_model::{RunId, RunRecord, RunResult, RunSpec, ScreenText, TerminalSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A new run. The response comes once it executes, or once it is known that it cannot.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Spawn(pub Box<RunSpec>);

operation!(Spawn: "runs.spawn", Command, Operator, Quick => RunRecord, "start a run",
    // The supervisor knows the run by its id, and gives the same response again.
    fn may_repeat(&self) -> bool {
        self.0.run_id.is_some()
    }
);

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct List {
    pub live_only: bool,
    pub newest_ended: Option<u64>,
    /// Only those of this unit, the newest first.
    pub unit: Option<String>,
}

operation!(List: "runs.list", Query, ReadOnly, Large => Vec<RunRecord>, "list live runs, and the newest that ended");

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
operation!(Show: "runs.show", Query, ReadOnly, Quick => RunRecord, "show the record of a run");

of_a_run!(Wait);
operation!(Wait: "runs.wait", Query, ReadOnly, Waiting => RunResult, "wait until a run has ended");

of_a_run!(AwaitStart);
operation!(AwaitStart: "runs.await-start", Query, ReadOnly, Waiting => RunRecord,
    "wait until a run no longer waits for a place in its pool");

of_a_run!(
    /// The caller shows the run in the foreground.
    Leave
);
repeatable!(Leave: "runs.leave", Command, Operator, Waiting => Done, "leave a run of the foreground running");

of_a_run!(Screen);
operation!(Screen: "runs.screen", Query, ReadOnly, Large => ScreenText, "show what is on the terminal of a run");

of_a_run!(
    /// The bytes follow as `Input` frames, after the first response; behind the last frame comes a `Written`.
    Write
);
// Nothing is given to the run before the first response.
repeatable!(Write: "runs.write", Stream, Operator, Quick => Done, "write to the standard input of a run");

/// How many bytes a run has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    pub bytes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// As in `Show`.
    pub run: String,
    /// The caller's own reason, which is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Cancel {
    /// The most characters of a reason.
    pub const REASON_MOST: usize = 1_000;

    pub fn of(run: impl ToString) -> Self {
        Self { run: run.to_string(), reason: None }
    }
}

repeatable!(Cancel: "runs.cancel", Command, Operator, Waiting => Cancelled, "end a run and everything it started");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    /// It had ended before the call; nothing was done.
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
    /// Go on with what comes, until the run has ended.
    pub follow: bool,
    /// May type, and may own the size of the terminal.
    pub interactive: bool,
    pub size: Option<TerminalSize>,
}

operation!(View: "runs.view", Stream, ReadOnly, Quick => Viewing, "follow the output of a run");

/// Where a view begins.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ViewFrom {
    Start,
    Offset(u64),
    /// This many lines before the end.
    Lines(u64),
    /// What was written at or after this wall time.
    Since(u64),
    /// The picture on the terminal now (PTY), or the last lines (pipe).
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
