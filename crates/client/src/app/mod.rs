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
//!         // Use this instead of thread::sleep: it returns as soon as a stop is requested.
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
//! Ostler starts the program. Put `openclawos.manifest.json` and an `ostler.toml` with `[units.telegram] manifest =
//! "openclawos.manifest.json"` next to it, and run `ostler up`. `examples/app-rust` is a complete example.
//!
//! # What [`run`] does
//!
//! - It registers with the manifest of the working directory (or [`App::manifest`]), gets the configuration for
//!   [`Context::config`], runs [`App::setup`], reports that the app is ready, and runs [`App::work`].
//! - A separate thread sends heartbeats at the interval that Ostler asks for. They show that the process lives, not
//!   that `work` makes progress: report that with [`Context::status`]. Use [`Context::busy_for`] if even that thread
//!   may be silent, for example while the program is stopped or frozen.
//! - A lost connection is opened again, after 100 ms at first and 5 s at most, without a limit. The app continues with
//!   its token; if Ostler no longer knows the token, the app registers again and reports again that it is ready. A
//!   configuration that changed meanwhile is reported too.
//! - When Ostler, SIGTERM, SIGINT or [`Context::stop`] requests a stop, `work` gets [`Next::Stop`], `teardown` runs,
//!   and `run` returns. The exit code is 1 if anything failed; if the shutdown takes too long, the process exits with
//!   1 at once. If the request arrives during `setup`, `setup` is finished first.
//! - If another connection of the same app takes over, this one is closed and not opened again. The program continues
//!   until a signal ends it.
//!
//! `run` calls `setup`, `work`, `on_config` and `teardown` on its own thread, one after the other. The SDK logs to
//! standard error, which Ostler stores.

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
