//! P: texts into terminals.

pub(crate) mod lines;
pub(crate) mod receipts;
pub(crate) mod setup;
pub(crate) mod texts;
pub(crate) mod tmux;
