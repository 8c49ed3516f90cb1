//! Reads from a program's output which terminal modes it has set, the newest part first.

use crate::connection::Connector;
use ostler_client::{ClientError, Frame};
use ostler_ops::runs::{Show, View, ViewFrom};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Bytes of output searched at most.
const MOST: u64 = 16 << 20;
const FIRST: u64 = 64 << 10;
/// Longer than any escape sequence that sets the mode.
const OVERLAP: u64 = 64;

/// Where the output of a run is, and how much of it has been read.
pub struct Modes {
    connector: Connector,
    run: String,
    memo: PathBuf,
}

/// The result of the search up to byte `to`. It is only a cache: without it the output is read again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Memo {
    run: String,
    to: u64,
    takes_paste: Option<bool>,
}

impl Modes {
    pub fn new(connector: Connector, run: String, memo: PathBuf) -> Self {
        Self { connector, run, memo }
    }

    /// Whether bracketed paste is on; `None` if unknown.
    pub fn takes_paste(&self) -> Option<bool> {
        let end = self.written().ok()??;
        let known = self.remembered().filter(|memo| memo.to <= end);
        let takes_paste = match known {
            Some(memo) => {
                let part = self.read(memo.to.saturating_sub(OVERLAP), end).ok()?;
                last_word(&part).or(memo.takes_paste)
            }
            None => self.search(end)?,
        };
        let memo = Memo { run: self.run.clone(), to: end, takes_paste };
        if let Ok(text) = serde_json::to_vec(&memo) {
            let _ = std::fs::write(&self.memo, text);
        }
        takes_paste
    }

    fn remembered(&self) -> Option<Memo> {
        let memo: Memo = serde_json::from_slice(&std::fs::read(&self.memo).ok()?).ok()?;
        (memo.run == self.run).then_some(memo)
    }

    /// Searches backwards; `None` if the output cannot be read.
    fn search(&self, end: u64) -> Option<Option<bool>> {
        let (mut to, mut size) = (end, FIRST);
        while to > 0 && end - to < MOST {
            let from = to.saturating_sub(size);
            let part = self.read(from, to + OVERLAP).ok()?;
            if let Some(last) = last_word(&part) {
                return Some(Some(last));
            }
            to = from;
            size *= 8;
        }
        Some((to == 0).then_some(false))
    }

    fn written(&self) -> Result<Option<u64>, ClientError> {
        let Ok(mut client) = self.connector.client() else { return Ok(None) };
        Ok(Some(client.call(&Show::of(&self.run))?.output_bytes))
    }

    fn read(&self, from: u64, to: u64) -> Result<Vec<u8>, ClientError> {
        let call = View {
            run: self.run.clone(),
            from: ViewFrom::Offset(from),
            follow: false,
            interactive: false,
            size: None,
        };
        let client = self.connector.client().map_err(|_| ClientError::Unexpected)?;
        let mut view = client.view(&call)?;
        let mut bytes = Vec::new();
        while view.offset() < to {
            view.advance()?;
            match view.frame()? {
                Frame::Stdout(part) | Frame::Stderr(part) => bytes.extend_from_slice(part),
                Frame::Gap(_) | Frame::Time(_) => {}
                Frame::Ended(_) | Frame::Caught => break,
                Frame::Error(_) => return Err(ClientError::Unexpected),
            }
        }
        Ok(bytes)
    }
}

/// The last `ESC [ ? … 2004 … h` or `l` in `bytes`. A terminal reset turns the mode off.
fn last_word(bytes: &[u8]) -> Option<bool> {
    let mut last = None;
    let escapes = bytes.iter().enumerate().filter(|(_, byte)| **byte == 0x1b).map(|(at, _)| at + 1);
    for at in escapes {
        match &bytes[at..] {
            [b'c', ..] => last = Some(false),
            [b'[', b'?', rest @ ..] => {
                let length = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b';').count();
                let has = rest[..length].split(|b| *b == b';').any(|number| number == b"2004");
                match (has, rest.get(length)) {
                    (true, Some(b'h')) => last = Some(true),
                    (true, Some(b'l')) => last = Some(false),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_decision_in_the_output_counts() {
        assert_eq!(last_word(b"hello \x1b[2J"), None);
        assert_eq!(last_word(b"\x1b[?2004h> "), Some(true));
        assert_eq!(last_word(b"\x1b[?25;2004h> \x1b[?25l"), Some(true));
        assert_eq!(last_word(b"\x1b[?2004h> \x1b[?2004l"), Some(false));
        assert_eq!(last_word(b"\x1b[?2004h> \x1bc"), Some(false));
        assert_eq!(last_word(b"\x1b[?12004h \x1b[?2004"), None);
    }
}
