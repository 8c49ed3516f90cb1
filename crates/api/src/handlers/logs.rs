//! Reads the output of a run in parts.

use super::dispatch::Handle;
use crate::background::beside;
use crate::find::error;
use crate::server::Shared;
use crate::view;
use ostler_engine::{LogReader, OutputState, Piece};
use ostler_model::{Actor, RunId};
use ostler_ops::logs::{LogKind, LogPart, LogPiece, Read};
use ostler_ops::wire::{ErrorCode, WireError};
use std::io;
use std::sync::Arc;

impl Handle for Read {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<LogPart, WireError> {
        let (record, attached) = view::open(&self.run, shared).await?;
        let (run, output) = (record.run_id, attached.output);
        let most = self.limit.unwrap_or(Self::LIMIT).clamp(1, Self::LIMIT_MOST);
        if self.wait {
            // Before `from` there may be output already; then this returns at once.
            output.more_than(self.from.unwrap_or(0)).await;
        }
        let (from, lines) = (self.from, self.lines);
        let read = beside(move || part(run, output, from, lines, most)).await;
        let failed = |failure: io::Error| {
            let message = format!("the log of run {run} cannot be read: {failure}");
            error(ErrorCode::Internal, message)
        };
        let stopped = || error(ErrorCode::Internal, format!("the log of run {run} was not read"));
        read.ok_or_else(stopped)?.map_err(failed)
    }
}

fn part(
    run: RunId,
    output: Arc<OutputState>,
    from: Option<u64>,
    lines: Option<u64>,
    most: u64,
) -> io::Result<LogPart> {
    // Read before the log: what is written later belongs to the next part.
    let (ended, end) = (output.is_ended(), output.written());
    let mut reader = LogReader::new(output);
    let mut next = match (from, lines) {
        (Some(from), _) => from,
        (None, Some(lines)) => reader.lines_before_end(lines)?,
        (None, None) => 0,
    };
    let mut raw: Vec<RawPiece> = Vec::new();
    let goal = end.min(next.saturating_add(most));
    while next < goal {
        match reader.next(next)? {
            Piece::Bytes { is_stderr, at_ms, mut bytes, .. } => {
                bytes.truncate(usize::try_from(goal - next).unwrap_or(usize::MAX));
                let kind = if is_stderr { LogKind::Stderr } else { LogKind::Stdout };
                let from = next;
                next += bytes.len() as u64;
                match raw.last_mut() {
                    Some(last) if last.kind == kind && last.at_ms == at_ms => {
                        last.bytes.extend(bytes)
                    }
                    Some(_) | None => raw.push(RawPiece { kind, from, to: 0, at_ms, bytes }),
                }
            }
            Piece::Gap { from, to } => {
                next = to;
                raw.push(RawPiece { kind: LogKind::Gap, from, to, at_ms: None, bytes: Vec::new() });
            }
            Piece::CaughtUp => break,
        }
    }
    // The rest of a character is in the next part, unless there is nothing else.
    if !(ended && next >= end)
        && let Some(last) = raw.last_mut()
    {
        let open = open_character(&last.bytes);
        if open < last.bytes.len() {
            last.bytes.truncate(last.bytes.len() - open);
            next -= open as u64;
        }
    }
    let pieces = raw.into_iter().map(RawPiece::piece).collect();
    Ok(LogPart { run_id: run, pieces, next, end, ended })
}

struct RawPiece {
    kind: LogKind,
    from: u64,
    /// Of a gap.
    to: u64,
    at_ms: Option<u64>,
    bytes: Vec<u8>,
}

impl RawPiece {
    fn piece(self) -> LogPiece {
        let Self { kind, from, to, at_ms, bytes } = self;
        let to = to.max(from + bytes.len() as u64);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        LogPiece { kind, from, to, at_ms, text }
    }
}

/// The number of bytes at the end that begin a character of UTF-8 which is not complete.
fn open_character(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(4)..];
    match std::str::from_utf8(tail.split_at(first_boundary(tail)).1) {
        Err(error) if error.error_len().is_none() => {
            tail.len() - first_boundary(tail) - error.valid_up_to()
        }
        Ok(_) | Err(_) => 0,
    }
}

/// The first byte that does not continue a character.
fn first_boundary(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| byte & 0xc0 != 0x80).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::open_character;

    #[test]
    fn only_an_incomplete_character_is_open() {
        for (bytes, open) in [
            (&b""[..], 0),
            (b"abc", 0),
            ("aé".as_bytes(), 0),
            (&"aé".as_bytes()[..2], 1),
            (&"ab€".as_bytes()[..4], 2),
            (&"😀".as_bytes()[..3], 3),
            (&"x😀".as_bytes()[..2], 1),
            ("😀".as_bytes(), 0),
            (b"\xff\xff", 0),
            (b"\x80\x80\x80\x80\x80", 0),
        ] {
            assert_eq!(open_character(bytes), open, "{bytes:?}");
        }
    }
}
