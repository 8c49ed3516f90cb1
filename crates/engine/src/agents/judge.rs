//! Whoever knows what agents look like.

use ostler_model::AgentJudged;
use ostler_model::ScreenText;

/// Asked on a thread of its own: it may take its time, but not for ever.
pub trait Judge: Send + Sync {
    /// The profile by which the program on a terminal is judged; `None` if it is no agent that is known.
    fn profile(&self, subject: AgentSubject<'_>) -> Option<String>;

    /// What the screen says; `None` if there is no such profile any more. Of a program without a profile only a question
    /// that is plain to see counts.
    fn judge(&self, profile: Option<&str>, screen: &ScreenText) -> Option<AgentJudged>;
}

/// What a run's terminal belongs to.
pub struct AgentSubject<'a> {
    /// What its unit declares.
    pub agent: Option<&'a str>,
    /// What it was started with.
    pub argv: &'a [String],
    /// The words of each of its processes, read when they are asked for.
    pub tree: &'a mut dyn FnMut() -> Vec<Vec<String>>,
}
