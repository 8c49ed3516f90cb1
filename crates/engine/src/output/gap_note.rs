//! The note of a gap in a log: output that could not be written, because the disk was full.
//!
//! The note is the first record of a segment's index, of the size of a mark, and is made with the segment. When the
//! output behind the segment is lost, the note is overwritten in place, which needs no space on the disk. So the gap is
//! known also if the supervisor is killed before the disk has room for a journal entry or a new segment.

use super::segment::Mark;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The last byte of a note. A mark has the number of its stream there.
const IS_NOTE: u8 = 0xff;

/// Output that is lost: from this offset to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Gap {
    /// The note of a segment behind which nothing is lost.
    pub(super) const NONE: [u8; Mark::SIZE] = {
        let mut bytes = [0; Mark::SIZE];
        bytes[Mark::SIZE - 1] = IS_NOTE;
        bytes
    };

    fn encode(self) -> [u8; Mark::SIZE] {
        let mut bytes = Self::NONE;
        bytes[..8].copy_from_slice(&self.from.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.to.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; Mark::SIZE]) -> Option<Self> {
        let (from, rest) = bytes.split_first_chunk()?;
        let (to, last) = rest.split_first_chunk()?;
        let gap = Self { from: u64::from_le_bytes(*from), to: u64::from_le_bytes(*to) };
        (last == [IS_NOTE] && gap.to > gap.from).then_some(gap)
    }

    /// The gap behind the segment of this index, if there is one.
    pub(super) fn read(index: &Path) -> Option<Self> {
        let mut bytes = [0; Mark::SIZE];
        File::open(index).ok()?.read_exact_at(&mut bytes, 0).ok()?;
        Self::decode(&bytes)
    }
}

/// The note of one segment, open for writing.
#[derive(Debug)]
pub(super) struct GapNote(File);

impl GapNote {
    /// None if this index has no place for a note.
    pub(super) fn open(index: &Path) -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open(index).ok()?;
        let mut bytes = [0; Mark::SIZE];
        file.read_exact_at(&mut bytes, 0).ok()?;
        (bytes[Mark::SIZE - 1] == IS_NOTE).then_some(Self(file))
    }

    /// A failure leaves the gap without a note: the journal has it still, as soon as there is room.
    pub(super) fn write(&self, gap: Gap) {
        let _ = self.0.write_all_at(&gap.encode(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_reads_back_and_is_no_mark() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = folder.path().join("0.idx");
        assert!(GapNote::open(&index).is_none(), "there is no segment");
        std::fs::write(&index, Gap::NONE).expect("written");
        assert_eq!(Gap::read(&index), None);
        let gap = Gap { from: 7, to: 9_000 };
        GapNote::open(&index).expect("a note").write(gap);
        assert_eq!(Gap::read(&index), Some(gap));
        assert_eq!(Mark::decode(&gap.encode()), None);
    }
}
