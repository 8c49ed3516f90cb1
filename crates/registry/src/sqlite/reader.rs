//! Queries on a connection of their own, so that they never block the writer.

use super::error::read_failed;
use super::rows::{FROM_RUNS, RUN_COLUMNS, read_run};
use super::{schema, units};
use crate::{ID_PART_LEAST, Reader, RegistryError, RunQuery};
use ostler_model::{Counter, InstanceId, RunId, RunRecord, Sample};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

#[derive(Debug)]
pub(super) struct SqliteReader {
    connection: Connection,
}

impl SqliteReader {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn open(path: &Path) -> Result<Self, RegistryError> {
        let connection = schema::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(read_failed)?;
        connection.pragma_update(None, "query_only", true).map_err(read_failed)?;
        connection.pragma_update(None, "cache_size", -512).map_err(read_failed)?;
        Ok(Self { connection })
    }

    /// Opens the file with the same checks as a writer, without changing it.
    pub(super) fn inspect(path: &Path) -> Result<Self, RegistryError> {
        let connection = schema::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        schema::recognise(&connection, path)?;
        drop(connection);
        Self::open(path)
    }

    pub(super) fn quick_check(&self) -> Result<(), String> {
        let answer: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| error.to_string())?;
        if answer == "ok" { Ok(()) } else { Err(answer) }
    }
}

impl Reader for SqliteReader {
    fn ended(&self, query: RunQuery) -> Result<Vec<RunRecord>, RegistryError> {
        let most = query.newest.map_or(-1, |newest| newest as i64);
        select(
            &self.connection,
            &format!(
                "SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE state = 'exited' ORDER BY ended_at_ms DESC LIMIT ?"
            ),
            [most],
        )
    }

    fn live(&self) -> Result<Vec<RunRecord>, RegistryError> {
        live(&self.connection)
    }

    fn unkillable(&self, boot_id: &str) -> Result<Vec<RunRecord>, RegistryError> {
        units::unkillable(&self.connection, boot_id)
    }

    fn run(&self, id: RunId) -> Result<Option<RunRecord>, RegistryError> {
        run(&self.connection, id)
    }

    fn runs_of(&self, unit: &str, most: u64) -> Result<Vec<RunRecord>, RegistryError> {
        units::runs_of(&self.connection, unit, most)
    }

    fn has_unit(&self, instance: InstanceId, name: &str) -> Result<bool, RegistryError> {
        units::has(&self.connection, instance, name)
    }

    fn matching(&self, part: &str) -> Result<Vec<RunRecord>, RegistryError> {
        let digits = part.chars().filter(char::is_ascii_hexdigit).count();
        let is_part = part.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if digits < ID_PART_LEAST || !is_part {
            return Ok(Vec::new());
        }
        let part = part.to_ascii_lowercase();
        select(
            &self.connection,
            &format!(
                "SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE run_id LIKE ?1 || '%' OR run_id LIKE '%' || ?1 LIMIT 2"
            ),
            [part],
        )
    }

    fn counters(&self) -> Result<Vec<Sample>, RegistryError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT name, label, value FROM counters")
            .map_err(read_failed)?;
        let known: HashMap<(String, String), i64> = statement
            .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))
            .and_then(Iterator::collect)
            .map_err(read_failed)?;
        Ok(Counter::all()
            .into_iter()
            .map(|counter| {
                let label = counter.label();
                let key =
                    (counter.name().to_owned(), label.map_or("", |(_, label)| label).to_owned());
                Sample {
                    name: counter.name().to_owned(),
                    labels: label
                        .map(|(name, value)| BTreeMap::from([(name.to_owned(), value.to_owned())]))
                        .unwrap_or_default(),
                    value: known.get(&key).copied().unwrap_or(0) as u64,
                }
            })
            .collect())
    }
}

pub(super) fn run(connection: &Connection, id: RunId) -> Result<Option<RunRecord>, RegistryError> {
    connection
        .prepare_cached(&format!("SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE run_id = ?"))
        .and_then(|mut statement| {
            statement.query_row([id.to_string()], |row| Ok(read_run(row))).optional()
        })
        .map_err(read_failed)?
        .transpose()
}

pub(super) fn live(connection: &Connection) -> Result<Vec<RunRecord>, RegistryError> {
    select(
        connection,
        &format!("SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE state <> 'exited' ORDER BY created_at_ms"),
        [],
    )
}

pub(super) fn select(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<RunRecord>, RegistryError> {
    let mut statement = connection.prepare_cached(sql).map_err(read_failed)?;
    let mut rows = statement.query(parameters).map_err(read_failed)?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next().map_err(read_failed)? {
        runs.push(read_run(row)?);
    }
    Ok(runs)
}
