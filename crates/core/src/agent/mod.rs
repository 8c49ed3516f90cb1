//! The agent on a run's terminal: what it does, and when a person has to know.

mod machine;
mod rule;

pub(crate) use machine::Agents;
pub use machine::{AgentEvent, News};
pub use rule::{Reported, Seen, view};
