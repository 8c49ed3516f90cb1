//! Output heartbeats: which runs have written something, told to whoever follows the journal. They are not in the journal:
//! a run that writes all day would push out every other run's story. Nobody who follows, no look.

use crate::find::find;
use crate::server::Shared;
use ostler_model::{Actor, Entry, RunId, RunRecord, RunSpec, What};
use ostler_ops::journal::Follow;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// A run that writes is told of so often.
const EVERY: Duration = Duration::from_secs(2);

pub(crate) struct OutputBeats {
    is_wanted: bool,
    run: Option<RunId>,
    unit: Option<String>,
    /// However often the journal changes meanwhile.
    next_look: Instant,
    /// Bytes at the last look.
    seen: HashMap<RunId, u64>,
}

impl OutputBeats {
    /// What was written before is no news.
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

    /// The next that are to be told. It may be dropped at any moment: what was not told then is told later.
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
        if record.session_id == RunSpec::CHECK_SESSION {
            return false;
        }
        self.run.is_none_or(|run| record.run_id == run)
            && self.unit.as_ref().is_none_or(|unit| record.unit.as_ref() == Some(unit))
    }
}

/// It has no number: it is in no journal.
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
