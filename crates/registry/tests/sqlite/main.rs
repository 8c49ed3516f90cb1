//! What is true of the SQLite registry only.

mod fallback;
mod file;
mod migrations;
mod shrink;
