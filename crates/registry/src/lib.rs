//! Durable records: what Ostler must know after the supervisor has ended.
//!
//! The traits say what is kept and what is promised; [`sqlite`] keeps it in a file. A [`Registry`] is opened as a
//! [`Writer`], of which each supervisor has one, as a [`Reader`] for queries that do not block the writer, and as a
//! [`Pruner`], which keeps the journal within its bounds. `tests/contract` runs against every implementation.

mod batch;
mod error;
mod history;
mod journal;
mod leases;
mod mail;
mod nudges;
mod patrol;
mod pruner;
mod reader;
mod registry;
mod sessions;
mod sqlite;
mod writer;

pub use batch::{Batch, CommitHook, CommitPoint};
pub use error::{Cause, Fault, RegistryError};
pub use history::WriteHistory;
pub use journal::{EntryQuery, ReadJournal, SliceMost, Step};
pub use leases::{Claims, StealOutcome, WriteLeases};
pub use mail::{ReadMail, Sent, WriteMail};
pub use nudges::{ReadNudges, WriteNudges};
pub use patrol::{Ordered, ReadPatrol, WritePatrol};
pub use pruner::{JournalBounds, Pruned, Pruner};
pub use reader::{ID_PART_LEAST, Reader, RunQuery};
pub use registry::{Check, Registry, Rollback};
pub use sessions::WriteSessions;
pub use writer::Writer;

use std::path::PathBuf;
use std::sync::Arc;

/// The registry at this place. This is the only line that chooses an implementation.
pub fn at(place: PathBuf) -> Arc<dyn Registry> {
    Arc::new(sqlite::SqliteRegistry::at(place))
}
