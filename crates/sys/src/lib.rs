//! Small things that several crates need and that have one right way: reading a file that may not be a file, replacing
//! a file in one piece, and an error with its causes in one line.

mod error_chain;
mod files;

pub use error_chain::error_chain;
pub use files::{Durability, NONBLOCK, read_regular, write_atomic};
