//! Boundaries that serve one check after the other.
//!
//! To make a cgroup and to remove it costs more than all the rest of a short run. So the leaf of a check is kept
//! when it is over, with what is asked of it held open, and is the next one's. Only a leaf that is found as it was
//! made is kept: nobody in it, nobody frozen, no group below it. It keeps the name of the first that had it, so
//! that no two have the same, and a leaf that nobody records is what a crash leaves of any check.

use super::cgroup::Leaf;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A crowd beyond that makes and removes its own.
const SPARE_MOST: u64 = 256;
/// Each holds two descriptors, which runs may need more: an eighth of what we may have is for spares.
const PART_FOR_SPARES: u64 = 16;

/// A leaf with its folder and its events held open.
#[derive(Debug)]
pub(super) struct OpenCgroup {
    leaf: Leaf,
    folder: Arc<OwnedFd>,
    events: File,
}

impl OpenCgroup {
    pub(super) fn open(leaf: Leaf) -> io::Result<Self> {
        let folder = Arc::new(leaf.open()?);
        let events = File::open(leaf.path().join("cgroup.events"))?;
        Ok(Self { leaf, folder, events })
    }

    pub(super) fn leaf(&self) -> &Leaf {
        &self.leaf
    }

    pub(super) fn folder(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.folder)
    }

    /// `None` if the group is gone.
    pub(super) fn populated(&self) -> Option<bool> {
        self.says(b"populated 0").map(|is_empty| !is_empty)
    }

    fn says(&self, word: &[u8]) -> Option<bool> {
        let mut text = [0u8; 64];
        let length = self.events.read_at(&mut text, 0).ok()?;
        Some(text[..length].windows(word.len()).any(|window| window == word))
    }

    /// Whether the next one finds it as this one did.
    fn is_as_made(&self) -> bool {
        // A folder of a cgroup is linked by its own two names, and by each folder in it.
        let is_alone = rustix::fs::fstat(&self.folder).is_ok_and(|stat| stat.st_nlink == 2);
        is_alone && self.says(b"populated 0\nfrozen 0") == Some(true)
    }
}

/// Those that nobody is in.
#[derive(Debug)]
pub(super) struct SpareCgroups {
    spares: Vec<OpenCgroup>,
    most: usize,
    /// The fewest there were since `trim`: so many nobody needed.
    unneeded: usize,
}

impl SpareCgroups {
    pub(super) fn new() -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = SPARE_MOST.min(descriptors / PART_FOR_SPARES) as usize;
        Self { spares: Vec::new(), most, unneeded: 0 }
    }

    /// The one that was used last, which is warm.
    pub(super) fn take(&mut self) -> Option<OpenCgroup> {
        let spare = self.spares.pop();
        self.unneeded = self.unneeded.min(self.spares.len());
        spare
    }

    pub(super) fn give_back(&mut self, leaf: OpenCgroup) {
        if self.spares.len() < self.most && leaf.is_as_made() {
            self.spares.push(leaf);
        } else {
            leaf.leaf.remove();
        }
    }

    /// Removes those that nobody has needed since the last time.
    pub(super) fn trim(&mut self) {
        for spare in self.spares.drain(..self.unneeded) {
            spare.leaf.remove();
        }
        self.unneeded = self.spares.len();
    }

    pub(super) fn clear(&mut self) {
        self.unneeded = self.spares.len();
        self.trim();
    }
}
