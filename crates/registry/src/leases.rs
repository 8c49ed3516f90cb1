//! One lease per instance. The owner of a run changes in one conditional update, or not at all.

use crate::RegistryError;
use ostler_model::{InstanceId, RunId, RunRecord};
use std::collections::HashMap;

/// An instance's lease, from the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub boot_id: String,
    pub renewed_at_ms: u64,
    pub expires_at_ms: u64,
    pub expires_mono_ms: u64,
}

/// The result of an attempt to take over a run.
#[derive(Clone, Debug)]
pub enum StealOutcome {
    Won(Box<RunRecord>),
    /// The owner renewed, another supervisor was faster, or the run is over.
    Lost,
}

pub trait WriteLeases {
    /// Renews our lease and returns our live runs; `None` if no other connection has written since they were last
    /// returned, so no run can have been stolen. At rest this is all the work, whatever the number of runs.
    fn renew(
        &mut self,
        instance: InstanceId,
        claims: &Claims,
    ) -> Result<Option<Vec<RunId>>, RegistryError>;

    /// The next renewal returns the runs again, because not all of the last result could be used.
    fn report_again(&mut self);

    /// Our live runs: can still be read when writes fail.
    fn owned(&self, instance: InstanceId) -> Result<Vec<RunId>, RegistryError>;

    fn claims(&self) -> Result<HashMap<InstanceId, Claims>, RegistryError>;

    /// Takes over a run, if its owner and that owner's lease are unchanged since they were read.
    fn steal(
        &mut self,
        run: &RunRecord,
        seen: Option<&Claims>,
        thief: InstanceId,
        at_ms: u64,
    ) -> Result<StealOutcome, RegistryError>;

    /// Releases our lease on an orderly end.
    fn release(&mut self, instance: InstanceId) -> Result<(), RegistryError>;
}
