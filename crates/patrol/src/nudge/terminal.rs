//! A terminal that can be looked at and typed into, whoever keeps it.

use ostler_model::ScreenText;
use std::path::PathBuf;
use thiserror::Error;

pub use ostler_tmux::typing::Key;

/// Why a terminal could not be looked at or typed into.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing can arrive there any more.
    #[error("{0}")]
    Gone(String),
    #[error("{0}")]
    Unknown(String),
}

/// Whether a text of several lines can be given as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paste {
    /// The program has turned bracketed paste on.
    Bracketed,
    Plain,
}

/// Who edits what is typed, until the program reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Editing {
    /// The kernel, which also shows it: the program reads whole lines.
    Kernel {
        unread: u64,
    },
    Program,
    /// The terminal's device cannot be asked.
    Unknown,
}

pub trait Terminal {
    fn look(&mut self) -> Result<ScreenText, Trouble>;
    fn paste_mode(&mut self) -> Result<Paste, Trouble>;
    /// In one piece.
    fn type_in(&mut self, text: &str, paste: Paste) -> Result<(), Trouble>;
    fn press(&mut self, key: Key) -> Result<(), Trouble>;
    /// The device, where what was not read yet can be taken back.
    fn device(&self) -> Option<PathBuf>;

    fn editing(&self) -> Editing {
        let Some(device) = self.device() else { return Editing::Unknown };
        match (ostler_os::gives_lines(&device), ostler_os::unread(&device)) {
            (Ok(true), Ok(unread)) => Editing::Kernel { unread },
            (Ok(false), _) => Editing::Program,
            (Ok(true), Err(_)) | (Err(_), _) => Editing::Unknown,
        }
    }
}
