//! Bounds the history: ended runs are limited by count and age. The pruner removes their entries later.

use crate::RegistryError;
use ostler_model::{InstanceId, RunId};

pub trait WriteHistory {
    /// Removes our ended runs beyond `keep`, and those that ended before `oldest_ms`. The units with the most runs
    /// lose runs first, so that a unit that ends again and again does not push out the others. Removes at most `most`
    /// at a time, to keep the write transaction short.
    fn prune(
        &mut self,
        instance: InstanceId,
        keep: u64,
        oldest_ms: u64,
        most: u64,
    ) -> Result<Vec<RunId>, RegistryError>;

    /// Removes a run that no client will ask for.
    fn forget(&mut self, run: RunId) -> Result<(), RegistryError>;
}
