//! Two ways to talk to Ostler.
//!
//! [`app`] is for a program that Ostler runs: it registers, says when it is ready, sends heartbeats, and is told when
//! to end. Take it with `default-features = false`; nothing else of Ostler is compiled then.
//!
//! The rest, behind the feature `door`, is for a program that asks Ostler to run something: it talks to a supervisor
//! over its door, and starts one if there is none.

pub mod app;

#[cfg(feature = "control-socket")]
mod connection;
#[cfg(feature = "control-socket")]
mod error;
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

/// Compiles what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
