//! The words for agents on terminals.

use clap::{Args, ValueEnum};
use ostler_model::AgentState;

#[derive(Debug, Args)]
#[command(
    after_help = "KEY: enter, escape, up, down, left, right, tab, space, or one character, which is pressed as it is. Anything else is a text: it is typed, \
and then Enter is pressed.\n\nExit 1 if nothing is asked (then nothing is typed), or if the question is still there afterwards. \
What is on the screen then is printed.\n\nExamples:\n  ostler answer coder 1\n  ostler answer coder escape\n  ostler answer coder \"use the staging database\""
)]
pub struct AnswerArguments {
    /// A unit, or a run by its id or enough of its beginning or end
    pub name: String,
    /// A text or a key
    #[arg(value_name = "TEXT|KEY", allow_hyphen_values = true)]
    pub answer: String,
    /// It is a text, whatever it looks like
    #[arg(long)]
    pub text: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "For the hooks of agents, which run inside the unit. A report counts until the agent's screen says something else.\n\n\
Example:  ostler report --state waiting --question \"May I delete build/?\""
)]
pub struct ReportArguments {
    /// What it does now
    #[arg(long, value_name = "STATE")]
    pub state: Option<ReportedState>,
    /// What it asks
    #[arg(long, value_name = "TEXT")]
    pub question: Option<String>,
    /// When its limit is over, in milliseconds since 1970
    #[arg(long, value_name = "MS")]
    pub until_ms: Option<u64>,
    /// What it calls its conversation
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// A text that was sent to it, as it got it
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
