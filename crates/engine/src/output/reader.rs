//! Reads a run's output by offset, while the run writes or after it ended.

use super::segment::{Mark, StreamKind, log_path, read_marks, segments};
use super::state::OutputState;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// The next part of the output.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Bytes {
        offset: u64,
        is_stderr: bool,
        at_ms: Option<u64>,
        bytes: Vec<u8>,
    },
    /// These bytes are not stored, or no longer.
    Gap {
        from: u64,
        to: u64,
    },
    /// Nothing more for now.
    CaughtUp,
}

#[derive(Debug)]
pub struct LogReader {
    state: Arc<OutputState>,
    folder: PathBuf,
    open: Option<OpenSegment>,
}

#[derive(Debug)]
struct OpenSegment {
    start: u64,
    log: File,
    marks: Vec<Mark>,
}

/// The memory that one slow viewer holds.
const PIECE_MOST: usize = 64 << 10;

impl LogReader {
    pub fn new(state: Arc<OutputState>) -> Self {
        Self { folder: state.folder().to_owned(), state, open: None }
    }

    /// The offset after the last byte.
    pub fn end(&self) -> io::Result<u64> {
        let on_disk = segments(&self.folder)?.last().map_or(0, |(start, length)| start + length);
        Ok(on_disk.max(self.state.written()))
    }

    pub fn next(&mut self, offset: u64) -> io::Result<Piece> {
        if let Some((mark, bytes)) = self.state.read_tail(offset) {
            let is_stderr = mark.kind == StreamKind::Stderr;
            return Ok(Piece::Bytes { offset, is_stderr, at_ms: Some(mark.at_ms), bytes });
        }
        if let Some(piece) = self.read_open_segment(offset)? {
            return Ok(piece);
        }
        // Read before the disk: all counted bytes are on disk by then.
        let written = self.state.written();
        let segments = segments(&self.folder)?;
        let end = segments.last().map_or(0, |(start, length)| start + length).max(written);
        if let Some((start, _)) = segments
            .iter()
            .rev()
            .find(|(start, length)| *start <= offset && offset < start + length)
        {
            self.open_segment(*start)?;
            if let Some(piece) = self.read_open_segment(offset)? {
                return Ok(piece);
            }
        }
        if offset >= end {
            return Ok(Piece::CaughtUp);
        }
        // Not on disk: find the next bytes that are on disk or in memory.
        let next = segments.iter().map(|(start, _)| *start).find(|start| *start > offset);
        let to = next.unwrap_or_else(|| self.state.tail_begin().max(offset + 1)).min(end);
        Ok(Piece::Gap { from: offset, to })
    }

    fn open_segment(&mut self, start: u64) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|open| open.start == start) {
            return Ok(());
        }
        match File::open(log_path(&self.folder, start)) {
            Ok(log) => self.open = Some(OpenSegment { start, log, marks: Vec::new() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.open = None,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read_open_segment(&mut self, offset: u64) -> io::Result<Option<Piece>> {
        let folder = &self.folder;
        let Some(open) = self.open.as_mut().filter(|open| open.start <= offset) else {
            return Ok(None);
        };
        let mut bytes = vec![0u8; PIECE_MOST];
        let length = open.log.read_at(&mut bytes, offset - open.start)?;
        if length == 0 {
            return Ok(None);
        }
        bytes.truncate(length);
        // The index is written before its bytes, so it covers what was just read.
        let end = offset + length as u64;
        if open.marks.last().is_none_or(|last| last.offset < end) {
            open.marks = read_marks(folder, open.start)?;
        }
        let current = open.marks.partition_point(|mark| mark.offset <= offset).checked_sub(1);
        let mark = current.and_then(|index| open.marks.get(index));
        let kind = mark.map_or(StreamKind::Stdout, |mark| mark.kind);
        let at_ms = mark.map(|mark| mark.at_ms);
        let until = current
            .and_then(|index| open.marks.get(index + 1))
            .map_or(end, |next| next.offset.min(end));
        bytes.truncate((until - offset) as usize);
        Ok(Some(Piece::Bytes { offset, is_stderr: kind == StreamKind::Stderr, at_ms, bytes }))
    }

    /// The offset where the last `lines` lines begin.
    pub fn lines_before_end(&mut self, lines: u64) -> io::Result<u64> {
        let end = self.end()?;
        let mut begin =
            segments(&self.folder)?.first().map_or(self.state.tail_begin(), |(start, _)| *start);
        begin = begin.min(end);
        if lines == 0 {
            return Ok(end);
        }
        // Counts backwards in windows, so that the last ten lines of a gigabyte need only a few reads.
        const WINDOW: u64 = 64 << 10;
        let mut found = 0;
        let mut until = end;
        while until > begin {
            let from = until.saturating_sub(WINDOW).max(begin);
            let window = self.collect(from, until)?;
            for (index, byte) in window.iter().enumerate().rev() {
                let at = from + index as u64;
                // The newline that ends the last line does not begin another.
                if *byte == b'\n' && at + 1 < end {
                    found += 1;
                    if found == lines {
                        return Ok(at + 1);
                    }
                }
            }
            until = from;
        }
        Ok(begin)
    }

    /// The bytes of a range; a gap reads as zero bytes.
    fn collect(&mut self, from: u64, until: u64) -> io::Result<Vec<u8>> {
        let mut collected = vec![0u8; (until - from) as usize];
        let mut offset = from;
        while offset < until {
            match self.next(offset)? {
                Piece::Bytes { bytes, .. } => {
                    let length = bytes.len().min((until - offset) as usize);
                    let place = (offset - from) as usize;
                    collected[place..place + length].copy_from_slice(&bytes[..length]);
                    offset += length as u64;
                }
                Piece::Gap { to, .. } => offset = to.max(offset + 1),
                Piece::CaughtUp => break,
            }
        }
        Ok(collected)
    }

    /// The offset of the first output at or after this time.
    pub fn since(&mut self, at_ms: u64) -> io::Result<u64> {
        for (start, _) in segments(&self.folder)? {
            if let Some(mark) =
                read_marks(&self.folder, start)?.into_iter().find(|mark| mark.at_ms >= at_ms)
            {
                return Ok(mark.offset);
            }
        }
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::open_logs::{LogWriter, WriteOutcome};
    use super::*;

    /// Writes and counts as the output writer does.
    struct Log {
        _folder: tempfile::TempDir,
        state: Arc<OutputState>,
        writer: LogWriter,
    }

    impl Log {
        fn new(most_bytes: u64) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("run");
            let state = Arc::new(OutputState::new(path.clone(), None));
            Self { _folder: folder, state, writer: LogWriter::new(path, most_bytes) }
        }

        fn add(&mut self, kind: StreamKind, bytes: &[u8], at_ms: u64) -> WriteOutcome {
            let written = self.writer.append(kind, bytes, at_ms);
            self.state.add(kind, bytes, at_ms, at_ms);
            written
        }

        fn all(&self, from: u64) -> Vec<(bool, Vec<u8>)> {
            let mut reader = LogReader::new(Arc::clone(&self.state));
            let mut offset = from;
            let mut all: Vec<(bool, Vec<u8>)> = Vec::new();
            loop {
                match reader.next(offset).expect("read") {
                    Piece::Bytes { is_stderr, bytes, .. } => {
                        offset += bytes.len() as u64;
                        match all
                            .last_mut()
                            .filter(|(last, known)| *last == is_stderr && known != b"<gap>")
                        {
                            Some((_, known)) => known.extend(bytes),
                            None => all.push((is_stderr, bytes)),
                        }
                    }
                    Piece::Gap { to, .. } => {
                        offset = to;
                        all.push((false, b"<gap>".to_vec()));
                    }
                    Piece::CaughtUp => return all,
                }
            }
        }
    }

    /// R12: bytes are exact and streams are separate, from memory and from disk.
    #[test]
    fn streams_are_separate_and_bytes_are_exact() {
        let mut log = Log::new(1 << 20);
        let large: Vec<u8> = (0..50_000u32).map(|number| (number % 251) as u8).collect();
        log.add(StreamKind::Stdout, b"one\n", 10);
        log.add(StreamKind::Stderr, b"two\xff\n", 11);
        log.add(StreamKind::Stdout, &large, 12);
        log.add(StreamKind::Stderr, b"end", 13);
        let expected = [
            (false, b"one\n".to_vec()),
            (true, b"two\xff\n".to_vec()),
            (false, large),
            (true, b"end".to_vec()),
        ];
        assert_eq!(log.all(0), expected);
        assert_eq!(log.all(4)[0], expected[1]);
        assert_eq!(log.all(50_009), [(true, b"end".to_vec())]);
        assert_eq!(log.all(99_999), []);
    }

    #[test]
    fn rotation_drops_the_oldest_output_and_reports_the_gap() {
        let mut log = Log::new(256 << 10);
        let line = vec![b'x'; 1000];
        for number in 0..1_000 {
            log.add(StreamKind::Stdout, &line, number);
        }
        let kept = segments(log.state.folder()).expect("read");
        let bytes: u64 = kept.iter().map(|(_, length)| length).sum();
        assert!(bytes <= 256 << 10 && bytes > 128 << 10, "{bytes}");
        let all = log.all(0);
        assert_eq!(all[0].1, b"<gap>");
        assert_eq!(all[1].1.len() as u64, bytes);
    }

    #[test]
    fn the_last_lines_and_what_is_since_a_time_are_found() {
        let mut log = Log::new(64 << 20);
        for number in 0..20_000u64 {
            log.add(StreamKind::Stdout, format!("line {number}\n").as_bytes(), 1_000 + number);
        }
        let mut reader = LogReader::new(Arc::clone(&log.state));
        let from = reader.lines_before_end(3).expect("found");
        assert_eq!(log.all(from), [(false, b"line 19997\nline 19998\nline 19999\n".to_vec())]);
        let from = reader.lines_before_end(9_000).expect("found");
        assert!(log.all(from)[0].1.starts_with(b"line 11000\n"));
        assert_eq!(reader.lines_before_end(0).expect("found"), reader.end().expect("read"));
        assert_eq!(reader.lines_before_end(1_000_000).expect("found"), 0);
        let from = reader.since(1_000 + 15_000).expect("found");
        let text = String::from_utf8(log.all(from)[0].1.clone()).expect("text");
        let first: u64 =
            text.lines().next().and_then(|line| line[5..].parse().ok()).expect("a number");
        assert!((15_000..15_200).contains(&first), "{first}");
    }

    #[test]
    fn a_log_that_cannot_be_written_has_a_gap_and_continues_afterwards() {
        let mut log = Log::new(1 << 20);
        log.add(StreamKind::Stdout, b"before\n", 1);
        let folder = log.state.folder().to_owned();
        // A file in place of the folder: nothing can be opened in it.
        log.writer = {
            let aside = folder.with_extension("aside");
            std::fs::rename(&folder, &aside).expect("moved");
            std::fs::write(&folder, "").expect("in the way");
            let mut writer = LogWriter::new(folder.clone(), 1 << 20);
            assert!(matches!(
                writer.append(StreamKind::Stdout, b"before\n", 1),
                WriteOutcome::GapBegan { from: 0, .. }
            ));
            writer
        };
        let lost = vec![b'y'; 10_000];
        assert!(matches!(log.add(StreamKind::Stdout, &lost, 2), WriteOutcome::Lost));
        std::fs::remove_file(&folder).expect("out of the way");
        assert!(matches!(
            log.add(StreamKind::Stdout, b"after\n", 3),
            WriteOutcome::GapEnded { from: 0, to: 10_007 }
        ));
        let all = log.all(7);
        assert_eq!(all[0].1, b"<gap>");
        assert!(all[1].1.ends_with(b"after\n"));
    }
}
