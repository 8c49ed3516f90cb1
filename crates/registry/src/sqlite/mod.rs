//! The registry in a SQLite file.

mod entries;
mod error;
mod fallback;
mod history;
mod journal;
mod leases;
mod mail;
mod nudges;
mod patrol;
mod pools;
mod pruner;
mod reader;
mod registry;
mod rows;
mod schema;
mod sessions;
mod units;
mod writer;

pub(crate) use registry::SqliteRegistry;
