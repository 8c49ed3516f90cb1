use super::error::read_failed;
use super::reader::SqliteReader;
use super::rows::read_entry;
use crate::{EntryQuery, ReadJournal, RegistryError, SliceMost, Step};
use ostler_model::Entry;
use rusqlite::types::Value;

/// Conditions that an index answers in the order of `seq`, with values from `?2` on.
fn conditions(query: &EntryQuery) -> (String, Vec<Value>) {
    let mut sql = String::new();
    let mut values = Vec::new();
    if let Some(run) = query.run {
        values.push(Value::from(run.to_string()));
        sql.push_str(" AND run_id = ?2");
    }
    if let Some(unit) = &query.unit {
        // With a run, the index on the run is the more selective one.
        let story = if query.run.is_some() { "+story" } else { "story" };
        values.push(Value::from(format!("unit {unit}")));
        sql.push_str(&format!(" AND {story} = ?{}", values.len() + 1));
    }
    (sql, values)
}

impl ReadJournal for SqliteReader {
    fn entries(&self, query: &EntryQuery, most: SliceMost) -> Result<Vec<Entry>, RegistryError> {
        let (conditions, mut values) = conditions(query);
        values.insert(0, Value::from(query.after_seq));
        let mut statement = self
            .connection()
            .prepare_cached(&format!(
                "SELECT seq, at_ms, who, what, run_id, why, evidence FROM entries \
                 WHERE seq > ?1{conditions} ORDER BY seq LIMIT {}",
                most.rows
            ))
            .map_err(read_failed)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(read_failed)?;
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while bytes < most.bytes
            && let Some(row) = rows.next().map_err(read_failed)?
        {
            bytes += [2, 5, 6]
                .iter()
                .map(|index| row.get_ref(*index).ok().and_then(|text| text.as_bytes().ok()))
                .map(|text| text.map_or(0, <[u8]>::len))
                .sum::<usize>();
            entries.push(read_entry(row)?);
        }
        Ok(entries)
    }

    fn step_back(
        &self,
        query: &EntryQuery,
        before_seq: i64,
        most: u64,
    ) -> Result<Option<Step>, RegistryError> {
        let (conditions, mut values) = conditions(query);
        values.insert(0, Value::from(before_seq));
        let sql = format!(
            "SELECT min(seq), count(*) FROM (SELECT seq FROM entries \
             WHERE seq < ?1{conditions} AND seq > {} ORDER BY seq DESC LIMIT {most})",
            query.after_seq
        );
        let (oldest, passed): (Option<i64>, i64) = self
            .connection()
            .query_row(&sql, rusqlite::params_from_iter(values), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .map_err(read_failed)?;
        Ok(oldest.map(|oldest_seq| Step { oldest_seq, passed: passed as u64 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::writer::SqliteWriter;
    use ostler_model::RunId;

    /// No query scans rows that it does not need or sorts: either would take seconds in a long journal.
    #[test]
    fn every_question_is_answered_by_an_index_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("registry.db");
        drop(SqliteWriter::open(&path).expect("opened"));
        let reader = SqliteReader::open(&path).expect("a reader");
        let run = Some(RunId::new(1, [1; 10]));
        let unit = Some("web".to_owned());
        for query in [
            EntryQuery::default(),
            EntryQuery { run, ..EntryQuery::default() },
            EntryQuery { unit: unit.clone(), ..EntryQuery::default() },
            EntryQuery { run, unit, after_seq: 7 },
        ] {
            let (conditions, values) = conditions(&query);
            for order in ["seq > ?1", "seq < ?1"] {
                let direction = if order.contains('<') { " DESC" } else { "" };
                let sql = format!(
                    "EXPLAIN QUERY PLAN SELECT seq FROM entries WHERE {order}{conditions} ORDER BY seq{direction}"
                );
                let mut bound = vec![Value::from(5)];
                bound.extend(values.clone());
                let mut statement = reader.connection().prepare(&sql).expect("prepared");
                let plan: Vec<String> = statement
                    .query_map(rusqlite::params_from_iter(bound), |row| row.get(3))
                    .and_then(Iterator::collect)
                    .expect("a plan");
                let plan = plan.join("; ");
                assert!(plan.starts_with("SEARCH") && !plan.contains("TEMP"), "{sql}: {plan}");
            }
        }
    }
}
