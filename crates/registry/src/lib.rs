//! Durable records: what Ostler must still know when the supervisor is gone.
//!
//! The `Registry` is the one writer's; a `Reader` answers questions beside it.

mod error;
mod sqlite;

pub use error::RegistryError;
pub use sqlite::{
    Batch, Claims, CommitPoint, EntryQuery, JournalBounds, Ordered, Pruned, Pruner, Reader,
    Registry, Rollback, RunQuery, Sent, SliceMost, StealOutcome, Step,
};
