//! Keeps the journal within its bounds, a slice at a time, on a connection of its own. Each slice is one short
//! transaction, so that the writer never waits long. Every row is found by an index.

use super::error::write_failed;
use super::schema;
use crate::{JournalBounds, Pruned, Pruner, RegistryError};
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::path::Path;

/// Free pages that are kept for new entries.
const FREE_KEPT: i64 = 256;
/// Pages returned at once.
const PAGES_AT_ONCE: i64 = 64;

#[derive(Debug)]
pub(super) struct SqlitePruner {
    connection: Connection,
}

impl SqlitePruner {
    pub(super) fn open(path: &Path) -> Result<Self, RegistryError> {
        let connection = schema::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(std::time::Duration::from_secs(1)).map_err(write_failed)?;
        // While this connection works it makes the checkpoints: they wait for the disk, and the writer should not.
        connection
            .execute_batch(
                "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1000; \
                 PRAGMA wal_autocheckpoint = 250; PRAGMA journal_size_limit = 4194304;",
            )
            .map_err(write_failed)?;
        Ok(Self { connection })
    }

    fn remove(&mut self, bounds: &JournalBounds, most: u64) -> rusqlite::Result<u64> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut gone = remove_forgotten(&transaction, most)?;
        if gone < most {
            gone += remove_old(&transaction, bounds.oldest_ms, most - gone)?;
        }
        if gone < most
            && let Some((story, excess)) = largest_excess(&transaction, bounds)?
        {
            gone += remove_oldest(&transaction, &story, excess, most - gone)?;
        }
        if gone == 0 {
            transaction.execute("DELETE FROM stories WHERE count <= 0", [])?;
        }
        transaction.commit()?;
        Ok(gone)
    }

    fn give_back(&mut self) -> rusqlite::Result<u64> {
        if schema::pragma(&self.connection, "auto_vacuum")? == 0 {
            return Ok(0);
        }
        let free = schema::pragma(&self.connection, "freelist_count")?;
        let all = schema::pragma(&self.connection, "page_count")?;
        let excess = free - FREE_KEPT.max(all / 20);
        if excess <= 0 {
            return Ok(0);
        }
        let pages = excess.min(PAGES_AT_ONCE);
        // Each step returns one page.
        let mut statement =
            self.connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(pages as u64)
    }
}

impl Pruner for SqlitePruner {
    fn slice(&mut self, bounds: &JournalBounds, most: u64) -> Result<Pruned, RegistryError> {
        let rows = self.remove(bounds, most).map_err(write_failed)?;
        if rows > 0 {
            return Ok(Pruned::Entries(rows));
        }
        let pages = self.give_back().map_err(write_failed)?;
        Ok(if pages > 0 { Pruned::Pages(pages) } else { Pruned::Nothing })
    }

    fn finish(&self) -> Result<(), RegistryError> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .map_err(write_failed)
    }
}

/// Entries of runs whose records are deleted.
fn remove_forgotten(transaction: &Transaction<'_>, most: u64) -> rusqlite::Result<u64> {
    let mut gone = 0;
    while gone < most {
        let Some(run) = transaction
            .prepare_cached("SELECT run_id FROM forgotten LIMIT 1")?
            .query_row([], |row| row.get::<_, String>(0))
            .optional()?
        else {
            break;
        };
        let left = most - gone;
        let removed = transaction
            .prepare_cached(
                "DELETE FROM entries WHERE seq IN (SELECT seq FROM entries WHERE run_id = ? LIMIT ?)",
            )?
            .execute(params![run, left as i64])? as u64;
        gone += removed;
        if removed < left {
            transaction.prepare_cached("DELETE FROM forgotten WHERE run_id = ?")?.execute([run])?;
        }
    }
    Ok(gone)
}

fn remove_old(transaction: &Transaction<'_>, oldest_ms: u64, most: u64) -> rusqlite::Result<u64> {
    let removed = transaction
        .prepare_cached(
            "DELETE FROM entries WHERE seq IN \
             (SELECT seq FROM entries WHERE run_id IS NULL AND at_ms < ? ORDER BY at_ms LIMIT ?)",
        )?
        .execute(params![oldest_ms as i64, most as i64])?;
    Ok(removed as u64)
}

/// By how much a story exceeds its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Excess {
    Rows(u64),
    Bytes(u64),
}

/// The story to shrink: one beyond its own bound, else the largest if all together exceed theirs.
fn largest_excess(
    transaction: &Transaction<'_>,
    bounds: &JournalBounds,
) -> rusqlite::Result<Option<(String, Excess)>> {
    let largest = |by: &str| {
        transaction
            .prepare_cached(&format!(
                "SELECT story, count, bytes FROM stories ORDER BY {by} DESC LIMIT 1"
            ))?
            .query_row([], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })
            .optional()
    };
    let (rows, bytes): (i64, i64) = transaction
        .prepare_cached("SELECT coalesce(sum(count), 0), coalesce(sum(bytes), 0) FROM stories")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let over = |is: i64, bound: u64| (is.max(0) as u64).saturating_sub(bound);
    if let Some((story, count, _)) = largest("count")? {
        let excess = over(count, bounds.story_rows).max(over(rows, bounds.rows).min(count as u64));
        if excess > 0 {
            return Ok(Some((story, Excess::Rows(excess))));
        }
    }
    if let Some((story, _, size)) = largest("bytes")? {
        let excess = over(size, bounds.story_bytes).max(over(bytes, bounds.bytes).min(size as u64));
        if excess > 0 {
            return Ok(Some((story, Excess::Bytes(excess))));
        }
    }
    Ok(None)
}

fn remove_oldest(
    transaction: &Transaction<'_>,
    story: &str,
    excess: Excess,
    most: u64,
) -> rusqlite::Result<u64> {
    let rows = match excess {
        Excess::Rows(rows) => rows.min(most),
        Excess::Bytes(bytes) => rows_of(transaction, story, bytes, most)?,
    };
    let removed = transaction
        .prepare_cached(
            "DELETE FROM entries WHERE seq IN \
             (SELECT seq FROM entries WHERE story = ? ORDER BY seq LIMIT ?)",
        )?
        .execute(params![story, rows as i64])?;
    Ok(removed as u64)
}

/// How many of the oldest entries of a story have this size together.
fn rows_of(
    transaction: &Transaction<'_>,
    story: &str,
    bytes: u64,
    most: u64,
) -> rusqlite::Result<u64> {
    let mut statement = transaction.prepare_cached(
        "SELECT 200 + length(CAST(who AS BLOB)) + length(CAST(why AS BLOB)) + length(CAST(evidence AS BLOB)) \
         FROM entries WHERE story = ? ORDER BY seq LIMIT ?",
    )?;
    let mut sizes = statement.query(params![story, most as i64])?;
    let (mut rows, mut counted) = (0, 0);
    while counted < bytes
        && let Some(size) = sizes.next()?
    {
        counted += size.get::<_, i64>(0)?.max(1) as u64;
        rows += 1;
    }
    Ok(rows)
}
