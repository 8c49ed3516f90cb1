//! Durable records: what Ostler must know after the supervisor has ended.
//!
//! The `Registry` belongs to the single writer; a `Reader` answers queries on a connection of its own.

mod error;
mod sqlite;

pub use error::RegistryError;
pub use sqlite::{
    Batch, Claims, CommitPoint, EntryQuery, JournalBounds, Ordered, Pruned, Pruner, Reader,
    Registry, Rollback, RunQuery, Sent, SliceMost, StealOutcome, Step,
};
