//! `[patrol]`: the watched agents, and the triage command.

mod parse;
mod resolve;
mod tables;

pub(crate) use parse::parse;
pub(crate) use resolve::PATROL;
pub use tables::PatrolTable;
pub(crate) use tables::{PatrolKeys, WatchKeys};
