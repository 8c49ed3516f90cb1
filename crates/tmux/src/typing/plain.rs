//! Typing as a person does, letter by letter, for an answer to what is on the screen.

use super::keys::buffer_name;
use crate::call::{Server, TmuxError};

/// The text as it is, and not marked as a paste: a menu would not take that for keys. A mode that somebody left the pane
/// in, for scrolling or copying, is left.
pub fn type_plain(server: &Server, pane: &str, text: &str) -> Result<(), TmuxError> {
    let buffer = buffer_name();
    let leave = ["copy-mode", "-q", "-t", pane, ";"];
    let load = ["load-buffer", "-b", &buffer, "-", ";"];
    let give = ["paste-buffer", "-dr", "-b", &buffer, "-t", pane];
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

/// A key by the name that tmux has for it, as `Up`: it knows which bytes the program in the pane wants for it.
pub fn press_named(server: &Server, pane: &str, name: &'static str) -> Result<(), TmuxError> {
    let words = ["copy-mode", "-q", "-t", pane, ";", "send-keys", "-t", pane, name];
    server.ask(&words).map(|_| ())
}
