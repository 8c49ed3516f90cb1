//! The trait that an app implements.

use super::answers::Configuration;
use super::context::Context;
use super::error::{AppError, Failure};
use super::events::Next;
use super::log;
use super::manifest::{MANIFEST_FILE, Manifest};
use super::stop::Stop;
use std::time::Duration;

/// A program that Ostler runs as an app. `run` calls these functions one after the other.
pub trait App {
    /// The app's identity; by default `openclawos.manifest.json` in the working directory.
    fn manifest(&self) -> Result<Manifest, AppError> {
        Manifest::read(MANIFEST_FILE)
    }

    /// The time for the shutdown if a signal, and not Ostler, requests it.
    fn shutdown_timeout(&self) -> Duration {
        Duration::from_secs(5)
    }

    /// Prepares the app. The app is ready when it returns.
    fn setup(&mut self, _context: &Context) -> Result<(), Failure> {
        Ok(())
    }

    /// The app's main function; it must return soon after a stop request. If it returns earlier, the app ends. By
    /// default it waits and calls `on_config`; your own function gets changes as [`Next::Config`].
    fn work(&mut self, context: &Context) -> Result<(), Failure> {
        while let Next::Config(configuration) = context.next() {
            if let Err(error) = self.on_config(context, &configuration) {
                log::error(&format!("on_config failed: {error}"));
            }
        }
        Ok(())
    }

    /// The configuration has changed; `context.config()` already returns the new one.
    fn on_config(
        &mut self,
        _context: &Context,
        _configuration: &Configuration,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Cleans up within the remaining time; `run` returns afterwards.
    fn teardown(&mut self, _stop: &Stop) -> Result<(), Failure> {
        Ok(())
    }
}
