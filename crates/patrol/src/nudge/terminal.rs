//! A terminal whose screen can be read and that can be typed into: a tmux pane or a pty of the supervisor.

use ostler_model::ScreenText;
use std::path::PathBuf;
use thiserror::Error;

pub use ostler_tmux::typing::Key;

/// Why a terminal could not be read or typed into.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Trouble {
    /// The terminal is gone.
    #[error("{0}")]
    Gone(String),
    #[error("{0}")]
    Unknown(String),
}

/// Whether a text of several lines can be sent as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paste {
    /// The program has turned bracketed paste on.
    Bracketed,
    Plain,
}

/// What edits the typed line before the program reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Editing {
    /// The kernel, which also echoes it: the program reads whole lines.
    Kernel {
        unread: u64,
    },
    /// The kernel, and it does not echo it: the program asks for a password.
    Hidden,
    Program,
    /// The terminal's device cannot be read.
    Unknown,
}

pub trait Terminal {
    fn look(&mut self) -> Result<ScreenText, Trouble>;
    fn paste_mode(&mut self) -> Result<Paste, Trouble>;
    /// Types the text in one piece.
    fn type_in(&mut self, text: &str, paste: Paste) -> Result<(), Trouble>;
    fn press(&mut self, key: Key) -> Result<(), Trouble>;
    /// The device, on which unread input can be discarded.
    fn device(&self) -> Option<PathBuf>;

    fn editing(&self) -> Editing {
        let Some(device) = self.device() else { return Editing::Unknown };
        match (ostler_os::gives_lines(&device), ostler_os::unread(&device)) {
            (Ok(true), _) if ostler_os::is_hidden(&device).unwrap_or(false) => Editing::Hidden,
            (Ok(true), Ok(unread)) => Editing::Kernel { unread },
            (Ok(false), _) => Editing::Program,
            (Ok(true), Err(_)) | (Err(_), _) => Editing::Unknown,
        }
    }
}
