//! The app socket: the protocol for apps and for operators' tools. `docs/wire.md` describes it.

mod conn_limits;
mod connection;
mod gateway;
mod message;
mod methods;
mod rate;

pub(crate) use conn_limits::AppConnLimits;
pub(crate) use connection::serve;
pub use gateway::{Gateway, Outcome, Topic};
pub(crate) use gateway::{GatewayCall, carry_out, follow_for};
pub(crate) use rate::Rate;
