//! Two clients for Ostler.
//!
//! [`app`] is for a program that Ostler runs: it registers, reports that it is ready, sends heartbeats, and receives
//! stop requests. Use `default-features = false` to compile nothing else.
//!
//! The rest needs the feature `control-socket`. It is for a program that asks Ostler to run something: it connects to
//! the supervisor's control socket, and starts a supervisor if there is none.

pub mod app;

#[cfg(feature = "control-socket")]
mod connection;
#[cfg(feature = "control-socket")]
mod error;
#[cfg(feature = "control-socket")]
mod halted;
#[cfg(feature = "control-socket")]
mod journal;
#[cfg(feature = "control-socket")]
mod start;
#[cfg(feature = "control-socket")]
mod viewing;

#[cfg(feature = "control-socket")]
pub use connection::{Client, UnitAsk};
#[cfg(feature = "control-socket")]
pub use error::ClientError;
#[cfg(feature = "control-socket")]
pub use journal::Journal;
#[cfg(feature = "control-socket")]
pub use start::{Found, HomePaths, RESENDS_MOST, Start, ask, connect, find, greet};
#[cfg(feature = "control-socket")]
pub use viewing::{Frame, FrameSender, View};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
