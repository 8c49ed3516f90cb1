//! What an app is made of.

use super::answers::Configuration;
use super::context::Context;
use super::error::{AppError, Failure};
use super::events::Next;
use super::log;
use super::manifest::{MANIFEST_FILE, Manifest};
use super::stop::Stop;
use std::time::Duration;

/// A program that Ostler runs as an app: how it is set up, what it does, and how it is taken down. `run` does the rest,
/// and calls these one after the other.
pub trait App {
    /// Who it is; by default what `openclawos.manifest.json` in the working directory says.
    fn manifest(&self) -> Result<Manifest, AppError> {
        Manifest::read(MANIFEST_FILE)
    }

    /// How long the end may take when a signal, and not Ostler, asks for it.
    fn shutdown_timeout(&self) -> Duration {
        Duration::from_secs(5)
    }

    /// Gets everything ready. The app counts as ready when it is done.
    fn setup(&mut self, _context: &Context) -> Result<(), Failure> {
        Ok(())
    }

    /// What the app does; it must return soon after it is told to stop. If it returns earlier the app ends by its own
    /// will. By default it waits, and `on_config` is called; one of your own that waits gets what has changed as
    /// [`Next::Config`].
    fn work(&mut self, context: &Context) -> Result<(), Failure> {
        while let Next::Config(configuration) = context.next() {
            if let Err(error) = self.on_config(context, &configuration) {
                log::error(&format!("on_config failed: {error}"));
            }
        }
        Ok(())
    }

    /// The configuration has changed; `context.config()` already is the new one.
    fn on_config(
        &mut self,
        _context: &Context,
        _configuration: &Configuration,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Cleans up, within what is left of the time; `run` returns when it is done.
    fn teardown(&mut self, _stop: &Stop) -> Result<(), Failure> {
        Ok(())
    }
}
