//! Writes journal entries, and counts the entries and bytes of each subject: its unit, else its run, else the daemon.
//!
//! The writer counts, and not a trigger: with a trigger SQLite copies every page that a statement changes, so that it
//! can undo that statement alone.

use ostler_model::{Entry, RunId, RunRecord};
use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::Value;
use std::collections::BTreeMap;

/// Stands for the overhead of a row without its texts, indexes included.
const ROW_BYTES: usize = 200;

/// Counts all subjects anew.
pub(super) const COUNT_ALL: &str = "DELETE FROM stories; \
     INSERT INTO stories (story, count, bytes) SELECT story, count(*), sum(200 + length(CAST(who AS BLOB)) \
         + length(CAST(why AS BLOB)) + length(CAST(evidence AS BLOB))) FROM entries GROUP BY story;";

/// What is added to a subject.
#[derive(Default)]
struct Added {
    entries: usize,
    bytes: usize,
}

/// Writes the entries and sets their sequence numbers. `runs` are the runs that this transaction has saved.
pub(super) fn save(
    transaction: &Transaction<'_>,
    runs: &[RunRecord],
    entries: &mut [Entry],
) -> rusqlite::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut subjects: BTreeMap<String, Added> = BTreeMap::new();
    let mut insert = transaction.prepare_cached(
        "INSERT INTO entries (at_ms, who, what, run_id, why, evidence, unit) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for entry in entries {
        let who = serde_json::to_string(&entry.who).unwrap_or_default();
        let evidence = serde_json::to_string(&entry.evidence).unwrap_or_default();
        let run = entry.run_id.map(|run| run.to_string());
        let unit = unit_of(transaction, runs, entry)?;
        insert.execute(params![
            entry.at_ms as i64,
            who,
            entry.what.as_str(),
            run,
            entry.why,
            evidence,
            unit,
        ])?;
        entry.seq = transaction.last_insert_rowid();
        let added = subjects.entry(subject(unit.as_deref(), run.as_deref())).or_default();
        added.entries += 1;
        added.bytes += ROW_BYTES + who.len() + entry.why.len() + evidence.len();
    }
    for (subject, added) in &subjects {
        count(transaction, subject, added)?;
    }
    Ok(())
}

/// The unit that the entry names, else the unit of its run.
fn unit_of(
    transaction: &Transaction<'_>,
    runs: &[RunRecord],
    entry: &Entry,
) -> rusqlite::Result<Option<String>> {
    if let Some(unit) = entry.evidence.get("unit").and_then(Value::as_str) {
        return Ok(Some(unit.to_owned()));
    }
    let Some(id) = entry.run_id else { return Ok(None) };
    match runs.iter().find(|run| run.run_id == id) {
        Some(run) => Ok(run.unit.clone()),
        None => stored_unit(transaction, id),
    }
}

fn stored_unit(transaction: &Transaction<'_>, run: RunId) -> rusqlite::Result<Option<String>> {
    let mut select = transaction.prepare_cached("SELECT unit FROM runs WHERE run_id = ?")?;
    let unit = select.query_row([run.to_string()], |row| row.get::<_, Option<String>>(0));
    Ok(unit.optional()?.flatten())
}

/// As the generated column `story` computes it.
fn subject(unit: Option<&str>, run: Option<&str>) -> String {
    match (unit, run) {
        (Some(unit), _) => format!("unit {unit}"),
        (None, Some(run)) => format!("run {run}"),
        (None, None) => "daemon".to_owned(),
    }
}

fn count(transaction: &Transaction<'_>, subject: &str, added: &Added) -> rusqlite::Result<()> {
    let values = params![subject, added.entries as i64, added.bytes as i64];
    let counted = transaction
        .prepare_cached(
            "UPDATE stories SET count = count + ?2, bytes = bytes + ?3 WHERE story = ?1",
        )?
        .execute(values)?;
    if counted == 0 {
        transaction
            .prepare_cached("INSERT INTO stories (story, count, bytes) VALUES (?1, ?2, ?3)")?
            .execute(values)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::writer::SqliteWriter;
    use crate::{Batch, Writer};
    use ostler_model::{Actor, InstanceId, What};

    fn entry(run: Option<RunId>, unit: Option<&str>, why: &str) -> Entry {
        let unit = unit.map(|unit| ("unit".to_owned(), unit.into()));
        Entry {
            seq: 0,
            at_ms: 1,
            who: Actor::Supervisor,
            what: What::UnitAgain,
            run_id: run,
            why: why.to_owned(),
            evidence: unit.into_iter().collect(),
        }
    }

    fn counted(connection: &rusqlite::Connection) -> Vec<(String, i64, i64)> {
        connection
            .prepare("SELECT story, count, bytes FROM stories ORDER BY story")
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                    .collect()
            })
            .expect("read")
    }

    #[test]
    fn the_counts_of_the_subjects_are_those_of_the_stored_entries() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = SqliteWriter::open(&folder.path().join("registry.db")).expect("opened");
        let [unrecorded, of_unit] = [1, 2].map(|number| RunId::new(1, [number; 10]));
        writer
            .connection
            .execute(
                "INSERT INTO runs (run_id, session_id, backend_id, unit, boot_id, state, created_at_ms, \
                 updated_at_ms, owner_instance_id, extinct, command, grace_ms, detach_allowed) \
                 VALUES (?, 's', 'pipe', 'web', 'b', 'running', 1, 1, 'i', 'yes', 'c', 1, 0)",
                [of_unit.to_string()],
            )
            .expect("a run");
        let entries = vec![
            entry(None, None, "started"),
            entry(None, Some("web"), "größer"),
            entry(Some(of_unit), None, "exit 1"),
            entry(Some(unrecorded), None, "exit 2"),
            entry(Some(unrecorded), Some("db"), "exit 3"),
        ];
        for _ in 0..2 {
            let mut batch = Batch { entries: entries.clone(), ..Batch::default() };
            writer.commit(InstanceId::new(1, [1; 10]), &mut batch).expect("committed");
        }
        let by_writer = counted(&writer.connection);
        let subjects: Vec<_> = by_writer.iter().map(|(name, count, _)| (&**name, *count)).collect();
        let of_run = format!("run {unrecorded}");
        assert_eq!(
            subjects,
            [("daemon", 2), (of_run.as_str(), 2), ("unit db", 2), ("unit web", 4)]
        );
        writer.connection.execute_batch(COUNT_ALL).expect("counted anew");
        assert_eq!(by_writer, counted(&writer.connection));
    }
}
