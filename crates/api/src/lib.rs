//! Faces over the engine. This one is the door: a unix socket, one JSON object a line.

mod apps;
mod beside;
mod callers;
mod connection;
mod find;
mod frames;
mod handlers;
mod history;
mod looks;
mod mail_files;
mod metrics;
mod output_beats;
mod server;
mod typing;
mod view;
mod viewers;
mod write;

pub use apps::{Gateway, Topic};
pub use metrics::exposition;
pub use server::{ServeError, Server};
