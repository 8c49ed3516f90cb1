//! The functions that an app may call, from any of its threads.

use super::clock;
use super::error::AppError;
use super::events::Next;
use super::link::Link;
use super::next_beat::Status;
use super::stop::{Stop, StopRequester};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The app's handle to Ostler. Clones refer to the same connection.
#[derive(Clone, Debug)]
pub struct Context {
    link: Arc<Link>,
}

impl Context {
    pub(super) fn new(link: &Arc<Link>) -> Self {
        Self { link: Arc::clone(link) }
    }

    /// The app's configuration, an object. It is available before `setup`, and always the newest one, even before
    /// `on_config` is called for it.
    pub fn config(&self) -> Value {
        self.link.news.config()
    }

    /// Waits for a stop request or a changed configuration. Call it from one thread only: each change is returned
    /// once.
    pub fn next(&self) -> Next {
        self.link.news.next(None)
    }

    /// Like [`next`](Self::next), with a timeout. Use it instead of a sleep.
    pub fn wait(&self, time: Duration) -> Next {
        self.link.news.next(Some(time))
    }

    /// Whether a stop was requested.
    pub fn is_stopping(&self) -> bool {
        self.link.news.is_asked()
    }

    /// Stops the app, like a stop request from Ostler does.
    pub fn stop(&self, reason: &str) {
        self.link.ask(Stop::new(reason, self.link.shutdown_timeout, StopRequester::Own));
    }

    /// Declares that the app may be silent for this time, including its heartbeats. Zero cancels the declaration. More
    /// than [`LONGEST_BUSY`](super::LONGEST_BUSY) is an error.
    pub fn busy_for(&self, time: Duration) -> Result<(), AppError> {
        self.link.heartbeat(|liveness| liveness.busy_for(time))
    }

    /// Like [`busy_for`](Self::busy_for), with an end time. A time in the past cancels the declaration.
    pub fn busy_until(&self, time: SystemTime) -> Result<(), AppError> {
        self.busy_for(time.duration_since(clock::wall()).unwrap_or_default())
    }

    /// Reports the app's status, now and with each further heartbeat. `details` is an object, or null.
    pub fn status(&self, status: Status, details: Value) -> Result<(), AppError> {
        self.link.heartbeat(|liveness| {
            liveness.report(status, details);
            Ok(())
        })
    }

    /// Calls any method. A call without a connection waits for one. It fails after 30 s. If the connection is lost,
    /// the call is sent again if it may be repeated, or else it fails.
    pub fn request(&self, method: &str, params: Value) -> Result<Value, AppError> {
        self.link.request(method, params)
    }
}
