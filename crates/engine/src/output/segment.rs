//! The layout of a run's log on disk.
//!
//! A log is a folder of segments, each named after the offset of its first byte. `<offset>.log` holds raw bytes;
//! `<offset>.idx` begins with the note of a gap ([`gap_note`](super::gap_note)), and records from which offset on which
//! stream wrote, and when. A segment is contiguous. A range that belongs to no segment is a gap: dropped by rotation,
//! or never written.

use super::gap_note::Gap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum StreamKind {
    Stdout = 0,
    Stderr = 1,
}

/// From `offset` on, the bytes are from this stream and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) offset: u64,
    pub(super) at_ms: u64,
    pub(super) kind: StreamKind,
}

impl Mark {
    /// A mark is written at least this often, so that `--since` is exact enough.
    const EVERY_MS: u64 = 100;

    pub(super) fn is_needed_after(&self, last: &Mark) -> bool {
        last.kind != self.kind || self.at_ms.saturating_sub(last.at_ms) >= Self::EVERY_MS
    }

    pub(super) const SIZE: usize = 17;

    pub(super) fn encode(self) -> [u8; Self::SIZE] {
        let mut bytes = [0u8; Self::SIZE];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at_ms.to_le_bytes());
        bytes[16] = self.kind as u8;
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            offset: u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?),
            at_ms: u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?),
            kind: match *bytes.get(16)? {
                0 => StreamKind::Stdout,
                1 => StreamKind::Stderr,
                _ => return None,
            },
        })
    }
}

pub(super) fn log_path(folder: &Path, start: u64) -> PathBuf {
    folder.join(format!("{start:020}.log"))
}

pub(super) fn index_path(folder: &Path, start: u64) -> PathBuf {
    folder.join(format!("{start:020}.idx"))
}

/// The end of the log on disk. Output behind the last segment that is known to be lost counts as well.
pub(crate) fn end_on_disk(folder: &Path) -> u64 {
    let segments = segments(folder).unwrap_or_default();
    let Some((start, length)) = segments.last() else { return 0 };
    let lost_until = Gap::read(&index_path(folder, *start)).map_or(0, |gap| gap.to);
    lost_until.max(start + length)
}

/// The newest ranges that could not be written, as the notes in the last two indexes have them.
pub(crate) fn recent_gaps(folder: &Path) -> Vec<Gap> {
    let segments = segments(folder).unwrap_or_default();
    let last_two = segments.iter().rev().take(2).rev();
    last_two.filter_map(|(start, _)| Gap::read(&index_path(folder, *start))).collect()
}

/// The bytes of one stream in a range, as far as they are on disk.
pub(super) fn read_range(folder: &Path, from: u64, to: u64, kind: StreamKind) -> Vec<u8> {
    let mut all = Vec::new();
    for (start, length) in segments(folder).unwrap_or_default() {
        let (begin, end) = (from.max(start), to.min(start + length));
        if begin >= end {
            continue;
        }
        let mut bytes = vec![0; (end - begin) as usize];
        let read = fs::File::open(log_path(folder, start))
            .and_then(|log| log.read_exact_at(&mut bytes, begin - start));
        if read.is_err() {
            continue;
        }
        let marks = read_marks(folder, start).unwrap_or_default();
        let until = |index: usize| marks.get(index + 1).map_or(u64::MAX, |next| next.offset);
        let others = marks.iter().enumerate().filter(|(_, mark)| mark.kind != kind);
        let mut kept = begin;
        for (index, mark) in others {
            let (skipped, on) = (mark.offset.clamp(kept, end), until(index).clamp(kept, end));
            all.extend_from_slice(&bytes[(kept - begin) as usize..(skipped - begin) as usize]);
            kept = on;
        }
        all.extend_from_slice(&bytes[(kept - begin) as usize..]);
    }
    all
}

pub(super) fn read_marks(folder: &Path, start: u64) -> io::Result<Vec<Mark>> {
    match fs::read(index_path(folder, start)) {
        Ok(bytes) => Ok(bytes.chunks_exact(Mark::SIZE).filter_map(Mark::decode).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The existing segments with their lengths, oldest first.
pub(super) fn segments(folder: &Path) -> io::Result<Vec<(u64, u64)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut segments = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(start) = name
            .to_str()
            .and_then(|name| name.strip_suffix(".log"))
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // Skip a segment that rotation removes meanwhile.
        if let Ok(metadata) = entry.metadata() {
            segments.push((start, metadata.len()));
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

pub(super) fn remove(folder: &Path, start: u64) {
    let _ = fs::remove_file(log_path(folder, start));
    let _ = fs::remove_file(index_path(folder, start));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_back() {
        let mark = Mark { offset: 1 << 40, at_ms: 1_700_000_000_000, kind: StreamKind::Stderr };
        assert_eq!(Mark::decode(&mark.encode()), Some(mark));
        assert_eq!(Mark::decode(&[0; 16]), None);
    }

    #[test]
    fn a_range_of_one_stream_leaves_the_other_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = |offset, kind| Mark { offset, at_ms: 1, kind }.encode();
        let marks = [
            mark(100, StreamKind::Stdout),
            mark(104, StreamKind::Stderr),
            mark(106, StreamKind::Stdout),
            mark(109, StreamKind::Stderr),
        ];
        fs::write(log_path(folder.path(), 100), "outsEEoutEE").expect("written");
        fs::write(index_path(folder.path(), 100), marks.concat()).expect("written");
        let read = |from, to, kind| {
            String::from_utf8(read_range(folder.path(), from, to, kind)).expect("text")
        };
        assert_eq!(read(0, 200, StreamKind::Stdout), "outsout");
        assert_eq!(read(0, 200, StreamKind::Stderr), "EEEE");
        assert_eq!(read(105, 108, StreamKind::Stdout), "ou");
        assert_eq!(read(103, 105, StreamKind::Stderr), "E");
        fs::remove_file(index_path(folder.path(), 100)).expect("removed");
        assert_eq!(read(0, 200, StreamKind::Stdout), "outsEEoutEE");
    }
}
