//! What goes over the door: one JSON object a line, and, once a viewer is attached, frames.

use crate::{
    AgentIdleCall, AgentKnown, AgentReport, AgentSessionCall, Depth, Entry, Mail, MailCall, Nudge,
    NudgeCall, PatrolCall, PatrolMemory, PoolSpec, PoolView, RunId, RunRecord, RunResult, RunSpec,
    Sample, TerminalSize, UnitLook, UnitSpec, UnitView, Waiting,
};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The longest request line the door reads. Larger than the kernel's own limit on arguments and
/// environment together, so that the kernel's word (E2BIG) is the one a caller hears.
pub const MAX_LINE: usize = 16 << 20;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub id: u64,
    #[serde(flatten)]
    pub call: Call,
}

/// What a caller may ask.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "kebab-case")]
pub enum Call {
    Ping,
    Spawn(Box<RunSpec>),
    Runs(RunFilter),
    Show(Target),
    Wait(Target),
    /// Answers with the record when the run no longer waits for a place in its pool.
    AwaitStart(Target),
    /// The pools that files have declared, with who runs and who waits.
    Pools,
    Cancel(CancelCall),
    /// The caller shows the run in the foreground and leaves it: it goes on without the caller.
    Leave(Target),
    /// Give bytes to the run's standard input. The bytes follow as `Input` frames.
    Write(Target),
    /// Follow the run's output. The answer is followed by frames.
    View(ViewCall),
    Entries(EntryFilter),
    Metrics,
    Shutdown,
    /// The caller is a process of a run, and wants the daemon to end every run and to begin again: the caller's run ends
    /// too, so the guardian carries it out. From any other caller it is a conflict, and nothing happens.
    Restart,
    /// Make room for a successor; the runs go on.
    HandOver(HandOverCall),
    /// Declare units; the answer is what that changes.
    Declare(DeclareCall),
    /// Units that rested with a stopped daemon begin.
    Wake,
    /// Start, stop or restart units.
    Units(UnitsCall),
    /// A unit that sleeps is brought back; any other is left alone.
    WakeUnit(WakeCall),
    /// Answers when it is true of all of them.
    AwaitUnits(AwaitCall),
    UnitViews,
    /// Units, and what they use.
    Look(LookCall),
    Mail(MailCall),
    Nudges(NudgeCall),
    Patrol(Box<PatrolCall>),
    /// What is on the run's terminal now, as text.
    Screen(Target),
    /// What is known of the agent on the run's terminal.
    Agent(AgentCall),
    /// An agent's own word, from a process of its run.
    AgentReport(Box<AgentReportCall>),
    /// The session of the agent that a unit runs.
    AgentSession(AgentSessionCall),
    /// Whether that agent has nothing to do.
    AgentIdle(AgentIdleCall),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandOverCall {
    /// The program to hand over to; its own again where there is none.
    pub program: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// A run id, or the unambiguous beginning or end of one.
    pub run: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelCall {
    /// A run id, or the unambiguous beginning or end of one.
    pub run: String,
    /// The caller's own reason, which is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CancelCall {
    /// The most characters of a reason.
    pub const REASON_MOST: usize = 1_000;

    pub fn of(run: impl Into<String>) -> Self {
        Self { run: run.into(), reason: None }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCall {
    /// A run id, or the unambiguous beginning or end of one.
    pub run: String,
    /// Its screen is looked at now; without it, what was seen when it last came to rest.
    #[serde(default)]
    pub fresh: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReportCall {
    /// The run that the caller is of, as `OSTLER_RUN_ID` tells it.
    pub run: RunId,
    pub report: AgentReport,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFilter {
    pub live_only: bool,
    pub newest_ended: Option<u64>,
    /// Only those of this unit, the newest first.
    #[serde(default)]
    pub unit: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LookCall {
    /// All, if none is named. Names that are no unit's are left out.
    pub names: Vec<String>,
    pub depth: Depth,
    /// Without what a table does not show.
    #[serde(default)]
    pub brief: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryFilter {
    pub run: Option<String>,
    #[serde(default)]
    pub unit: Option<String>,
    pub after_seq: Option<i64>,
    pub newest: Option<u64>,
    pub follow: bool,
    /// With `follow`: also tell, every few seconds, which runs have written output.
    #[serde(default)]
    pub output: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewCall {
    pub run: String,
    pub from: ViewFrom,
    /// Go on with what comes, until the run has ended.
    pub follow: bool,
    /// May type, and may own the size of the terminal.
    pub interactive: bool,
    pub size: Option<TerminalSize>,
}

/// Where a view begins.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    pub id: u64,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Ok(Answer),
    Error(WireError),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "kebab-case")]
pub enum Answer {
    Pong(Pong),
    Spawned(Box<RunRecord>),
    Runs(Vec<RunRecord>),
    Run(Box<RunRecord>),
    Ended(RunResult),
    Cancelled(CancelAnswer),
    /// Frames follow.
    Viewing(Viewing),
    /// Frames are awaited.
    Writing,
    Written(u64),
    Entries(Vec<Entry>),
    Metrics(Vec<Sample>),
    ShutDown(ShutdownAnswer),
    HandingOver,
    Plan(Vec<Change>),
    Units(Vec<UnitView>),
    Pools(Vec<PoolView>),
    Looks(Vec<UnitLook>),
    Mails(Vec<Mail>),
    Waiting(Vec<Waiting>),
    Nudges(Vec<Nudge>),
    Patrol(Box<PatrolMemory>),
    Screen(ScreenText),
    Agent(Box<AgentKnown>),
    Asked,
}

/// What a person would see on a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScreenText {
    pub lines: Vec<String>,
    /// The same without what is drawn dim, as placeholders are; empty where that is all the same.
    pub bright: Vec<String>,
    /// Inverse cells beside which nothing is inverse: cursors that programs draw themselves.
    pub inverse: Vec<ScreenSpot>,
    pub title: String,
    /// The last payload of each operating system command (OSC), by its number; titles are not among them.
    #[serde(deserialize_with = "by_number")]
    pub osc: BTreeMap<u16, String>,
    pub columns: u16,
    pub rows: u16,
    /// The program has turned bracketed paste on.
    pub takes_paste: bool,
    /// It wants arrow keys as `ESC O A`, not as `ESC [ A`.
    pub application_cursor: bool,
    pub cursor: ScreenCursor,
}

/// Keys of JSON are texts, and serde does not read them as numbers within an answer that is tagged.
fn by_number<'de, D: Deserializer<'de>>(source: D) -> Result<BTreeMap<u16, String>, D::Error> {
    let named = BTreeMap::<String, String>::deserialize(source)?;
    Ok(named.into_iter().filter_map(|(key, value)| Some((key.parse().ok()?, value))).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenSpot {
    pub row: u16,
    pub column: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScreenCursor {
    pub row: u16,
    pub column: u16,
    pub is_visible: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pong {
    pub version: String,
    pub pid: u32,
    pub home: String,
    pub started_at_ms: u64,
    pub live: u64,
    /// The guardian's pid; none where systemd or nobody looks after the supervisor.
    pub guardian: Option<i32>,
    /// Why the program that was to take its place did not.
    pub went_back: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelAnswer {
    /// It had ended before the call; nothing was done.
    pub already_ended: bool,
    pub result: RunResult,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Viewing {
    pub run_id: RunId,
    pub pty: bool,
    pub writable: bool,
    pub offset: u64,
    pub size: TerminalSize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownAnswer {
    pub pid: u32,
    pub ended: Vec<RunResult>,
    /// Results that could not be written to the registry any more.
    pub unsaved: u64,
    /// What of earlier runs could not be ended and still lives, each in a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// An error at the door, with a code a program can tell apart and a message a person can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireError {
    pub code: ErrorCode,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    InvalidRequest,
    NoSuchRun,
    AmbiguousRun,
    ShuttingDown,
    Conflict,
    /// The run is another supervisor's.
    Elsewhere,
    RegistryFailed,
    /// Too many callers at this moment, or too many connections of this one.
    Busy,
    Internal,
}

/// What a frame carries: one byte of kind, four of length (little endian), then the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Supervisor → viewer.
    Stdout,
    Stderr,
    /// JSON: `{"from":…,"to":…}`, bytes that are no longer (or never were) kept.
    Gap,
    /// JSON: the run's result. The last frame.
    Ended,
    /// Nothing more for now and the view does not follow. The last frame.
    Caught,
    /// JSON `{"atMs":…}`: when the bytes that follow were written.
    Time,
    /// Viewer → supervisor.
    Input,
    EndOfInput,
    /// JSON: `TerminalSize`.
    Resize,
    Detach,
    /// JSON: `WireError`.
    Error,
}

impl FrameKind {
    const ALL: [FrameKind; 11] = [
        FrameKind::Stdout,
        FrameKind::Stderr,
        FrameKind::Gap,
        FrameKind::Ended,
        FrameKind::Caught,
        FrameKind::Time,
        FrameKind::Input,
        FrameKind::EndOfInput,
        FrameKind::Resize,
        FrameKind::Detach,
        FrameKind::Error,
    ];

    pub const MAX_PAYLOAD: usize = 1 << 20;
    pub const HEADER: usize = 5;

    pub fn header(self, length: usize) -> [u8; Self::HEADER] {
        let length = (length as u32).to_le_bytes();
        [self as u8, length[0], length[1], length[2], length[3]]
    }

    /// The kind and the payload's length, or what is wrong with the header.
    pub fn parse(header: [u8; Self::HEADER]) -> Result<(FrameKind, usize), String> {
        let kind = *Self::ALL
            .get(header[0] as usize)
            .ok_or_else(|| format!("unknown frame kind {}", header[0]))?;
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if length > Self::MAX_PAYLOAD {
            return Err(format!(
                "a frame of {length} bytes is longer than {} bytes",
                Self::MAX_PAYLOAD
            ));
        }
        Ok((kind, length))
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Gap {
    pub from: u64,
    pub to: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimeMark {
    pub at_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_headers_read_back_and_bad_ones_are_told() {
        for kind in FrameKind::ALL {
            assert_eq!(FrameKind::parse(kind.header(77)), Ok((kind, 77)));
        }
        assert!(FrameKind::parse([99, 0, 0, 0, 0]).is_err());
        assert!(FrameKind::parse([0, 255, 255, 255, 255]).is_err());
    }

    #[test]
    fn a_screen_reads_back_within_an_answer_and_an_old_one_is_read() {
        let screen = ScreenText {
            lines: vec!["> ".to_owned()],
            osc: BTreeMap::from([(9, "4;1".to_owned()), (633, "A".to_owned())]),
            inverse: vec![ScreenSpot { row: 0, column: 2 }],
            ..ScreenText::default()
        };
        let answer = Response { id: 7, outcome: Outcome::Ok(Answer::Screen(screen.clone())) };
        let text = serde_json::to_string(&answer).expect("encodes");
        let back: Response = serde_json::from_str(&text).expect("reads back");
        assert!(
            matches!(back.outcome, Outcome::Ok(Answer::Screen(read)) if read == screen),
            "{text}"
        );
        let old = r#"{"lines":["a"],"takesPaste":true}"#;
        let old: ScreenText = serde_json::from_str(old).expect("reads");
        assert!(old.takes_paste && old.osc.is_empty());
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclareCall {
    pub units: Vec<UnitSpec>,
    /// The pools of the file. Those that it had declared and that are not among them are dropped.
    #[serde(default)]
    pub pools: Vec<PoolSpec>,
    /// Units of this file that are not among them are withdrawn.
    pub file: Option<String>,
    /// These are withdrawn, whatever declared them.
    #[serde(default)]
    pub gone: Vec<String>,
    /// Start also those that were stopped.
    pub start: bool,
    pub dry_run: bool,
}

impl DeclareCall {
    /// Of nothing yet, by hand, and what it will name is to run.
    pub fn of_no_file() -> Self {
        Self {
            units: Vec::new(),
            pools: Vec::new(),
            file: None,
            gone: Vec::new(),
            start: true,
            dry_run: false,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitsCall {
    pub names: Vec<String>,
    pub ask: UnitAsk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitAsk {
    Start,
    Stop,
    Restart,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WakeCall {
    pub name: String,
    /// What it is woken for, for the journal.
    pub why: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AwaitCall {
    pub names: Vec<String>,
    pub until: AwaitUntil,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AwaitUntil {
    Settled,
    Stopped,
}

/// What a declaration changes of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub unit: String,
    pub kind: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Add,
    Remove,
    /// What runs is not what is declared now.
    Restart,
    /// It changed in a way that needs no restart.
    Update,
    Start,
    Keep,
}
