//! The app socket: what apps say and are told, and what operators ask. `docs/wire.md` is its description.

mod connection;
mod crowd;
mod gateway;
mod lines;
mod message;
mod methods;
mod rate;

pub(crate) use connection::serve;
pub(crate) use crowd::Crowd;
pub(crate) use gateway::{operate, statuses};
pub use gateway::{Gateway, GatewayCall, Topic};
pub use lines::{Line, Lines};
pub use message::{Fault, FaultCode, read_request};
