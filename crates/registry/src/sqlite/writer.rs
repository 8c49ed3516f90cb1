//! The single writer of this process: all changes of a turn in one transaction.

use super::error::{read_failed, write_failed};
use super::rows::{SAVE_RUN, save_run};
use super::{entries, fallback, pools, reader, schema, units};
use crate::{Batch, CommitHook, CommitPoint, RegistryError, Writer};
use ostler_model::{InstanceId, PoolSpec, RunId, RunRecord, UnitRecord, What};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub(super) struct SqliteWriter {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    hook: Option<CommitHook>,
    /// The data version for which our live runs were last returned.
    pub(super) described_version: Option<i64>,
}

impl std::fmt::Debug for SqliteWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SqliteWriter {
    pub(super) fn open(path: &Path) -> Result<Self, RegistryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = schema::open(path, flags)?;
        schema::prepare(&mut connection, path)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Self { connection, path: path.to_owned(), hook: None, described_version: None })
    }

    /// One transaction: if it returns `Ok`, the changes are durable.
    pub(super) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, RegistryError> {
        self.at(CommitPoint::BeforeCommit);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(write_failed)?;
        let done = work(&transaction).map_err(write_failed)?;
        transaction.commit().map_err(write_failed)?;
        self.at(CommitPoint::AfterCommit);
        Ok(done)
    }

    pub(super) fn at(&mut self, moment: CommitPoint) {
        if let Some(hook) = &mut self.hook {
            hook(moment);
        }
    }
}

fn save_runs(transaction: &Transaction<'_>, runs: &[RunRecord]) -> rusqlite::Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let mut save = transaction.prepare_cached(SAVE_RUN)?;
    for run in runs {
        save_run(&mut save, run)?;
    }
    Ok(())
}

fn save_counts(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    if batch.counts.is_empty() {
        return Ok(());
    }
    let mut count = transaction.prepare_cached(
        "INSERT INTO counters (name, label, value) VALUES (?, ?, ?) \
         ON CONFLICT (name, label) DO UPDATE SET value = value + excluded.value",
    )?;
    for (counter, value) in batch.merged_counts() {
        let label = counter.label().map_or("", |(_, label)| label);
        count.execute(rusqlite::params![counter.name(), label, value as i64])?;
    }
    Ok(())
}

impl Writer for SqliteWriter {
    fn on_commit(&mut self, hook: CommitHook) {
        self.hook = Some(hook);
    }

    fn wait_for_locks(&self, most: std::time::Duration) -> Result<(), RegistryError> {
        self.connection.busy_timeout(most).map_err(write_failed)
    }

    fn rest(&self) {
        let _ = self.connection.execute_batch("PRAGMA shrink_memory");
    }

    fn commit(&mut self, instance: InstanceId, batch: &mut Batch) -> Result<(), RegistryError> {
        batch.shorten_entries();
        self.at(CommitPoint::BeforeCommit);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(write_failed)?;
        {
            save_runs(&transaction, &batch.runs).map_err(write_failed)?;
            entries::save(&transaction, &batch.runs, &mut batch.entries).map_err(write_failed)?;
            for (name, unit) in &batch.units {
                match unit {
                    Some(unit) => units::save(&transaction, instance, unit),
                    None => units::remove(&transaction, instance, name),
                }
                .map_err(write_failed)?;
            }
            for (name, pool) in &batch.pools {
                match pool {
                    Some(pool) => pools::save(&transaction, instance, pool),
                    None => pools::remove(&transaction, instance, name),
                }
                .map_err(write_failed)?;
            }
            save_counts(&transaction, batch).map_err(write_failed)?;
        }
        transaction.commit().map_err(write_failed)?;
        self.at(CommitPoint::AfterCommit);
        Ok(())
    }

    fn live(&self) -> Result<Vec<RunRecord>, RegistryError> {
        reader::live(&self.connection)
    }

    fn offsets_noted(&self, run: RunId, what: What) -> Result<Vec<u64>, RegistryError> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT json_extract(evidence, '$.fromOffset') FROM entries \
                 WHERE run_id = ?1 AND what = ?2",
            )
            .map_err(read_failed)?;
        let offsets = statement
            .query_map((run.to_string(), what.as_str()), |row| row.get::<_, Option<i64>>(0))
            .map_err(read_failed)?;
        let offsets = offsets.collect::<Result<Vec<_>, _>>().map_err(read_failed)?;
        Ok(offsets.into_iter().flatten().map(|offset| offset as u64).collect())
    }

    fn last_seq(&self) -> Result<i64, RegistryError> {
        self.connection
            .query_row("SELECT coalesce(max(seq), 0) FROM entries", [], |row| row.get(0))
            .map_err(read_failed)
    }

    fn known(&self) -> Result<HashSet<RunId>, RegistryError> {
        let mut statement =
            self.connection.prepare_cached("SELECT run_id FROM runs").map_err(read_failed)?;
        let mut rows = statement.query([]).map_err(read_failed)?;
        let mut known = HashSet::new();
        while let Some(row) = rows.next().map_err(read_failed)? {
            known.insert(super::rows::run_id(row.get(0).map_err(read_failed)?)?);
        }
        Ok(known)
    }

    fn run(&self, id: RunId) -> Result<Option<RunRecord>, RegistryError> {
        reader::run(&self.connection, id)
    }

    fn unkillable(
        &self,
        instance: InstanceId,
        boot_id: &str,
    ) -> Result<Vec<RunRecord>, RegistryError> {
        let mut left = units::unkillable(&self.connection, boot_id)?;
        left.retain(|record| record.owner_instance_id == instance);
        Ok(left)
    }

    fn runs_of(&self, unit: &str, most: u64) -> Result<Vec<RunRecord>, RegistryError> {
        units::runs_of(&self.connection, unit, most)
    }

    fn units(&self, instance: InstanceId) -> Result<Vec<UnitRecord>, RegistryError> {
        units::all(&self.connection, instance)
    }

    fn pools(&self, instance: InstanceId) -> Result<Vec<PoolSpec>, RegistryError> {
        pools::all(&self.connection, instance)
    }

    fn keep_copy(&self) -> Result<(), RegistryError> {
        fallback::keep_copy(self)
    }
}
