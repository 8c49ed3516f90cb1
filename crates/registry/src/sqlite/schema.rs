//! Opens the file and migrates an older one.

use super::error::open_failed;
use crate::error::RegistryError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::path::Path;

/// Applied in order, each in its own transaction. Append only: a migration that shipped is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_runs.sql"),
    include_str!("../../migrations/0002_units.sql"),
    include_str!("../../migrations/0003_limits.sql"),
    include_str!("../../migrations/0004_patrol.sql"),
    include_str!("../../migrations/0005_parts.sql"),
    include_str!("../../migrations/0006_ties.sql"),
    include_str!("../../migrations/0007_pools.sql"),
    include_str!("../../migrations/0008_sessions.sql"),
    include_str!("../../migrations/0009_reapers.sql"),
    include_str!("../../migrations/0010_journal.sql"),
    include_str!("../../migrations/0011_cancel_reason.sql"),
    include_str!("../../migrations/0012_survivors.sql"),
    include_str!("../../migrations/0013_purpose.sql"),
    include_str!("../../migrations/0014_counts.sql"),
];

/// "ostl": tells a registry from other SQLite files.
const APPLICATION_ID: i64 = 0x6f73_746c;

pub(super) fn open(path: &Path, flags: OpenFlags) -> Result<Connection, RegistryError> {
    Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|source| RegistryError::Open { path: path.to_owned(), source: source.into() })
}

pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), RegistryError> {
    recognise(connection, path)?;
    let opening = |source| open_failed(path, source);
    // Only possible before the file has pages. The check avoids a write on every start.
    if pragma(connection, "page_count").map_err(opening)? == 0 {
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;").map_err(opening)?;
    }
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; \
             PRAGMA cache_size = -2000; PRAGMA journal_size_limit = 4194304;",
        )
        .map_err(opening)?;
    migrate(connection).map_err(opening)?;
    make_shrinkable(connection);
    Ok(())
}

/// The largest file that is rewritten at a start. A larger one waits until the journal's bounds have shrunk it.
const REWRITTEN_MOST: i64 = 64 << 20;

/// A file of an earlier version cannot return pages to the file system, so it is rewritten once. If that fails, the
/// file keeps its size.
fn make_shrinkable(connection: &Connection) {
    let size = || -> rusqlite::Result<i64> {
        let used = pragma(connection, "page_count")? - pragma(connection, "freelist_count")?;
        Ok(used * pragma(connection, "page_size")?)
    };
    if pragma(connection, "auto_vacuum").is_ok_and(|kind| kind == 0)
        && size().is_ok_and(|bytes| bytes <= REWRITTEN_MOST)
    {
        let _ = connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM;");
    }
}

/// How long a start waits for a program that has locked the file. Shorter than the guardian waits for a heartbeat: the
/// start fails with the reason.
const LOCKED_AT_START_MOST: std::time::Duration = std::time::Duration::from_secs(5);

/// Checks that it is a registry of a supported version.
pub(super) fn recognise(connection: &Connection, path: &Path) -> Result<(), RegistryError> {
    let opening = |source| open_failed(path, source);
    connection.busy_timeout(LOCKED_AT_START_MOST).map_err(opening)?;
    let version = pragma(connection, "user_version").map_err(opening)?;
    let application = pragma(connection, "application_id").map_err(opening)?;
    let empty: bool = connection
        .query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
        .map_err(opening)?;
    if application != APPLICATION_ID && !(application == 0 && empty) {
        return Err(RegistryError::Foreign { path: path.to_owned(), found: application });
    }
    let known = MIGRATIONS.len() as i64;
    if version > known {
        return Err(RegistryError::Newer { path: path.to_owned(), found: version, known });
    }
    Ok(())
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    // A file that is up to date needs no lock.
    let version = pragma(connection, "user_version")?;
    let missing = MIGRATIONS.iter().enumerate().filter(|(index, _)| version <= *index as i64);
    for (index, migration) in missing {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Checked again under the lock: another supervisor may have migrated it.
        if pragma(&transaction, "user_version")? <= index as i64 {
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "user_version", index as i64 + 1)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

pub(super) fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::reader::SqliteReader;
    use crate::sqlite::writer::SqliteWriter;
    use crate::{EntryQuery, ReadJournal, SliceMost};

    /// A file of the previous version: its entries keep their units, they are counted, and the file can return pages.
    #[test]
    fn a_file_of_an_earlier_version_is_brought_up_to_date() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("registry.db");
        let counts = |migration: &&str| migration.contains("CREATE TABLE stories");
        let before = MIGRATIONS.iter().position(counts).expect("the migration with the counts");
        let old = Connection::open(&path).expect("a file");
        for migration in &MIGRATIONS[..before] {
            old.execute_batch(migration).expect("migrated");
        }
        old.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA user_version = {before}; PRAGMA application_id = {APPLICATION_ID};
             INSERT INTO runs (run_id, session_id, backend_id, unit, boot_id, state, created_at_ms, updated_at_ms,
                 owner_instance_id, extinct, command, grace_ms, detach_allowed)
             VALUES ('r', 's', 'pipe', 'web', 'b', 'exited', 1, 1, 'i', 'yes', 'c', 1, 0);
             INSERT INTO entries (at_ms, who, what, run_id, why, evidence) VALUES
                 (1, '{{\"kind\":\"kernel\"}}', 'exited', 'r', 'w', '{{}}'),
                 (2, '{{\"kind\":\"kernel\"}}', 'adopted', NULL, 'w', '{{}}');"
        ))
        .expect("filled");
        drop(old);
        let registry = SqliteWriter::open(&path).expect("opened");
        let kind = pragma(&registry.connection, "auto_vacuum").expect("read");
        assert_eq!(kind, 2, "incremental");
        let counted: Vec<(String, i64)> = registry
            .connection
            .prepare("SELECT story, count FROM stories ORDER BY story")
            .and_then(|mut statement| {
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .expect("read");
        assert_eq!(counted, [("daemon".to_owned(), 1), ("unit web".to_owned(), 1)]);
        let reader = SqliteReader::open(&path).expect("a reader");
        let query = EntryQuery { after_seq: 1, ..EntryQuery::default() };
        let most = SliceMost { rows: 10, bytes: 1_000 };
        assert_eq!(reader.entries(&query, most).expect("read").len(), 1);
    }
}
