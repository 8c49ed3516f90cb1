//! Faces over the engine. This one is the door: a unix socket, one JSON object a line.

mod connection;
mod find;
mod frames;
mod looks;
mod metrics;
mod server;
mod typing;
mod view;
mod viewers;

pub use metrics::exposition;
pub use server::{ServeError, Server};
