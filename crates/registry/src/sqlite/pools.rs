//! Pools: one document each.

use super::error::read_failed;
use crate::error::RegistryError;
use ostler_model::{InstanceId, PoolSpec};
use rusqlite::{Connection, params};

pub(super) fn save(
    connection: &Connection,
    instance: InstanceId,
    pool: &PoolSpec,
) -> rusqlite::Result<usize> {
    let spec = serde_json::to_string(pool).unwrap_or_default();
    connection
        .prepare_cached(
            "INSERT INTO pools (instance_id, name, spec) VALUES (?, ?, ?) \
             ON CONFLICT (instance_id, name) DO UPDATE SET spec = excluded.spec",
        )?
        .execute(params![instance.to_string(), pool.name, spec])
}

pub(super) fn remove(
    connection: &Connection,
    instance: InstanceId,
    name: &str,
) -> rusqlite::Result<usize> {
    connection
        .prepare_cached("DELETE FROM pools WHERE instance_id = ? AND name = ?")?
        .execute(params![instance.to_string(), name])
}

/// All pools of this instance. A pool that cannot be read imposes no limit.
pub(super) fn all(
    connection: &Connection,
    instance: InstanceId,
) -> Result<Vec<PoolSpec>, RegistryError> {
    let mut statement = connection
        .prepare_cached("SELECT spec FROM pools WHERE instance_id = ? ORDER BY name")
        .map_err(read_failed)?;
    let texts: Vec<String> = statement
        .query_map([instance.to_string()], |row| row.get(0))
        .and_then(Iterator::collect)
        .map_err(read_failed)?;
    Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}
