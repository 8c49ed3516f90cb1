use crate::RegistryError;

/// How much of the journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalBounds {
    pub rows: u64,
    pub bytes: u64,
    /// For one unit, one run without a unit, or the daemon itself.
    pub story_rows: u64,
    pub story_bytes: u64,
    /// Older entries without a run are removed. Entries of a run are removed with the run.
    pub oldest_ms: u64,
}

/// The work of one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// The number of removed entries; there may be more.
    Entries(u64),
    /// The number of pages returned to the file system; there may be more.
    Pages(u64),
    /// No work is left.
    Nothing,
}

/// Keeps the journal within its bounds, a slice at a time, so that the writer never waits long.
pub trait Pruner {
    /// Removes up to `most` entries beyond the bounds, or returns free space.
    fn slice(&mut self, bounds: &JournalBounds, most: u64) -> Result<Pruned, RegistryError>;

    /// Ends the work: what was removed no longer takes space. No other connection waits for it.
    fn finish(&self) -> Result<(), RegistryError>;
}
