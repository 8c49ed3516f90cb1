//! Types as a person does, for an answer to a question on the screen.

use super::keys::buffer_name;
use crate::call::{Server, TmuxError};

/// Sends the text unchanged and not marked as a paste: a menu does not accept a paste as keys. The pane first leaves
/// copy mode.
pub fn type_plain(server: &Server, pane: &str, text: &str) -> Result<(), TmuxError> {
    let buffer = buffer_name();
    let leave = ["copy-mode", "-q", "-t", pane, ";"];
    let load = ["load-buffer", "-b", &buffer, "-", ";"];
    let give = ["paste-buffer", "-dr", "-b", &buffer, "-t", pane];
    let words = [&leave[..], &load[..], &give[..]].concat();
    let printed = server.ask_in_part(&words, text.as_bytes())?;
    match printed.error_output {
        None => Ok(()),
        Some(error_output) => {
            let _ = server.ask(&["delete-buffer", "-b", &buffer]);
            Err(TmuxError::Refused { error_output })
        }
    }
}

/// Sends a key by its tmux name, such as `Up`: tmux knows which bytes the program in the pane expects.
pub fn press_named(server: &Server, pane: &str, name: &'static str) -> Result<(), TmuxError> {
    let words = ["copy-mode", "-q", "-t", pane, ";", "send-keys", "-t", pane, name];
    server.ask(&words).map(|_| ())
}
