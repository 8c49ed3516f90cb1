//! The control socket and the app socket: unix sockets with one JSON object per line.

mod apps;
mod background;
mod conn_limits;
mod connection;
mod find;
mod frames;
mod handlers;
mod history;
mod input;
mod mail_files;
mod metrics;
mod output_beats;
mod patterns;
mod server;
mod usage;
mod view;
mod viewers;
mod write_stream;

pub use apps::{Gateway, Outcome, Topic};
pub use metrics::exposition;
pub use server::{ServeError, Server};
