//! Agents on terminals: their screens are judged when they come to rest, and they may report by themselves.

mod judge;
mod known;
pub(crate) mod sessions;
mod watch;

pub use judge::{AgentSubject, Judge};
pub use known::NotOfRun;

pub(crate) use known::AgentAsk;
pub(crate) use watch::{DrawSignal, ScreenWatch};
