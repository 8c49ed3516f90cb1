//! The app socket: what apps say and are told, and what operators ask. `docs/wire.md` is its description.

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
