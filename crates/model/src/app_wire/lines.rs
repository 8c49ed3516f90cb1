//! Splits bytes into lines, with a limit on the memory for one line.

/// The longest accepted line.
pub const LINE_MOST: usize = 256 << 10;
/// After this many bytes without a line end, the sender will not send one.
pub const UNENDED_MOST: usize = 1 << 20;
/// The buffer that an idle connection keeps.
const KEPT: usize = 4 << 10;

#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Whole(&'a [u8]),
    /// The line ended, but was too long to keep.
    TooLong,
    /// The line does not end.
    Endless,
}

/// Bytes received that are not yet a line.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Where the next line begins, and how far it was searched for its end.
    begin: usize,
    searched: usize,
    /// How many bytes of an oversized line were skipped.
    passed: usize,
}

impl Lines {
    pub fn add(&mut self, bytes: &[u8]) {
        if self.begin > 0 {
            self.bytes.drain(..self.begin);
            self.searched -= self.begin;
            self.begin = 0;
        }
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete line. Empty lines are skipped.
    #[expect(clippy::should_implement_trait, reason = "a line borrows what it is taken from")]
    pub fn next(&mut self) -> Option<Line<'_>> {
        loop {
            let rest = &self.bytes[self.searched..];
            let Some(at) = memchr::memchr(b'\n', rest) else {
                return self.unended();
            };
            let (from, end) = (self.begin, self.searched + at);
            self.begin = end + 1;
            self.searched = end + 1;
            let passed = std::mem::take(&mut self.passed);
            if passed > 0 || end - from > LINE_MOST {
                return Some(Line::TooLong);
            }
            let line = self.bytes[from..end].trim_ascii();
            if line.is_empty() {
                continue;
            }
            let from = from
                + (self.bytes[from..end].len() - self.bytes[from..end].trim_ascii_start().len());
            let to = from + line.len();
            return Some(Line::Whole(&self.bytes[from..to]));
        }
    }

    fn unended(&mut self) -> Option<Line<'static>> {
        self.searched = self.bytes.len();
        let held = self.bytes.len() - self.begin;
        if self.passed + held > UNENDED_MOST {
            return Some(Line::Endless);
        }
        if held > LINE_MOST || self.passed > 0 {
            self.passed += held;
            self.bytes = Vec::new();
            self.begin = 0;
            self.searched = 0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lines: &mut Lines) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(line) = lines.next() {
            found.push(match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong => "(too long)".to_owned(),
                Line::Endless => "(endless)".to_owned(),
            });
            if found.last().is_some_and(|last| last == "(endless)") {
                break;
            }
        }
        found
    }

    /// A3: however the bytes are split, the lines are the same.
    #[test]
    fn lines_do_not_depend_on_how_bytes_come() {
        let text = "one\r\n\n  two \nthree\nhalf";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                lines.add(piece);
                found.extend(all(&mut lines));
            }
            assert_eq!(found, ["one", "two", "three"], "{size} at a time");
        }
    }

    /// A3: a line over 256 KiB is skipped, however it is split, and the next one is read.
    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let mut long = vec![b'x'; LINE_MOST + 1];
        long.extend_from_slice(b"\nnext\n");
        for size in [1 << 10, 100_000, long.len()] {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for piece in long.chunks(size) {
                lines.add(piece);
                found.extend(all(&mut lines));
            }
            assert_eq!(found, ["(too long)", "next"], "{size} at a time");
        }
        let mut lines = Lines::default();
        let mut just = vec![b'x'; LINE_MOST];
        just.push(b'\n');
        lines.add(&just);
        assert_eq!(all(&mut lines)[0].len(), LINE_MOST);
    }

    /// A3: over 1 MiB without a line end is reported, and little of it was kept.
    #[test]
    fn a_line_without_an_end_is_reported_and_dropped() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 64 << 10];
        let mut sent = 0;
        loop {
            lines.add(&piece);
            sent += piece.len();
            assert!(lines.bytes.capacity() <= 2 * (LINE_MOST + piece.len()));
            if lines.next() == Some(Line::Endless) {
                break;
            }
            assert!(sent <= UNENDED_MOST + piece.len());
        }
        assert!(sent > UNENDED_MOST);
    }
}
