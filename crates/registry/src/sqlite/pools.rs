//! Pools: one document each.

use super::Registry;
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

impl Registry {
    /// All pools of this instance. A pool that cannot be read imposes no limit.
    pub fn pools(&self, instance: InstanceId) -> Result<Vec<PoolSpec>, RegistryError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT spec FROM pools WHERE instance_id = ? ORDER BY name")
            .map_err(RegistryError::read)?;
        let texts: Vec<String> = statement
            .query_map([instance.to_string()], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(RegistryError::read)?;
        Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
    }
}
