//! Reading a run's output by offset, whether it is still being written or long ended.

use super::segment::{Mark, StreamKind, index_path, log_path, segments};
use super::state::OutputState;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// The next part of the output.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Bytes { offset: u64, is_stderr: bool, at_ms: Option<u64>, bytes: Vec<u8> },
    /// These are not kept (any more).
    Gap { from: u64, to: u64 },
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

const PIECE_MOST: usize = 256 << 10;

impl LogReader {
    pub fn new(state: Arc<OutputState>) -> Self {
        Self { folder: state.folder().to_owned(), state, open: None }
    }

    /// The offset behind the last byte.
    pub fn end(&self) -> io::Result<u64> {
        let on_disk = segments(&self.folder)?.last().map_or(0, |(start, length)| start + length);
        Ok(on_disk.max(self.state.written()))
    }

    pub fn next(&mut self, offset: u64) -> io::Result<Piece> {
        if let Some((kind, bytes)) = self.state.read_tail(offset) {
            let at_ms = self.state.last_wall_ms();
            return Ok(Piece::Bytes { offset, is_stderr: kind == StreamKind::Stderr, at_ms, bytes });
        }
        if let Some(piece) = self.read_open_segment(offset)? {
            return Ok(piece);
        }
        let segments = segments(&self.folder)?;
        let end = segments.last().map_or(0, |(start, length)| start + length).max(self.state.written());
        if let Some((start, _)) =
            segments.iter().rev().find(|(start, length)| *start <= offset && offset < start + length)
        {
            self.open_segment(*start)?;
            if let Some(piece) = self.read_open_segment(offset)? {
                return Ok(piece);
            }
        }
        if offset >= end {
            return Ok(Piece::CaughtUp);
        }
        // Not on disk: what comes next that is, or is in memory?
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
        let Some(open) = self.open.as_mut().filter(|open| open.start <= offset) else { return Ok(None) };
        let mut bytes = vec![0u8; PIECE_MOST];
        let length = open.log.read_at(&mut bytes, offset - open.start)?;
        if length == 0 {
            return Ok(None);
        }
        bytes.truncate(length);
        // The index is written before the bytes it is about: what we just read is covered by now.
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

    /// Where the last `lines` lines begin.
    pub fn lines_before_end(&mut self, lines: u64) -> io::Result<u64> {
        let end = self.end()?;
        let mut begin = segments(&self.folder)?.first().map_or(self.state.tail_begin(), |(start, _)| *start);
        begin = begin.min(end);
        if lines == 0 {
            return Ok(end);
        }
        // Counted backward in windows, so that the last ten lines of a gigabyte cost a few reads.
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

    /// Bytes of a range; what is in a gap reads as nothing but keeps its place.
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

    /// Where what was written at or after this time begins.
    pub fn since(&mut self, at_ms: u64) -> io::Result<u64> {
        for (start, _) in segments(&self.folder)? {
            if let Some(mark) = read_marks(&self.folder, start)?.into_iter().find(|mark| mark.at_ms >= at_ms) {
                return Ok(mark.offset);
            }
        }
        self.end()
    }
}

fn read_marks(folder: &std::path::Path, start: u64) -> io::Result<Vec<Mark>> {
    match fs::read(index_path(folder, start)) {
        Ok(bytes) => Ok(bytes.chunks_exact(Mark::SIZE).filter_map(Mark::decode).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
