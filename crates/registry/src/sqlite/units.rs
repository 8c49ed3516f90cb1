//! Units: one document each.

use super::error::read_failed;
use super::reader;
use super::rows::{FROM_RUNS, RUN_COLUMNS};
use crate::error::RegistryError;
use ostler_model::{InstanceId, RunRecord, UnitRecord};
use rusqlite::{Connection, params};

pub(super) const SAVE: &str = "INSERT INTO units (instance_id, name, record) VALUES (?, ?, ?) \
    ON CONFLICT (instance_id, name) DO UPDATE SET record = excluded.record";
pub(super) const REMOVE: &str = "DELETE FROM units WHERE instance_id = ? AND name = ?";

pub(super) fn save(
    connection: &Connection,
    instance: InstanceId,
    unit: &UnitRecord,
) -> rusqlite::Result<usize> {
    let record = serde_json::to_string(unit).unwrap_or_default();
    connection.prepare_cached(SAVE)?.execute(params![instance.to_string(), unit.spec.name, record])
}

pub(super) fn remove(
    connection: &Connection,
    instance: InstanceId,
    name: &str,
) -> rusqlite::Result<usize> {
    connection.prepare_cached(REMOVE)?.execute(params![instance.to_string(), name])
}

/// All units of this instance. One that cannot be read is left unchanged and out.
pub(super) fn all(
    connection: &Connection,
    instance: InstanceId,
) -> Result<Vec<UnitRecord>, RegistryError> {
    let mut statement = connection
        .prepare_cached("SELECT record FROM units WHERE instance_id = ? ORDER BY name")
        .map_err(read_failed)?;
    let texts: Vec<String> = statement
        .query_map([instance.to_string()], |row| row.get(0))
        .and_then(Iterator::collect)
        .map_err(read_failed)?;
    Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}

pub(super) fn has(
    connection: &Connection,
    instance: InstanceId,
    name: &str,
) -> Result<bool, RegistryError> {
    connection
        .prepare_cached("SELECT 1 FROM units WHERE instance_id = ? AND name = ?")
        .and_then(|mut found| found.exists(params![instance.to_string(), name]))
        .map_err(read_failed)
}

pub(super) fn runs_of(
    connection: &Connection,
    unit: &str,
    most: u64,
) -> Result<Vec<RunRecord>, RegistryError> {
    reader::select(
        connection,
        &format!(
            "SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE unit = ? ORDER BY created_at_ms DESC LIMIT ?"
        ),
        params![unit, most as i64],
    )
}

/// Runs of this boot that left processes, or may have left them. Processes that could not be ended are rare, so there is no index: the query runs once per supervisor.
pub(super) fn unkillable(
    connection: &Connection,
    boot_id: &str,
) -> Result<Vec<RunRecord>, RegistryError> {
    reader::select(
        connection,
        &format!(
            "SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE state = 'exited' AND (extinct = 'no' OR survivors IS NOT NULL) AND runs.boot_id = ?"
        ),
        params![boot_id],
    )
}
