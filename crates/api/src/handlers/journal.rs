//! Reads the journal in slices, so that an answer has a limited size. A caller continues after the last entry it
//! received.

use super::dispatch::Handle;
use crate::find::{find, registry_error};
use crate::output_beats::OutputBeats;
use crate::server::Shared;
use ostler_model::{Actor, Entry};
use ostler_ops::journal::{Entries, Follow};
use ostler_ops::wire::WireError;
use ostler_registry::{EntryQuery, SliceMost};

const SLICE: SliceMost = SliceMost { rows: 500, bytes: 256 << 10 };
/// Entries that are skipped at once on the way to the newest ones; other requests are served in between.
const STEP_ROWS: u64 = 5_000;

impl Handle for Entries {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<Entry>, WireError> {
        slice(&self, shared).await
    }
}

/// The first entries that match the filter; with `newest`, the first of the newest entries.
async fn slice(filter: &Entries, shared: &Shared) -> Result<Vec<Entry>, WireError> {
    let run = filter.run.as_deref().map(|text| find(shared, text)).transpose()?;
    let mut query = EntryQuery {
        run: run.map(|run| run.run_id),
        unit: filter.unit.clone(),
        after_seq: filter.after_seq.unwrap_or(0),
    };
    if let Some(newest) = filter.newest.filter(|_| filter.after_seq.is_none()) {
        let Some(first) = first_of(newest, &query, shared).await? else { return Ok(Vec::new()) };
        query.after_seq = first - 1;
    }
    shared.read(|reader| reader.entries(&query, SLICE)).map_err(registry_error)
}

/// The number of the oldest of the newest entries.
async fn first_of(
    newest: u64,
    query: &EntryQuery,
    shared: &Shared,
) -> Result<Option<i64>, WireError> {
    let (mut left, mut first) = (newest, None);
    while left > 0 {
        let before = first.unwrap_or(i64::MAX);
        let most = left.min(STEP_ROWS);
        let step = shared.read(|reader| reader.step_back(query, before, most));
        let Some(step) = step.map_err(registry_error)? else { break };
        first = Some(step.oldest_seq);
        left -= step.passed;
        if step.passed < most {
            break;
        }
        tokio::task::yield_now().await;
    }
    Ok(first)
}

/// A receiver of entries as they are written.
pub(crate) trait Follower {
    /// An empty list means that there are no more entries at the moment. An error is the last message.
    async fn give(&mut self, entries: Result<Vec<Entry>, WireError>) -> Given;

    /// Returns when it wants no more.
    async fn gone(&mut self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    Go,
    Gone,
}

/// Gives one slice after another until the follower is gone.
pub(crate) async fn follow(call: Follow, shared: &Shared, mut follower: impl Follower) {
    let mut journal = shared.engine.journal();
    let mut beats = OutputBeats::new(&call, shared).await;
    let mut filter = call.entries;
    loop {
        journal.mark_unchanged();
        let slice = slice(&filter, shared).await;
        let last = match &slice {
            Ok(entries) => Some(entries.last().map(|entry| entry.seq)),
            Err(_) => None,
        };
        if follower.give(slice).await == Given::Gone {
            return;
        }
        let Some(last) = last else { return };
        if let Some(seq) = last {
            filter.after_seq = Some(seq);
            tokio::task::yield_now().await;
            continue;
        }
        loop {
            tokio::select! {
                changed = journal.changed() => if changed.is_err() { return } else { break },
                entries = beats.next(shared) => {
                    if follower.give(Ok(entries)).await == Given::Gone {
                        return;
                    }
                }
                () = follower.gone() => return,
            }
        }
    }
}
