//! Ended runs beyond the bounds. Their entries are removed later, a slice at a time (see the pruner).

use super::error::write_failed;
use super::rows::run_id;
use super::writer::SqliteWriter;
use crate::{RegistryError, WriteHistory};
use ostler_model::{InstanceId, RunId};
use rusqlite::{Transaction, TransactionBehavior, params};

impl WriteHistory for SqliteWriter {
    fn prune(
        &mut self,
        instance: InstanceId,
        keep: u64,
        oldest_ms: u64,
        most: u64,
    ) -> Result<Vec<RunId>, RegistryError> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(write_failed)?;
        let names =
            too_many(&transaction, instance, keep, oldest_ms, most).map_err(write_failed)?;
        for name in &names {
            for sql in [
                "DELETE FROM runs WHERE run_id = ?",
                "INSERT OR IGNORE INTO forgotten (run_id) VALUES (?)",
            ] {
                transaction
                    .prepare_cached(sql)
                    .and_then(|mut statement| statement.execute([name]))
                    .map_err(write_failed)?;
            }
        }
        let gone = names.into_iter().map(run_id).collect::<Result<_, _>>()?;
        transaction.commit().map_err(write_failed)?;
        Ok(gone)
    }

    fn forget(&mut self, run: RunId) -> Result<(), RegistryError> {
        let transaction = self.connection.transaction().map_err(write_failed)?;
        for sql in ["DELETE FROM runs WHERE run_id = ?", "DELETE FROM entries WHERE run_id = ?"] {
            transaction.execute(sql, [run.to_string()]).map_err(write_failed)?;
        }
        transaction.commit().map_err(write_failed)
    }
}

fn too_many(
    transaction: &Transaction<'_>,
    instance: InstanceId,
    keep: u64,
    oldest_ms: u64,
    most: u64,
) -> rusqlite::Result<Vec<String>> {
    let instance = instance.to_string();
    let mut names: Vec<String> = transaction
        .prepare_cached(
            "SELECT run_id FROM runs WHERE state = 'exited' AND ended_at_ms < ? \
             AND +owner_instance_id = ? ORDER BY ended_at_ms LIMIT ?",
        )?
        .query_map(params![oldest_ms as i64, instance, most as i64], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if !names.is_empty() {
        return Ok(names);
    }
    let groups: Vec<(Option<String>, u64)> = transaction
        .prepare_cached(
            "SELECT unit, count(*) FROM runs WHERE state = 'exited' AND owner_instance_id = ? GROUP BY unit",
        )?
        .query_map([&instance], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?
        .collect::<rusqlite::Result<_>>()?;
    let level = level(groups.iter().map(|(_, count)| *count).collect(), keep);
    for (unit, count) in groups {
        let left = most - names.len() as u64;
        let excess = count.saturating_sub(level).min(left);
        if excess > 0 {
            let oldest: Vec<String> = transaction
                .prepare_cached(
                    "SELECT run_id FROM runs WHERE state = 'exited' AND owner_instance_id = ? AND unit IS ? \
                     ORDER BY ended_at_ms LIMIT ?",
                )?
                .query_map(params![instance, unit, excess as i64], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            names.extend(oldest);
        }
    }
    Ok(names)
}

/// The number of runs per unit so that all together have at most `keep`.
fn level(mut counts: Vec<u64>, keep: u64) -> u64 {
    counts.sort_unstable();
    let mut left = keep;
    for (index, count) in counts.iter().enumerate() {
        let share = left / (counts.len() - index) as u64;
        if *count > share {
            return share;
        }
        left -= count;
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_have_the_most_give_way() {
        assert_eq!(level(vec![3, 1_990, 100], 2_000), 1_897);
        assert_eq!(level(vec![10, 10, 10], 15), 5);
        assert_eq!(level(vec![2, 3], 5), u64::MAX);
        assert_eq!(level(vec![7], 0), 0);
        assert_eq!(level(Vec::new(), 5), u64::MAX);
    }
}
