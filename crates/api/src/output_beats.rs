//! Output heartbeats: which runs have written output, for callers that follow the journal. They are not stored in the
//! journal, because a run that writes all day would displace the entries of all other runs. Without followers, nothing
//! is checked.

use crate::find::find;
use crate::server::Shared;
use ostler_model::{Actor, Entry, RunId, RunRecord, What};
use ostler_ops::journal::Follow;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// The interval of notifications for a run that writes.
const EVERY: Duration = Duration::from_secs(2);

pub(crate) struct OutputBeats {
    is_wanted: bool,
    run: Option<RunId>,
    unit: Option<String>,
    /// The next check, however often the journal changes meanwhile.
    next_look: Instant,
    /// The number of bytes at the last check.
    seen: HashMap<RunId, u64>,
}

impl OutputBeats {
    /// Output from before this call is not reported.
    pub(crate) async fn new(call: &Follow, shared: &Shared) -> Self {
        let mut beats = Self {
            is_wanted: call.output,
            run: call.entries.run.as_deref().and_then(|run| Some(find(shared, run).ok()?.run_id)),
            unit: call.entries.unit.clone(),
            next_look: Instant::now() + EVERY,
            seen: HashMap::new(),
        };
        if beats.is_wanted {
            beats.look(shared).await;
        }
        beats
    }

    /// The next notifications. The future may be dropped at any time: what it did not return is returned later.
    pub(crate) async fn next(&mut self, shared: &Shared) -> Vec<Entry> {
        if !self.is_wanted {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep_until(self.next_look).await;
            self.next_look = Instant::now() + EVERY;
            let description = self.look(shared).await;
            if !description.is_empty() {
                return description;
            }
        }
    }

    async fn look(&mut self, shared: &Shared) -> Vec<Entry> {
        let records = shared.engine.records().await.unwrap_or_default();
        let before = std::mem::take(&mut self.seen);
        let mut description = Vec::new();
        for record in &records {
            if !self.is_meant(record) {
                continue;
            }
            let known = before.get(&record.run_id).copied().unwrap_or(0);
            if record.output_bytes > known {
                description.push(entry(record, record.output_bytes - known));
            }
            self.seen.insert(record.run_id, record.output_bytes);
        }
        description
    }

    fn is_meant(&self, record: &RunRecord) -> bool {
        if record.purpose.is_transient() {
            return false;
        }
        self.run.is_none_or(|run| record.run_id == run)
            && self.unit.as_ref().is_none_or(|unit| record.unit.as_ref() == Some(unit))
    }
}

/// It has no number, because it is not in the journal.
fn entry(record: &RunRecord, bytes: u64) -> Entry {
    let mut evidence = Map::new();
    let mut put = |name: &str, value: Value| evidence.insert(name.to_owned(), value);
    put("bytes", json!(bytes));
    put("outputBytes", json!(record.output_bytes));
    put("lastOutputAtMs", json!(record.last_output_at_ms));
    if let Some(unit) = &record.unit {
        put("unit", json!(unit));
    }
    Entry {
        seq: 0,
        at_ms: record.last_output_at_ms.unwrap_or(record.updated_at_ms),
        who: Actor::Supervisor,
        what: What::Output,
        run_id: Some(record.run_id),
        why: format!("{bytes} bytes"),
        evidence,
    }
}
