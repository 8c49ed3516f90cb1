//! Reads the journal in slices, so that no reader holds more than one slice in memory.

use crate::RegistryError;
use ostler_model::{Entry, RunId};

/// Which entries to read.
#[derive(Clone, Debug, Default)]
pub struct EntryQuery {
    pub run: Option<RunId>,
    pub unit: Option<String>,
    /// Only entries with a higher number.
    pub after_seq: i64,
}

/// How much to read at once. The first entry is read whatever its size.
#[derive(Clone, Copy, Debug)]
pub struct SliceMost {
    pub rows: usize,
    pub bytes: usize,
}

/// The position of a walk towards older entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the oldest entry passed so far.
    pub oldest_seq: i64,
    pub passed: u64,
}

pub trait ReadJournal {
    /// The next entries, oldest first.
    fn entries(&self, query: &EntryQuery, most: SliceMost) -> Result<Vec<Entry>, RegistryError>;

    /// Passes up to `most` older entries, starting below `before_seq`; `None` if there are none.
    fn step_back(
        &self,
        query: &EntryQuery,
        before_seq: i64,
        most: u64,
    ) -> Result<Option<Step>, RegistryError>;
}
