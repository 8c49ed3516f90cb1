use crate::history::WriteHistory;
use crate::leases::WriteLeases;
use crate::mail::WriteMail;
use crate::nudges::WriteNudges;
use crate::patrol::WritePatrol;
use crate::sessions::WriteSessions;
use crate::{Batch, CommitHook, RegistryError};
use ostler_model::{InstanceId, PoolSpec, RunId, RunRecord, UnitRecord, What};
use std::collections::HashSet;
use std::fmt::Debug;

/// The single writer of a supervisor. Every change is one transaction: it is durable if the call returns `Ok`, and has
/// not happened if it returns an error. Other supervisors may have writers on the same registry, under other instances.
pub trait Writer:
    Debug + Send + WriteLeases + WriteHistory + WriteMail + WriteNudges + WritePatrol + WriteSessions
{
    /// Writes all of the batch or nothing. Assigns the numbers of the entries, which rise. A run that has ended, or that
    /// another instance owns, stays as it is.
    fn commit(&mut self, instance: InstanceId, batch: &mut Batch) -> Result<(), RegistryError>;

    /// The hook is called before and after every commit.
    fn on_commit(&mut self, hook: CommitHook);

    /// From now on, a write waits only this long for another program that has locked the registry; the caller tries
    /// again. A longer wait would stop everything else that the caller does.
    fn wait_for_locks(&self, most: std::time::Duration) -> Result<(), RegistryError>;

    /// Releases memory that only finished work needed.
    fn rest(&self);

    /// Keeps a copy for a rollback. An earlier copy is replaced once the new one is complete.
    fn keep_copy(&self) -> Result<(), RegistryError>;

    /// All live runs, of any owner.
    fn live(&self) -> Result<Vec<RunRecord>, RegistryError>;

    fn run(&self, id: RunId) -> Result<Option<RunRecord>, RegistryError>;

    /// A unit's runs, newest first.
    fn runs_of(&self, unit: &str, most: u64) -> Result<Vec<RunRecord>, RegistryError>;

    /// The ids of all runs.
    fn known(&self) -> Result<HashSet<RunId>, RegistryError>;

    /// Ended runs of this instance and boot with surviving processes.
    fn unkillable(
        &self,
        instance: InstanceId,
        boot_id: &str,
    ) -> Result<Vec<RunRecord>, RegistryError>;

    /// The `fromOffset` of a run's entries of this kind.
    fn offsets_noted(&self, run: RunId, what: What) -> Result<Vec<u64>, RegistryError>;

    /// The number of the last entry of any instance.
    fn last_seq(&self) -> Result<i64, RegistryError>;

    /// All units of this instance. One that cannot be read is left unchanged and out.
    fn units(&self, instance: InstanceId) -> Result<Vec<UnitRecord>, RegistryError>;

    /// All pools of this instance. A pool that cannot be read imposes no limit.
    fn pools(&self, instance: InstanceId) -> Result<Vec<PoolSpec>, RegistryError>;
}
