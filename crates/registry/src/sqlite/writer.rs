//! The single writer of this process: all changes of a turn in one transaction.

use super::rows::{SAVE_RUN, save_run};
use super::{pools, reader, schema, units};
use crate::error::RegistryError;
use ostler_model::{Counter, Entry, InstanceId, PoolSpec, RunId, RunRecord, UnitRecord};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Everything that one turn of the dispatcher makes durable.
#[derive(Debug, Default)]
pub struct Batch {
    pub runs: Vec<RunRecord>,
    pub entries: Vec<Entry>,
    pub counts: Vec<(Counter, u64)>,
    /// By name; `None` removes a unit.
    pub units: BTreeMap<String, Option<Box<UnitRecord>>>,
    /// By name; `None` removes a pool.
    pub pools: BTreeMap<String, Option<Box<PoolSpec>>>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
            && self.entries.is_empty()
            && self.counts.is_empty()
            && self.units.is_empty()
            && self.pools.is_empty()
    }

    /// Only the last state of each run is written.
    pub fn save(&mut self, run: RunRecord) {
        match self.runs.iter_mut().rev().find(|known| known.run_id == run.run_id) {
            Some(known) => *known = run,
            None => self.runs.push(run),
        }
    }

    pub fn forget(&mut self, run: RunId) {
        self.runs.retain(|known| known.run_id != run);
        self.entries.retain(|entry| entry.run_id != Some(run));
    }
}

/// A point within a commit, for tests that crash there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitPoint {
    BeforeCommit,
    AfterCommit,
}

pub struct Registry {
    pub(super) connection: Connection,
    path: PathBuf,
    hook: Option<Box<dyn FnMut(CommitPoint) + Send>>,
    /// The data version for which our live runs were last returned.
    pub(super) described_version: Option<i64>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Registry {
    pub fn open(path: &Path) -> Result<Self, RegistryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = schema::open(path, flags)?;
        schema::prepare(&mut connection, path)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Self { connection, path: path.to_owned(), hook: None, described_version: None })
    }

    /// The hook is called before and after every commit.
    pub fn on_commit(&mut self, hook: Box<dyn FnMut(CommitPoint) + Send>) {
        self.hook = Some(hook);
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Releases memory that only finished work needed.
    pub fn rest(&self) {
        let _ = self.connection.execute_batch("PRAGMA shrink_memory");
    }

    /// All or nothing. Assigns the numbers of the entries.
    pub fn commit(&mut self, instance: InstanceId, batch: &mut Batch) -> Result<(), RegistryError> {
        self.at(CommitPoint::BeforeCommit);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(RegistryError::write)?;
        {
            let mut save = transaction.prepare_cached(SAVE_RUN).map_err(RegistryError::write)?;
            for run in &batch.runs {
                save_run(&mut save, run).map_err(RegistryError::write)?;
            }
            let mut note = transaction
                .prepare_cached(
                    "INSERT INTO entries (at_ms, who, what, run_id, why, evidence, unit) VALUES \
                     (?1, ?2, ?3, ?4, ?5, ?6, coalesce(?7, (SELECT unit FROM runs WHERE run_id = ?4)))",
                )
                .map_err(RegistryError::write)?;
            for entry in &mut batch.entries {
                shorten(entry);
                let who = serde_json::to_string(&entry.who).unwrap_or_default();
                let evidence = serde_json::to_string(&entry.evidence).unwrap_or_default();
                note.execute(rusqlite::params![
                    entry.at_ms as i64,
                    who,
                    entry.what.as_str(),
                    entry.run_id.map(|run| run.to_string()),
                    entry.why,
                    evidence,
                    entry.evidence.get("unit").and_then(serde_json::Value::as_str),
                ])
                .map_err(RegistryError::write)?;
                entry.seq = transaction.last_insert_rowid();
            }
            for (name, unit) in &batch.units {
                match unit {
                    Some(unit) => units::save(&transaction, instance, unit),
                    None => units::remove(&transaction, instance, name),
                }
                .map_err(RegistryError::write)?;
            }
            for (name, pool) in &batch.pools {
                match pool {
                    Some(pool) => pools::save(&transaction, instance, pool),
                    None => pools::remove(&transaction, instance, name),
                }
                .map_err(RegistryError::write)?;
            }
            let mut count = transaction
                .prepare_cached(
                    "INSERT INTO counters (name, label, value) VALUES (?, ?, ?) \
                     ON CONFLICT (name, label) DO UPDATE SET value = value + excluded.value",
                )
                .map_err(RegistryError::write)?;
            for (counter, value) in merged(&batch.counts) {
                let label = counter.label().map_or("", |(_, label)| label);
                count
                    .execute(rusqlite::params![counter.name(), label, value as i64])
                    .map_err(RegistryError::write)?;
            }
        }
        transaction.commit().map_err(RegistryError::write)?;
        self.at(CommitPoint::AfterCommit);
        Ok(())
    }

    /// All live runs, of any owner.
    pub fn live(&self) -> Result<Vec<RunRecord>, RegistryError> {
        reader::live(&self.connection)
    }

    /// The number of the last entry of any instance.
    pub fn last_seq(&self) -> Result<i64, RegistryError> {
        self.connection
            .query_row("SELECT coalesce(max(seq), 0) FROM entries", [], |row| row.get(0))
            .map_err(RegistryError::read)
    }

    /// The ids of all runs.
    pub fn known(&self) -> Result<HashSet<RunId>, RegistryError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT run_id FROM runs")
            .map_err(RegistryError::read)?;
        let mut rows = statement.query([]).map_err(RegistryError::read)?;
        let mut known = HashSet::new();
        while let Some(row) = rows.next().map_err(RegistryError::read)? {
            known.insert(super::rows::run_id(row.get(0).map_err(RegistryError::read)?)?);
        }
        Ok(known)
    }

    pub fn run(&self, id: RunId) -> Result<Option<RunRecord>, RegistryError> {
        reader::run(&self.connection, id)
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
            .map_err(RegistryError::write)?;
        let done = work(&transaction).map_err(RegistryError::write)?;
        transaction.commit().map_err(RegistryError::write)?;
        self.at(CommitPoint::AfterCommit);
        Ok(done)
    }

    /// Ended runs of this instance and boot with surviving processes.
    pub fn unkillable(
        &self,
        instance: InstanceId,
        boot_id: &str,
    ) -> Result<Vec<RunRecord>, RegistryError> {
        let mut left = super::units::unkillable(&self.connection, boot_id)?;
        left.retain(|record| record.owner_instance_id == instance);
        Ok(left)
    }

    /// A unit's runs, newest first.
    pub fn runs_of(&self, unit: &str, most: u64) -> Result<Vec<RunRecord>, RegistryError> {
        super::units::runs_of(&self.connection, unit, most)
    }

    pub(super) fn at(&mut self, moment: CommitPoint) {
        if let Some(hook) = &mut self.hook {
            hook(moment);
        }
    }
}

/// The longest reason and the largest evidence of one entry.
const WHY_MOST: usize = 64 << 10;
const EVIDENCE_MOST: usize = 256 << 10;

/// An entry may contain program output. It is cut, so that no entry is larger than a reader can hold.
fn shorten(entry: &mut Entry) {
    if entry.why.len() > WHY_MOST {
        entry.why.truncate(entry.why.floor_char_boundary(WHY_MOST));
        entry.why.push('…');
    }
    let size = |value: &serde_json::Value| match value {
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => 8,
        serde_json::Value::String(text) => text.len(),
        nested => serde_json::to_string(nested).map_or(0, |text| text.len()),
    };
    while entry.evidence.values().map(size).sum::<usize>() > EVIDENCE_MOST {
        let Some(largest) = entry.evidence.values_mut().max_by_key(|value| size(value)) else {
            return;
        };
        *largest = format!("left out: {} bytes", size(largest)).into();
    }
}

fn merged(counts: &[(Counter, u64)]) -> std::collections::BTreeMap<Counter, u64> {
    let mut merged = std::collections::BTreeMap::new();
    for (counter, value) in counts {
        *merged.entry(*counter).or_insert(0) += value;
    }
    merged
}
