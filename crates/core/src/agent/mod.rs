//! The agent on a run's terminal: what it is doing, and when the operator must know.

mod machine;
mod rule;

pub(crate) use machine::Agents;
pub use machine::{AgentEvent, News};
pub use rule::{Reported, Seen, view};
