//! The interface to the code that recognises agents.

use ostler_model::AgentJudged;
use ostler_model::ScreenText;

/// Called on a separate thread. It may be slow, but must return.
pub trait Judge: Send + Sync {
    /// The profile of the program on a terminal; `None` if the program is not a known agent.
    fn profile(&self, subject: AgentSubject<'_>) -> Option<String>;

    /// Judges the screen; `None` if the profile no longer exists. Without a profile, only an obvious question counts.
    fn judge(&self, profile: Option<&str>, screen: &ScreenText) -> Option<AgentJudged>;
}

/// The run that the terminal belongs to.
pub struct AgentSubject<'a> {
    /// The profile that its unit declares.
    pub agent: Option<&'a str>,
    /// The command that it was started with.
    pub argv: &'a [String],
    /// The command line of each of its processes, read on demand.
    pub tree: &'a mut dyn FnMut() -> Vec<Vec<String>>,
}
