//! What an app may ask of its SDK, from any of its threads.

use super::clock;
use super::error::AppError;
use super::events::Next;
use super::link::Link;
use super::next_beat::Status;
use super::stop::{Stop, StopRequester};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The app's way to Ostler. A clone of it is the same; threads take one with them.
#[derive(Clone, Debug)]
pub struct Context {
    link: Arc<Link>,
}

impl Context {
    pub(super) fn new(link: &Arc<Link>) -> Self {
        Self { link: Arc::clone(link) }
    }

    /// The app's configuration: an object, from before `setup` on. It is the newest, also while `on_config` was not
    /// called for it yet.
    pub fn config(&self) -> Value {
        self.link.news.config()
    }

    /// Waits until the app is asked to end, or its configuration has changed. Only one thread should: a change is told
    /// once.
    pub fn next(&self) -> Next {
        self.link.news.next(None)
    }

    /// The same for so long, instead of a sleep.
    pub fn wait(&self, time: Duration) -> Next {
        self.link.news.next(Some(time))
    }

    /// Whether the app was asked to end.
    pub fn is_stopping(&self) -> bool {
        self.link.news.is_asked()
    }

    /// Ends the app by its own will, in the same way as when it is asked to.
    pub fn stop(&self, reason: &str) {
        self.link.ask(Stop::new(reason, self.link.shutdown_timeout, StopRequester::Own));
    }

    /// Declares that the app may be silent for that long, even its heartbeats. Zero takes it back; more than
    /// [`LONGEST_BUSY`](super::LONGEST_BUSY) is refused.
    pub fn busy_for(&self, time: Duration) -> Result<(), AppError> {
        self.link.heartbeat(|liveness| liveness.busy_for(time))
    }

    /// The same up to a time of day. One that is over takes it back.
    pub fn busy_until(&self, time: SystemTime) -> Result<(), AppError> {
        self.busy_for(time.duration_since(clock::wall()).unwrap_or_default())
    }

    /// Tells how the app is, now and with each further heartbeat. Details are the fields of an object, or nothing.
    pub fn status(&self, status: Status, details: Value) -> Result<(), AppError> {
        self.link.heartbeat(|liveness| {
            liveness.report(status, details);
            Ok(())
        })
    }

    /// Calls any method. One that is made while there is no connection waits for it. It is given up after 30 s; one whose
    /// connection is lost fails if it might do harm to be done twice, and is sent again if not.
    pub fn request(&self, method: &str, params: Value) -> Result<Value, AppError> {
        self.link.request(method, params)
    }
}
