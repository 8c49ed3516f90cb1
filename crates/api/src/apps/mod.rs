//! The app socket: the protocol for apps and for operators' tools. `docs/wire.md` describes it.

mod conn_limits;
mod connection;
mod gateway;
mod message;
mod methods;
mod rate;

pub(crate) use conn_limits::AppConnLimits;
pub(crate) use connection::serve;
pub use gateway::{Gateway, Topic};
pub(crate) use gateway::{GatewayCall, operate};
pub(crate) use rate::Rate;
