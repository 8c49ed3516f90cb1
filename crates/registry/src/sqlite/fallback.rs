//! A copy of the registry from before an upgrade. The new program may migrate the file to its own version and then
//! fail. The old program is then started again, and continues with the copy plus everything it can read from the
//! newer file.

use super::error::write_failed;
use super::rows::{FROM_RUNS, RUN_COLUMNS, SAVE_RUN, read_entry, read_run, save_run};
use super::writer::SqliteWriter;
use super::{entries, schema};
use crate::{RegistryError, Rollback};
use ostler_model::InstanceId;
use rusqlite::{Connection, OpenFlags, params};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const TRIES: u32 = 5;

/// A path next to the registry, with `end` appended to the name.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn copy_of(path: &Path) -> PathBuf {
    beside(path, ".before-upgrade")
}

/// Makes the copy. An earlier copy is replaced once the new one is complete.
pub(super) fn keep_copy(writer: &SqliteWriter) -> Result<(), RegistryError> {
    let part = beside(&writer.path, ".before-upgrade.part");
    let _ = fs::remove_file(&part);
    // Left by an earlier upgrade.
    let _ = fs::remove_file(beside(&writer.path, ".newer"));
    let copied = copy_quickly(writer, &part)?;
    if !copied {
        // Another process writes all the time: copy page by page.
        writer
            .connection
            .execute("VACUUM INTO ?", [part.to_string_lossy()])
            .map_err(write_failed)?;
    }
    fs::rename(&part, copy_of(&writer.path)).map_err(|error| failed(&part, error))
}

/// Copies the file while no process writes. Returns `false` if no such moment came.
fn copy_quickly(writer: &SqliteWriter, part: &Path) -> Result<bool, RegistryError> {
    let wal = beside(&writer.path, "-wal");
    for _ in 0..TRIES {
        let _ = writer
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        writer.connection.execute_batch("BEGIN IMMEDIATE").map_err(write_failed)?;
        // From here on no other process writes.
        let is_whole = fs::metadata(&wal).map_or(0, |wal| wal.len()) == 0;
        let copied = is_whole.then(|| fs::copy(&writer.path, part));
        let _ = writer.connection.execute_batch("ROLLBACK");
        match copied {
            Some(Ok(_)) => return Ok(true),
            Some(Err(error)) => return Err(failed(part, error)),
            None => {}
        }
    }
    Ok(false)
}

pub(super) fn drop_copy(path: &Path) {
    let _ = fs::remove_file(copy_of(path));
}

/// Replaces the file by the copy. The newer file is kept next to it.
pub(super) fn roll_back(
    path: &Path,
    instance: InstanceId,
    now_ms: u64,
) -> Result<Rollback, RegistryError> {
    let copy = copy_of(path);
    if !copy.exists() {
        return Ok(Rollback::NoCopy);
    }
    let newer = schema::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if is_shared(&newer, instance, now_ms) {
        return Ok(Rollback::Shared);
    }
    let restored = beside(path, ".restored");
    fs::copy(&copy, &restored).map_err(|error| failed(&restored, error))?;
    let runs = {
        let restored = schema::open(&restored, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        schema::recognise(&restored, &copy)?;
        let runs = take_over(&newer, &restored).map_err(write_failed)?;
        let _ = restored.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        runs
    };
    let _ = newer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    drop(newer);
    let kept = beside(path, ".newer");
    let _ = fs::remove_file(&kept);
    let _ = fs::hard_link(path, &kept);
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(beside(path, end));
        let _ = fs::remove_file(beside(&restored, end));
    }
    // Atomic: after a kill before this step, the rollback is tried again.
    fs::rename(&restored, path).map_err(|error| failed(path, error))?;
    Ok(Rollback::Yes { runs })
}

fn failed(path: &Path, error: io::Error) -> RegistryError {
    RegistryError::Copy { path: path.to_owned(), source: error }
}

/// Another instance's lease holds: its writes must not be lost.
fn is_shared(newer: &Connection, instance: InstanceId, now_ms: u64) -> bool {
    newer
        .query_row(
            "SELECT count(*) FROM leases WHERE instance_id <> ? AND expires_at_ms > ?",
            params![instance.to_string(), now_ms as i64],
            |row| row.get::<_, i64>(0),
        )
        .is_ok_and(|others| others > 0)
}

/// Adds runs and entries of the newer file, as far as this version can read them: a run that the new program started
/// must be adopted.
fn take_over(newer: &Connection, restored: &Connection) -> rusqlite::Result<u64> {
    let (last_seq, last_ms): (i64, i64) = restored.query_row(
        "SELECT coalesce((SELECT max(seq) FROM entries), 0), coalesce((SELECT max(updated_at_ms) FROM runs), 0)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    restored.execute_batch("BEGIN IMMEDIATE")?;
    let mut taken = 0;
    let runs =
        format!("SELECT {RUN_COLUMNS} {FROM_RUNS} WHERE state <> 'exited' OR updated_at_ms >= ?");
    if let Ok(mut statement) = newer.prepare(&runs)
        && let Ok(mut rows) = statement.query([last_ms])
    {
        let mut save = restored.prepare_cached(SAVE_RUN)?;
        while let Ok(Some(row)) = rows.next() {
            if let Ok(run) = read_run(row) {
                save_run(&mut save, &run)?;
                taken += 1;
            }
        }
    }
    let entries = "SELECT seq, at_ms, who, what, run_id, why, evidence, unit FROM entries WHERE seq > ? ORDER BY seq";
    if let Ok(mut statement) = newer.prepare(entries)
        && let Ok(mut rows) = statement.query([last_seq])
    {
        let mut note = restored.prepare(
            "INSERT INTO entries (seq, at_ms, who, what, run_id, why, evidence, unit) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        while let Ok(Some(row)) = rows.next() {
            if read_entry(row).is_ok() {
                let values = (0..8)
                    .map(|index| row.get::<_, rusqlite::types::Value>(index))
                    .collect::<rusqlite::Result<Vec<_>>>()?;
                note.execute(rusqlite::params_from_iter(values))?;
            }
        }
    }
    restored.execute_batch(entries::COUNT_ALL)?;
    restored.execute_batch("COMMIT")?;
    Ok(taken)
}
