use super::error::{read_failed, write_failed};
use super::rows::{FROM_RUNS, RUN_COLUMNS, read_run, run_id};
use super::writer::SqliteWriter;
use crate::{Claims, CommitPoint, RegistryError, StealOutcome, WriteLeases};
use ostler_model::{InstanceId, RunId, RunRecord};
use rusqlite::{OptionalExtension, TransactionBehavior};
use std::collections::HashMap;

impl WriteLeases for SqliteWriter {
    fn renew(
        &mut self,
        instance: InstanceId,
        claims: &Claims,
    ) -> Result<Option<Vec<RunId>>, RegistryError> {
        self.at(CommitPoint::BeforeCommit);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(write_failed)?;
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
            .map_err(write_failed)?;
        // Queried inside the transaction: from here on no other connection can write.
        let version = transaction
            .query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0))
            .map_err(read_failed)?;
        let is_reported = self.described_version == Some(version);
        let owned = if is_reported { None } else { Some(owned(&transaction, instance)?) };
        transaction.commit().map_err(write_failed)?;
        self.described_version = Some(version);
        self.at(CommitPoint::AfterCommit);
        Ok(owned)
    }

    fn report_again(&mut self) {
        self.described_version = None;
    }

    fn owned(&self, instance: InstanceId) -> Result<Vec<RunId>, RegistryError> {
        owned(&self.connection, instance)
    }

    fn claims(&self) -> Result<HashMap<InstanceId, Claims>, RegistryError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT instance_id, boot_id, renewed_at_ms, expires_at_ms, expires_mono_ms FROM leases")
            .map_err(read_failed)?;
        let mut rows = statement.query([]).map_err(read_failed)?;
        let mut claims = HashMap::new();
        while let Some(row) = rows.next().map_err(read_failed)? {
            let number = |index: usize| {
                row.get::<_, i64>(index).map(|value| value as u64).map_err(read_failed)
            };
            let instance = super::rows::instance_id(row.get(0).map_err(read_failed)?)?;
            claims.insert(
                instance,
                Claims {
                    boot_id: row.get(1).map_err(read_failed)?,
                    renewed_at_ms: number(2)?,
                    expires_at_ms: number(3)?,
                    expires_mono_ms: number(4)?,
                },
            );
        }
        Ok(claims)
    }

    fn steal(
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
            .map_err(write_failed)?;
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
            .map_err(write_failed)?;
        let theft = if changed == 1 {
            let stolen = transaction
                .query_row(
                    &format!("SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE run_id = ?"),
                    [run.run_id.to_string()],
                    |row| Ok(read_run(row)),
                )
                .optional()
                .map_err(read_failed)?;
            stolen
                .transpose()?
                .map_or(StealOutcome::Lost, |record| StealOutcome::Won(Box::new(record)))
        } else {
            StealOutcome::Lost
        };
        transaction.commit().map_err(write_failed)?;
        self.at(CommitPoint::AfterCommit);
        Ok(theft)
    }

    fn release(&mut self, instance: InstanceId) -> Result<(), RegistryError> {
        self.connection
            .execute("DELETE FROM leases WHERE instance_id = ?", [instance.to_string()])
            .map(|_| ())
            .map_err(write_failed)
    }
}

fn owned(
    connection: &rusqlite::Connection,
    instance: InstanceId,
) -> Result<Vec<RunId>, RegistryError> {
    let mut statement = connection
        .prepare_cached("SELECT run_id FROM runs WHERE owner_instance_id = ? AND state <> 'exited'")
        .map_err(read_failed)?;
    let mut rows = statement.query([instance.to_string()]).map_err(read_failed)?;
    let mut owned = Vec::new();
    while let Some(row) = rows.next().map_err(read_failed)? {
        owned.push(run_id(row.get(0).map_err(read_failed)?)?);
    }
    Ok(owned)
}
