//! Opening the file, and bringing an older one up to date.

use crate::error::RegistryError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::path::Path;

/// Applied in order, each in its own transaction. Append only: a version that shipped is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_runs.sql"),
    include_str!("../../migrations/0002_units.sql"),
    include_str!("../../migrations/0003_limits.sql"),
    include_str!("../../migrations/0004_patrol.sql"),
    include_str!("../../migrations/0005_parts.sql"),
    include_str!("../../migrations/0006_ties.sql"),
    include_str!("../../migrations/0007_pools.sql"),
    include_str!("../../migrations/0008_sessions.sql"),
    include_str!("../../migrations/0010_reapers.sql"),
];

/// "ostl", so that a registry can be told from any other SQLite file.
const APPLICATION_ID: i64 = 0x6f73_746c;

pub(super) fn open(path: &Path, flags: OpenFlags) -> Result<Connection, RegistryError> {
    Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|source| RegistryError::Open { path: path.to_owned(), source })
}

pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), RegistryError> {
    recognise(connection, path)?;
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2000;",
        )
        .map_err(|source| opening(path, source))?;
    migrate(connection).map_err(|source| opening(path, source))
}

/// Whether it is a registry that this version can use.
pub(super) fn recognise(connection: &Connection, path: &Path) -> Result<(), RegistryError> {
    let opening = |source| opening(path, source);
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(opening)?;
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

fn opening(path: &Path, source: rusqlite::Error) -> RegistryError {
    if crate::error::is_damage(&source) {
        return RegistryError::Corrupt { path: path.to_owned(), source };
    }
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::SystemIoFailure) => {
            RegistryError::Disk { path: path.to_owned(), source }
        }
        Some(rusqlite::ErrorCode::DiskFull) => RegistryError::Full { source },
        _ => RegistryError::Open { path: path.to_owned(), source },
    }
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    for (index, migration) in MIGRATIONS.iter().enumerate() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Looked at again inside the lock: another supervisor may have been here first.
        if pragma(&transaction, "user_version")? <= index as i64 {
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "user_version", index as i64 + 1)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
