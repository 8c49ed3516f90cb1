//! One lease per instance. The owner of a run changes in one conditional update, or not at all.

use super::rows::{FROM_RUNS, RUN_COLUMNS, read_run, run_id};
use super::writer::{CommitPoint, Registry};
use crate::error::RegistryError;
use ostler_model::{InstanceId, RunId, RunRecord};
use rusqlite::{OptionalExtension, TransactionBehavior};
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

impl Registry {
    /// Renews our lease and returns our live runs; `None` if no other connection has written since they were last
    /// returned, so no run can have been stolen. At rest this is all the work, whatever the number of runs.
    pub fn renew(
        &mut self,
        instance: InstanceId,
        claims: &Claims,
    ) -> Result<Option<Vec<RunId>>, RegistryError> {
        self.at(CommitPoint::BeforeCommit);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(RegistryError::write)?;
        transaction
            .prepare_cached(
                "INSERT INTO leases (instance_id, boot_id, renewed_at_ms, expires_at_ms, expires_mono_ms) \
                 VALUES (?, ?, ?, ?, ?) ON CONFLICT (instance_id) DO UPDATE SET boot_id = excluded.boot_id, \
                 renewed_at_ms = excluded.renewed_at_ms, expires_at_ms = excluded.expires_at_ms, \
                 expires_mono_ms = excluded.expires_mono_ms",
            )
            .and_then(|mut statement| {
                statement.execute(rusqlite::params![
                    instance.to_string(),
                    claims.boot_id,
                    claims.renewed_at_ms as i64,
                    claims.expires_at_ms as i64,
                    claims.expires_mono_ms as i64,
                ])
            })
            .map_err(RegistryError::write)?;
        // Queried inside the transaction: from here on no other connection can write.
        let version = transaction
            .query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0))
            .map_err(RegistryError::read)?;
        let is_reported = self.described_version == Some(version);
        let owned = if is_reported { None } else { Some(owned(&transaction, instance)?) };
        transaction.commit().map_err(RegistryError::write)?;
        self.described_version = Some(version);
        self.at(CommitPoint::AfterCommit);
        Ok(owned)
    }

    /// The next renewal returns the runs again, because not all of the last result could be used.
    pub fn report_again(&mut self) {
        self.described_version = None;
    }

    /// Our live runs: can still be read when writes fail.
    pub fn owned(&self, instance: InstanceId) -> Result<Vec<RunId>, RegistryError> {
        owned(&self.connection, instance)
    }

    pub fn claims(&self) -> Result<HashMap<InstanceId, Claims>, RegistryError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT instance_id, boot_id, renewed_at_ms, expires_at_ms, expires_mono_ms FROM leases")
            .map_err(RegistryError::read)?;
        let mut rows = statement.query([]).map_err(RegistryError::read)?;
        let mut claims = HashMap::new();
        while let Some(row) = rows.next().map_err(RegistryError::read)? {
            let number = |index: usize| {
                row.get::<_, i64>(index).map(|value| value as u64).map_err(RegistryError::read)
            };
            let instance = super::rows::instance_id(row.get(0).map_err(RegistryError::read)?)?;
            claims.insert(
                instance,
                Claims {
                    boot_id: row.get(1).map_err(RegistryError::read)?,
                    renewed_at_ms: number(2)?,
                    expires_at_ms: number(3)?,
                    expires_mono_ms: number(4)?,
                },
            );
        }
        Ok(claims)
    }

    /// Takes over a run, if its owner and that owner's lease are unchanged since they were read.
    pub fn steal(
        &mut self,
        run: &RunRecord,
        seen: Option<&Claims>,
        thief: InstanceId,
        at_ms: u64,
    ) -> Result<StealOutcome, RegistryError> {
        self.at(CommitPoint::BeforeCommit);
        self.described_version = None;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(RegistryError::write)?;
        let changed = transaction
            .execute(
                "UPDATE runs SET unit = NULL, client = NULL, owner_instance_id = ?1, lease_epoch = lease_epoch + 1, updated_at_ms = ?2 \
                 WHERE run_id = ?3 AND owner_instance_id = ?4 AND state <> 'exited' \
                 AND NOT EXISTS (SELECT 1 FROM leases WHERE instance_id = ?4 AND renewed_at_ms IS NOT ?5)",
                rusqlite::params![
                    thief.to_string(),
                    at_ms as i64,
                    run.run_id.to_string(),
                    run.owner_instance_id.to_string(),
                    seen.map(|claims| claims.renewed_at_ms as i64),
                ],
            )
            .map_err(RegistryError::write)?;
        let theft = if changed == 1 {
            let stolen = transaction
                .query_row(
                    &format!("SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE run_id = ?"),
                    [run.run_id.to_string()],
                    |row| Ok(read_run(row)),
                )
                .optional()
                .map_err(RegistryError::read)?;
            stolen
                .transpose()?
                .map_or(StealOutcome::Lost, |record| StealOutcome::Won(Box::new(record)))
        } else {
            StealOutcome::Lost
        };
        transaction.commit().map_err(RegistryError::write)?;
        self.at(CommitPoint::AfterCommit);
        Ok(theft)
    }

    /// Releases our lease on an orderly end.
    pub fn release(&mut self, instance: InstanceId) -> Result<(), RegistryError> {
        self.connection
            .execute("DELETE FROM leases WHERE instance_id = ?", [instance.to_string()])
            .map(|_| ())
            .map_err(RegistryError::write)
    }
}

fn owned(
    connection: &rusqlite::Connection,
    instance: InstanceId,
) -> Result<Vec<RunId>, RegistryError> {
    let mut statement = connection
        .prepare_cached("SELECT run_id FROM runs WHERE owner_instance_id = ? AND state <> 'exited'")
        .map_err(RegistryError::read)?;
    let mut rows = statement.query([instance.to_string()]).map_err(RegistryError::read)?;
    let mut owned = Vec::new();
    while let Some(row) = rows.next().map_err(RegistryError::read)? {
        owned.push(run_id(row.get(0).map_err(RegistryError::read)?)?);
    }
    Ok(owned)
}
