//! What one turn of the supervisor makes durable.

use ostler_model::{Counter, Entry, PoolSpec, RunId, RunRecord, UnitRecord};
use std::collections::BTreeMap;

/// Everything that one turn of the dispatcher makes durable.
#[derive(Debug, Default)]
pub struct Batch {
    pub runs: Vec<RunRecord>,
    pub entries: Vec<Entry>,
    pub counts: Vec<(Counter, u64)>,
    /// By name; `None` removes a unit.
    pub units: BTreeMap<String, Option<Box<UnitRecord>>>,
    /// By name; `None` removes a pool.
    pub pools: BTreeMap<String, Option<Box<PoolSpec>>>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
            && self.entries.is_empty()
            && self.counts.is_empty()
            && self.units.is_empty()
            && self.pools.is_empty()
    }

    /// Only the last state of each run is written.
    pub fn save(&mut self, run: RunRecord) {
        match self.runs.iter_mut().rev().find(|known| known.run_id == run.run_id) {
            Some(known) => *known = run,
            None => self.runs.push(run),
        }
    }

    pub fn forget(&mut self, run: RunId) {
        self.runs.retain(|known| known.run_id != run);
        self.entries.retain(|entry| entry.run_id != Some(run));
    }

    /// The counts by counter, each once.
    pub(crate) fn merged_counts(&self) -> BTreeMap<Counter, u64> {
        let mut merged = BTreeMap::new();
        for (counter, value) in &self.counts {
            *merged.entry(*counter).or_insert(0) += value;
        }
        merged
    }

    /// Cuts entries that are larger than a reader can hold.
    pub(crate) fn shorten_entries(&mut self) {
        self.entries.iter_mut().for_each(shorten);
    }
}

/// A point within a commit, for tests that crash there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitPoint {
    BeforeCommit,
    AfterCommit,
}

/// Called before and after every commit.
pub type CommitHook = Box<dyn FnMut(CommitPoint) + Send>;

/// The longest reason and the largest evidence of one entry.
const WHY_MOST: usize = 64 << 10;
const EVIDENCE_MOST: usize = 256 << 10;

/// An entry may contain program output. It is cut, so that no entry is larger than a reader can hold.
fn shorten(entry: &mut Entry) {
    if entry.why.len() > WHY_MOST {
        entry.why.truncate(entry.why.floor_char_boundary(WHY_MOST));
        entry.why.push('…');
    }
    let size = |value: &serde_json::Value| match value {
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => 8,
        serde_json::Value::String(text) => text.len(),
        nested => serde_json::to_string(nested).map_or(0, |text| text.len()),
    };
    while entry.evidence.values().map(size).sum::<usize>() > EVIDENCE_MOST {
        let Some(largest) = entry.evidence.values_mut().max_by_key(|value| size(value)) else {
            return;
        };
        *largest = format!("left out: {} bytes", size(largest)).into();
    }
}
