//! A pool of cgroups that checks use one after the other.
//!
//! Creating and removing a cgroup costs more than the rest of a short run. So when a check is over, its leaf cgroup is
//! kept with its files open, and the next check uses it. Only a leaf in its initial state is kept: no process in it,
//! not frozen, no cgroup below it. A leaf keeps the name of its first check, so that names stay unique. An unrecorded
//! leaf was left by a crash.

use super::cgroup::Leaf;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Leaves above this number are removed.
const SPARE_MOST: u64 = 256;
/// Each spare holds two descriptors, which runs may need. So the spares get at most an eighth of the descriptor limit.
const PART_FOR_SPARES: u64 = 16;

/// A leaf with its directory and its `cgroup.events` held open.
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

    /// `None` if the cgroup is gone.
    pub(super) fn populated(&self) -> Option<bool> {
        self.says(b"populated 0").map(|is_empty| !is_empty)
    }

    fn says(&self, word: &[u8]) -> Option<bool> {
        let mut text = [0u8; 64];
        let length = self.events.read_at(&mut text, 0).ok()?;
        Some(text[..length].windows(word.len()).any(|window| window == word))
    }

    /// Whether the leaf is in its initial state.
    fn is_as_made(&self) -> bool {
        // A cgroup directory has two links of its own, and one more for each directory in it.
        let is_alone = rustix::fs::fstat(&self.folder).is_ok_and(|stat| stat.st_nlink == 2);
        is_alone && self.says(b"populated 0\nfrozen 0") == Some(true)
    }
}

/// The spare cgroups. They contain no process.
#[derive(Debug)]
pub(super) struct SpareCgroups {
    spares: Vec<OpenCgroup>,
    most: usize,
    /// The lowest number of spares since `trim`: so many were not needed.
    unneeded: usize,
}

impl SpareCgroups {
    pub(super) fn new() -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = SPARE_MOST.min(descriptors / PART_FOR_SPARES) as usize;
        Self { spares: Vec::new(), most, unneeded: 0 }
    }

    /// The most recently used leaf, whose memory is in the caches.
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

    /// Removes the spares that were not needed since the last call.
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
