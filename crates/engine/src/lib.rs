//! The single writer: event → `core::step` → commit → action → event.
//!
//! One thread, the dispatcher, owns the state, the registry and every process. A second one drains
//! output. Faces hold a `Handle`: they ask, and they read.

mod adapters;
mod asks;
mod commit;
mod dispatcher;
mod error;
mod failpoint;
mod handle;
mod home;
mod input;
mod live;
mod output;
mod perform;
mod reconcile;

pub use dispatcher::Supervisor;
pub use error::EngineError;
pub use handle::{Attached, Cancelled, Handle, SpawnRefused, Stopped};
pub use home::{Home, HomeError};
pub use input::Input;
pub use output::{LogReader, OutputState, Piece, panic_is_contained};

/// Whether a registry file is sound, for `doctor`. Changes nothing.
pub fn check_registry(path: &std::path::Path) -> Result<(), String> {
    ostler_registry::Reader::inspect(path).map_err(|error| error.told())?.check()
}
