//! The only parser of `/proc/PID/stat`. Field numbers are those of proc(5).

use super::reserved_fds;
use std::fs;
use std::io::Read;

/// The line of one process. It is read without a heap allocation: this runs for every member of every ending tree.
pub(super) struct StatLine {
    bytes: [u8; 1024],
    length: usize,
    /// The index of the name's closing parenthesis.
    name_end: usize,
}

impl StatLine {
    /// `None` if no process has this pid.
    pub(super) fn of(pid: i32) -> Option<Self> {
        let path = format!("/proc/{pid}/stat");
        let read = || {
            let mut bytes = [0u8; 1024];
            let length = fs::File::open(&path)?.read(&mut bytes)?;
            Ok(Self::new(bytes, length))
        };
        reserved_fds::spend(read).ok()?
    }

    /// Parses text that was read already.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut bytes = [0u8; 1024];
        let length = text.len().min(bytes.len());
        bytes[..length].copy_from_slice(&text[..length]);
        Self::new(bytes, length)
    }

    /// The name may contain spaces and parentheses: only the last parenthesis ends it.
    fn new(bytes: [u8; 1024], length: usize) -> Option<Self> {
        let name_end = bytes[..length].iter().rposition(|byte| *byte == b')')?;
        Some(Self { bytes, length, name_end })
    }

    pub(super) fn name(&self) -> String {
        let head = &self.bytes[..self.name_end];
        let begin = head.iter().position(|byte| *byte == b'(').map_or(0, |at| at + 1);
        String::from_utf8_lossy(&head[begin..]).into_owned()
    }

    /// Field `number`, from 3 (the state) on.
    pub(super) fn field(&self, number: usize) -> Option<&str> {
        const FIRST: usize = 3;
        let rest = std::str::from_utf8(self.bytes.get(self.name_end + 2..self.length)?).ok()?;
        rest.split_ascii_whitespace().nth(number.checked_sub(FIRST)?)
    }

    pub(super) fn number<T: std::str::FromStr>(&self, number: usize) -> Option<T> {
        self.field(number)?.parse().ok()
    }

    pub(super) fn is_dead(&self) -> Option<bool> {
        Some(matches!(self.field(3)?, "Z" | "X" | "x"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_and_spaces_is_parsed() {
        let line = StatLine::parse(b"42 (a) R 1 (b) S 7 43 44 34819 -1").expect("parses");
        assert_eq!(line.name(), "a) R 1 (b");
        assert_eq!((line.field(3), line.number::<i32>(4)), (Some("S"), Some(7)));
        assert_eq!((line.number::<i32>(8), line.number::<i32>(9)), (Some(-1), None));
        assert_eq!(line.is_dead(), Some(false));
    }

    #[test]
    fn an_invalid_fingerprint_matches_no_process() {
        assert!(StatLine::parse(b"").is_none());
        assert!(StatLine::parse(b"42").is_none());
        assert_eq!(StatLine::parse(b"42 (a)").and_then(|line| line.is_dead()), None);
        assert!(StatLine::of(i32::MAX).is_none());
    }
}
