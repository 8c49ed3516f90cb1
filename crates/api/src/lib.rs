//! Faces over the engine. This one is the door: a unix socket, one JSON object a line.

mod agents;
mod apps;
mod beside;
mod callers;
mod connection;
mod find;
mod frames;
mod history;
mod journal;
mod kinds;
mod looks;
mod mail;
mod metrics;
mod output_beats;
mod patrol;
mod screen;
mod server;
mod typing;
mod view;
mod viewers;

pub use apps::{Gateway, Topic};
pub use metrics::exposition;
pub use server::{ServeError, Server};
