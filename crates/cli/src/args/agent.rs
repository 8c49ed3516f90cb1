//! Arguments of `answer` and `report`.

use clap::{Args, ValueEnum};
use ostler_model::AgentState;

#[derive(Debug, Args)]
#[command(
    after_help = "KEY: enter, escape, up, down, left, right, tab, space, or one character, which is pressed as it is. Anything else is a text: it is typed, \
followed by Enter. At a prompt that hides what is typed, as for a password, only enter is a key.\n\nExit 1 if the agent asks nothing (then nothing is typed), or if the question is still there afterwards. \
In both cases the screen is printed.\n\nExamples:\n  ostler answer coder 1\n  ostler answer coder escape\n  ostler answer coder \"use the staging database\""
)]
pub struct AnswerArguments {
    /// A unit, or a run id (a unique prefix or suffix is enough)
    pub name: String,
    /// A text or a key
    #[arg(value_name = "TEXT|KEY", allow_hyphen_values = true, required_unless_present = "stdin")]
    pub answer: Option<String>,
    /// Treat the argument as text even if it names a key
    #[arg(long)]
    pub text: bool,
    /// Read the text from the first line of standard input: a password is then neither in the shell's history nor in the
    /// list of processes
    #[arg(long, conflicts_with = "answer")]
    pub stdin: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "For the hooks of agents, which run inside the unit. A report is valid until the agent's screen shows another state.\n\n\
Example:  ostler report --state waiting --question \"May I delete build/?\""
)]
pub struct ReportArguments {
    /// The agent's state
    #[arg(long, value_name = "STATE")]
    pub state: Option<ReportedState>,
    /// The question that the agent asks
    #[arg(long, value_name = "TEXT")]
    pub question: Option<String>,
    /// When the agent's usage limit ends, in milliseconds since 1970
    #[arg(long, value_name = "MS")]
    pub until_ms: Option<u64>,
    /// The agent's id of its conversation
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// A text that the agent received, as it received it
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ReportedState {
    Starting,
    Working,
    Idle,
    Waiting,
    Limited,
}

impl From<ReportedState> for AgentState {
    fn from(state: ReportedState) -> Self {
        match state {
            ReportedState::Starting => AgentState::Starting,
            ReportedState::Working => AgentState::Working,
            ReportedState::Idle => AgentState::Idle,
            ReportedState::Waiting => AgentState::Waiting,
            ReportedState::Limited => AgentState::Limited,
        }
    }
}
