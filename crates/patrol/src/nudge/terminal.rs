//! A terminal that can be looked at and typed into, whoever keeps it.

use std::path::PathBuf;
use thiserror::Error;

pub use ostler_tmux::typing::{Cursor, Key};

/// What a person would see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub lines: Vec<String>,
    /// Where it is known, and drawn by the terminal itself.
    pub cursor: Option<Cursor>,
}

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

pub trait Terminal {
    fn look(&mut self) -> Result<Look, Trouble>;
    fn paste_mode(&mut self) -> Result<Paste, Trouble>;
    /// In one piece.
    fn type_in(&mut self, text: &str, paste: Paste) -> Result<(), Trouble>;
    fn press(&mut self, key: Key) -> Result<(), Trouble>;
    /// The device, where what was not read yet can be taken back.
    fn device(&self) -> Option<PathBuf>;
}
