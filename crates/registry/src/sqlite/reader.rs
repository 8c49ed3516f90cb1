//! Queries on a connection of their own, so that they never block the writer.

use super::rows::{FROM_RUNS, RUN_COLUMNS, read_run};
use super::schema;
use crate::error::RegistryError;
use ostler_model::{Counter, RunId, RunRecord, Sample};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Which ended runs to read.
#[derive(Clone, Copy, Debug)]
pub struct RunQuery {
    pub newest: Option<u64>,
}

#[derive(Debug)]
pub struct Reader {
    connection: Connection,
}

impl Reader {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub fn open(path: &Path) -> Result<Self, RegistryError> {
        let connection = schema::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(RegistryError::read)?;
        connection.pragma_update(None, "query_only", true).map_err(RegistryError::read)?;
        connection.pragma_update(None, "cache_size", -512).map_err(RegistryError::read)?;
        Ok(Self { connection })
    }

    /// Opens the file with the same checks as a supervisor, without changing it.
    pub fn inspect(path: &Path) -> Result<Self, RegistryError> {
        let connection = schema::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        schema::recognise(&connection, path)?;
        drop(connection);
        Self::open(path)
    }

    /// Ended runs, newest first.
    pub fn ended(&self, query: RunQuery) -> Result<Vec<RunRecord>, RegistryError> {
        let most = query.newest.map_or(-1, |newest| newest as i64);
        select(
            &self.connection,
            &format!(
                "SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE state = 'exited' ORDER BY ended_at_ms DESC LIMIT ?"
            ),
            [most],
        )
    }

    /// Runs that another instance owns on the same registry.
    pub fn live(&self) -> Result<Vec<RunRecord>, RegistryError> {
        live(&self.connection)
    }

    /// Ended runs of this boot with surviving processes.
    pub fn unkillable(&self, boot_id: &str) -> Result<Vec<RunRecord>, RegistryError> {
        super::units::unkillable(&self.connection, boot_id)
    }

    pub fn run(&self, id: RunId) -> Result<Option<RunRecord>, RegistryError> {
        run(&self.connection, id)
    }

    /// The minimum number of digits of a run id. Shorter parts match by chance, and a mistyped unit name would reach
    /// another run.
    pub const PART_LEAST: usize = 4;

    /// The runs whose id begins or ends with this part, at most two: enough to tell one from several. A part shorter
    /// than `PART_LEAST` matches none.
    pub fn matching(&self, part: &str) -> Result<Vec<RunRecord>, RegistryError> {
        let digits = part.chars().filter(char::is_ascii_hexdigit).count();
        let is_part = part.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if digits < Self::PART_LEAST || !is_part {
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

    /// All counters, including those at 0.
    pub fn counters(&self) -> Result<Vec<Sample>, RegistryError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT name, label, value FROM counters")
            .map_err(RegistryError::read)?;
        let known: HashMap<(String, String), i64> = statement
            .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))
            .and_then(Iterator::collect)
            .map_err(RegistryError::read)?;
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

    /// Integrity check for `doctor`.
    pub fn check(&self) -> Result<(), String> {
        let answer: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| error.to_string())?;
        if answer == "ok" { Ok(()) } else { Err(answer) }
    }
}

pub(super) fn run(connection: &Connection, id: RunId) -> Result<Option<RunRecord>, RegistryError> {
    connection
        .prepare_cached(&format!("SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE run_id = ?"))
        .and_then(|mut statement| {
            statement.query_row([id.to_string()], |row| Ok(read_run(row))).optional()
        })
        .map_err(RegistryError::read)?
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
    let mut statement = connection.prepare_cached(sql).map_err(RegistryError::read)?;
    let mut rows = statement.query(parameters).map_err(RegistryError::read)?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next().map_err(RegistryError::read)? {
        runs.push(read_run(row)?);
    }
    Ok(runs)
}
