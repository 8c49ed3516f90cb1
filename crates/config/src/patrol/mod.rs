//! `[patrol]`: a town, who is watched in it, and who is asked about them.

mod parse;
mod resolve;
mod tables;

pub(crate) use parse::parse;
pub(crate) use resolve::PATROL;
pub use tables::PatrolTable;
pub(crate) use tables::{PatrolKeys, WatchKeys};
