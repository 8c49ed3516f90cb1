//! Handlers for the operations of the catalogue: one file per subject, with the same names as in the catalogue.

mod agents;
mod apps;
mod daemon;
mod dispatch;
mod journal;
mod logs;
mod mail;
mod nudges;
mod patrol;
mod pools;
mod runs;
mod units;

pub(crate) use apps::{statuses, unit_statuses};
pub(crate) use daemon::samples;
pub(crate) use dispatch::{cost_of, dispatch};
pub(crate) use journal::{Follower, Given, follow};
pub(crate) use runs::ended;
