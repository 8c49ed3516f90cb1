//! Lets a Rust program be an app that Ostler supervises.
//!
//! ```no_run
//! use ostler_client::app::{App, Context, Failure, Next, Stop, run};
//! use std::process::ExitCode;
//! use std::time::Duration;
//!
//! struct Telegram {
//!     sent: u64,
//! }
//!
//! impl App for Telegram {
//!     fn setup(&mut self, context: &Context) -> Result<(), Failure> {
//!         let chat = context.config()["chat"].as_u64().ok_or("config.chat is missing")?;
//!         println!("talking to {chat}");
//!         Ok(())
//!     }
//!
//!     fn work(&mut self, context: &Context) -> Result<(), Failure> {
//!         // Instead of thread::sleep, so that it ends at once when it is asked to.
//!         while context.wait(Duration::from_secs(60)) != Next::Stop {
//!             self.sent += 1;
//!         }
//!         Ok(())
//!     }
//!
//!     fn teardown(&mut self, stop: &Stop) -> Result<(), Failure> {
//!         println!("sent {}, ending: {}", self.sent, stop.reason());
//!         Ok(())
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     run(Telegram { sent: 0 })
//! }
//! ```
//!
//! It is started by Ostler. Beside the program lie `openclawos.manifest.json` and an `ostler.toml` with
//! `[units.telegram] manifest = "openclawos.manifest.json"`; then `ostler up`. `examples/app-rust` is a whole one.
//!
//! # What [`run`] does
//!
//! - It registers with the manifest of the working directory (or [`App::manifest`]), gets the configuration into
//!   [`Context::config`], runs [`App::setup`], says that the app is ready, and runs [`App::work`].
//! - Heartbeats go out at the interval Ostler asks for, from a thread of their own. So they tell that the process lives,
//!   not that `work` gets on: say so with [`Context::status`]. [`Context::busy_for`] is for when even that thread may be
//!   silent, as in a program that is stopped or frozen for a while.
//! - A lost connection is made again, after 100 ms at first and 5 s at most, for as long as it takes. The app goes on with
//!   its token; if Ostler no longer knows it the app is registered and called ready anew. A configuration that has changed
//!   meanwhile is told too.
//! - When Ostler, SIGTERM, SIGINT or [`Context::stop`] asks for the end, `work` is told ([`Next::Stop`]), `teardown` runs,
//!   and `run` returns. If anything failed the exit code is 1; if it took too long the process exits with 1 where it is.
//!   If it is asked during `setup`, `setup` is finished first.
//! - If another connection of the same app takes over, this one is closed and stays so. The program works on until a
//!   signal ends it.
//!
//! `setup`, `work`, `on_config` and `teardown` are called on the thread that called `run`, one after the other. What the
//! SDK has to say goes to the standard error, which Ostler keeps.

mod answers;
mod backoff;
mod calls;
mod clock;
mod connection;
mod context;
mod environment;
mod error;
mod events;
mod heartbeat;
mod hooks;
mod link;
mod log;
mod manifest;
mod next_beat;
mod notices;
mod resume;
mod run;
mod signals;
mod stop;
#[cfg(test)]
mod tests;
mod wire;

pub use answers::Configuration;
pub use context::Context;
pub use error::{AppError, Code, Failure};
pub use events::Next;
pub use hooks::App;
pub use manifest::{MANIFEST_FILE, Manifest};
pub use next_beat::{LONGEST_BUSY, Status};
pub use run::run;
pub use stop::Stop;
pub use wire::{MAX_LINE, PROTOCOL_VERSION};
