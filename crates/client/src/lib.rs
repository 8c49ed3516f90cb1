//! Talks to a supervisor over its door, and starts one if there is none.

mod connection;
mod error;
mod start;
mod viewing;

pub use connection::Client;
pub use error::ClientError;
pub use start::{Found, Place, Start, connect, find, greet};
pub use viewing::{Frame, FrameSender, View};
