//! Writes the segments of one run. Files are opened on demand and only a few stay open: an idle run holds no descriptor
//! of its log.

use super::gap_note::{Gap, GapNote};
use super::segment::{Mark, StreamKind, index_path, log_path, remove, segments};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// The number of logs that stay open.
const OPEN_MOST: usize = 16;

#[derive(Debug)]
pub(super) struct LogWriter {
    folder: PathBuf,
    segment_bytes: u64,
    most_bytes: u64,
    /// Start offsets of the existing segments, oldest first; the last one is written to.
    starts: Vec<u64>,
    offset: u64,
    last_mark: Option<Mark>,
    files: Option<Files>,
    /// Where the gap began, while writing fails.
    gap_from: Option<u64>,
    /// The note of this gap on disk, if there is a segment before it.
    gap_note: Option<GapNote>,
}

#[derive(Debug)]
struct Files {
    log: File,
    index: File,
}

/// The result of a write.
#[derive(Debug)]
pub(super) enum WriteOutcome {
    Kept,
    /// Nothing could be stored from this offset on; reported once.
    GapBegan {
        from: u64,
        error: io::Error,
    },
    /// Writing works again; the bytes in between are lost.
    GapEnded {
        from: u64,
        to: u64,
    },
    /// Still in the gap.
    Lost,
}

impl LogWriter {
    pub(super) fn new(folder: PathBuf, most_bytes: u64) -> Self {
        Self {
            folder,
            segment_bytes: (most_bytes / 16).clamp(64 << 10, 64 << 20),
            most_bytes,
            starts: Vec::new(),
            offset: 0,
            last_mark: None,
            files: None,
            gap_from: None,
            gap_note: None,
        }
    }

    /// Continues the existing segments. `counted` is the offset that the last writer had reached. It is larger than the
    /// log if the disk could not be written.
    pub(super) fn resumed(folder: PathBuf, most_bytes: u64, counted: u64) -> Self {
        let mut writer = Self::new(folder, most_bytes);
        let segments = segments(&writer.folder).unwrap_or_default();
        let end = segments.last().map_or(0, |(start, length)| start + length);
        writer.starts = segments.into_iter().map(|(start, _)| start).collect();
        writer.offset = end.max(counted);
        if writer.offset > end {
            writer.begin_gap(end, writer.offset);
        }
        writer
    }

    /// Reads the last appended bytes back from the log.
    pub(super) fn read_back(&self, bytes: &mut [u8]) -> bool {
        let (Some(files), Some(start)) = (&self.files, self.starts.last()) else { return false };
        let from = self.offset - start - bytes.len() as u64;
        files.log.read_exact_at(bytes, from).is_ok()
    }

    pub(super) fn append(&mut self, kind: StreamKind, bytes: &[u8], at_ms: u64) -> WriteOutcome {
        self.append_with(kind, bytes.len(), at_ms, |log| log.write_all(bytes))
    }

    /// `put` writes exactly `length` bytes at the file's position, or fails.
    pub(super) fn append_with(
        &mut self,
        kind: StreamKind,
        length: usize,
        at_ms: u64,
        put: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> WriteOutcome {
        let from = self.offset;
        let outcome = self.try_append(kind, at_ms, put);
        self.offset = from + length as u64;
        match (outcome, self.gap_from) {
            (Ok(()), None) => WriteOutcome::Kept,
            (Ok(()), Some(gap)) => {
                self.gap_from = None;
                self.gap_note = None;
                WriteOutcome::GapEnded { from: gap, to: from }
            }
            (Err(error), None) => {
                // The written part of this chunk stays; the next attempt begins a new segment.
                let from = self.kept_until().unwrap_or(from);
                self.drop_empty_segment(from);
                self.begin_gap(from, self.offset);
                WriteOutcome::GapBegan { from, error }
            }
            (Err(_), Some(gap)) => {
                self.drop_empty_segment(from);
                if let Some(note) = &self.gap_note {
                    note.write(Gap { from: gap, to: self.offset });
                }
                WriteOutcome::Lost
            }
        }
    }

    /// Everything between these offsets is lost, and probably what follows too.
    fn begin_gap(&mut self, from: u64, to: u64) {
        self.gap_from = Some(from);
        let last = self.starts.last();
        self.gap_note = last.and_then(|start| GapNote::open(&index_path(&self.folder, *start)));
        if let Some(note) = &self.gap_note {
            note.write(Gap { from, to });
        }
    }

    fn try_append(
        &mut self,
        kind: StreamKind,
        at_ms: u64,
        put: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = self.starts.last().copied();
        let full = start.is_some_and(|start| self.offset - start >= self.segment_bytes);
        if start.is_none() || full || self.gap_from.is_some() {
            self.begin_segment()?;
        } else if self.files.is_none() {
            self.files = Some(self.open(start.unwrap_or(0))?);
        }
        let mark = Mark { offset: self.offset, at_ms, kind };
        let needed = self.last_mark.is_none_or(|last| mark.is_needed_after(&last));
        let Some(files) = self.files.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
        if self.last_mark.is_none() && files.index.stream_position()? == 0 {
            files.index.write_all(&Gap::NONE)?;
        }
        if needed {
            files.index.write_all(&mark.encode())?;
            self.last_mark = Some(mark);
        }
        put(&mut files.log)
    }

    fn kept_until(&self) -> Option<u64> {
        let length = self.files.as_ref()?.log.metadata().ok()?.len();
        Some(self.starts.last()? + length)
    }

    /// Removes a segment that was begun but has no bytes.
    fn drop_empty_segment(&mut self, from: u64) {
        self.files = None;
        if self.starts.last() == Some(&from) {
            self.starts.pop();
            remove(&self.folder, from);
        }
    }

    fn begin_segment(&mut self) -> io::Result<()> {
        self.files = None;
        fs::create_dir_all(&self.folder)?;
        let start = self.offset;
        // A failed attempt at this offset left nothing worth keeping. The file is removed, not truncated: ext4 writes a
        // truncated file to the disk when it is closed.
        remove(&self.folder, start);
        self.files = Some(self.open(start)?);
        self.last_mark = None;
        if self.starts.last() != Some(&start) {
            self.starts.push(start);
        }
        while self.starts.len() > 1 && start - self.starts[0] + self.segment_bytes > self.most_bytes
        {
            remove(&self.folder, self.starts.remove(0));
        }
        Ok(())
    }

    /// Removes the oldest segments until at most `keeps` bytes are left; the current segment stays.
    pub(super) fn trim(&mut self, keeps: u64) {
        while self.starts.len() > 1 && self.offset - self.starts[0] > keeps {
            remove(&self.folder, self.starts.remove(0));
        }
    }

    /// Not in append mode, which forbids `splice` into the file. There is only one writer.
    fn open(&self, start: u64) -> io::Result<Files> {
        let open = |path: PathBuf| {
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .mode(0o600)
                .open(path)?;
            file.seek(SeekFrom::End(0))?;
            io::Result::Ok(file)
        };
        Ok(Files {
            log: open(log_path(&self.folder, start))?,
            index: open(index_path(&self.folder, start))?,
        })
    }

    fn close(&mut self) {
        self.files = None;
    }
}

/// Limits the number of open logs: the least recently used one is closed.
#[derive(Debug, Default)]
pub(super) struct OpenLogs {
    recent: Vec<u64>,
}

impl OpenLogs {
    /// Call before writing to `log`. Returns the log to close, if any.
    pub(super) fn use_log(&mut self, log: u64) -> Option<u64> {
        if self.recent.last() == Some(&log) {
            return None;
        }
        self.recent.retain(|other| *other != log);
        self.recent.push(log);
        (self.recent.len() > OPEN_MOST).then(|| self.recent.remove(0))
    }

    pub(super) fn forget(&mut self, log: u64) {
        self.recent.retain(|other| *other != log);
    }

    pub(super) fn close(writer: &mut LogWriter) {
        writer.close();
    }
}
