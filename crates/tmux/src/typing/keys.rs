//! Typing into a pane: a text in one piece, or a key.

use crate::call::{Server, TmuxError};
use std::sync::atomic::{AtomicU64, Ordering};

/// The keys that are pressed for somebody. They never come together with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Enter,
    Escape,
    /// Ctrl-C
    Interrupt,
    /// Ctrl-U: clears the line that is being typed.
    KillLine,
}

impl Key {
    fn name(self) -> &'static str {
        match self {
            Key::Enter => "Enter",
            Key::Escape => "Escape",
            Key::Interrupt => "C-c",
            Key::KillLine => "C-u",
        }
    }
}

/// The whole text as it is, in one piece that nobody's keys can come into. Marked as a paste where the program in the
/// pane asked for that. A mode that somebody left the pane in, for scrolling or copying, is left.
pub fn paste(server: &Server, pane: &str, text: &str) -> Result<(), TmuxError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let buffer = format!("ostler-{}-{number}", std::process::id());
    let leave = ["copy-mode", "-q", "-t", pane, ";"];
    let load = ["load-buffer", "-b", &buffer, "-", ";"];
    let give = ["paste-buffer", "-dpr", "-b", &buffer, "-t", pane];
    let words = [&leave[..], &load[..], &give[..]].concat();
    let printed = server.ask_in_part(&words, text.as_bytes())?;
    match printed.complaint {
        None => Ok(()),
        Some(complaint) => {
            let _ = server.ask(&["delete-buffer", "-b", &buffer]);
            Err(TmuxError::Refused { complaint })
        }
    }
}

/// To the program, not to a mode of the pane.
pub fn press(server: &Server, pane: &str, key: Key) -> Result<(), TmuxError> {
    let words = ["copy-mode", "-q", "-t", pane, ";", "send-keys", "-t", pane, key.name()];
    server.ask(&words).map(|_| ())
}
