//! History is bounded: ended runs go by count and by age, and their entries with them.

use super::rows::run_id;
use super::writer::Registry;
use crate::error::RegistryError;
use ostler_model::{InstanceId, RunId};
use rusqlite::TransactionBehavior;

impl Registry {
    /// Forgets our ended runs beyond the newest `keep`, and those that ended before `oldest_ms`.
    /// At most `most` at a time, so that the writer is never held up for long.
    pub fn prune(
        &mut self,
        instance: InstanceId,
        keep: u64,
        oldest_ms: u64,
        most: u64,
    ) -> Result<Vec<RunId>, RegistryError> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(RegistryError::write)?;
        let mut gone = Vec::new();
        {
            let mut statement = transaction
                .prepare_cached(
                    "SELECT run_id FROM ( \
                       SELECT run_id, ended_at_ms FROM runs WHERE state = 'exited' AND owner_instance_id = ?4 \
                       ORDER BY ended_at_ms DESC LIMIT -1 OFFSET ?1) \
                     UNION \
                     SELECT run_id FROM runs WHERE state = 'exited' AND ended_at_ms < ?2 AND owner_instance_id = ?4 \
                     LIMIT ?3",
                )
                .map_err(RegistryError::write)?;
            let mut rows = statement
                .query(rusqlite::params![
                    keep as i64,
                    oldest_ms as i64,
                    most as i64,
                    instance.to_string()
                ])
                .map_err(RegistryError::write)?;
            while let Some(row) = rows.next().map_err(RegistryError::read)? {
                gone.push(run_id(row.get(0).map_err(RegistryError::read)?)?);
            }
            let mut runs = transaction
                .prepare_cached("DELETE FROM runs WHERE run_id = ?")
                .map_err(RegistryError::write)?;
            let mut entries = transaction
                .prepare_cached("DELETE FROM entries WHERE run_id = ?")
                .map_err(RegistryError::write)?;
            for run in &gone {
                runs.execute([run.to_string()]).map_err(RegistryError::write)?;
                entries.execute([run.to_string()]).map_err(RegistryError::write)?;
            }
            // Entries about the supervisor itself go by age alone.
            transaction
                .execute(
                    "DELETE FROM entries WHERE run_id IS NULL AND at_ms < ?",
                    [oldest_ms as i64],
                )
                .map_err(RegistryError::write)?;
        }
        transaction.commit().map_err(RegistryError::write)?;
        Ok(gone)
    }

    /// A run that nobody will ask for again.
    pub fn forget(&mut self, run: RunId) -> Result<(), RegistryError> {
        let transaction = self.connection.transaction().map_err(RegistryError::write)?;
        for sql in ["DELETE FROM runs WHERE run_id = ?", "DELETE FROM entries WHERE run_id = ?"] {
            transaction.execute(sql, [run.to_string()]).map_err(RegistryError::write)?;
        }
        transaction.commit().map_err(RegistryError::write)
    }

    pub fn ended_count(&self) -> Result<u64, RegistryError> {
        self.connection
            .query_row("SELECT count(*) FROM runs WHERE state = 'exited'", [], |row| {
                row.get::<_, i64>(0)
            })
            .map(|count| count as u64)
            .map_err(RegistryError::read)
    }
}
