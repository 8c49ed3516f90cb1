//! Agents on terminals: a screen is judged when it stops changing, and an agent may report its own state.

mod judge;
mod known;
pub(crate) mod sessions;
mod watch;

pub use judge::{AgentSubject, Judge};
pub use known::NotOfRun;

pub(crate) use known::AgentRequest;
pub(crate) use watch::{DrawSignal, ScreenWatch};
