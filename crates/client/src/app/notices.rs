//! Messages from the app to Ostler.

use super::answers::{Configuration, Registration};
use super::clock;
use super::error::{AppError, Code};
use super::events::StopTiming;
use super::link::{Link, Phase, Why, begin};
use super::manifest::Manifest;
use super::next_beat::Liveness;
use super::stop::{Stop, StopRequester};
use serde_json::{Value, json};
use std::time::Duration;

impl Link {
    pub(super) fn register(&self, manifest: Manifest) -> Result<(), AppError> {
        let params = self.registration(&manifest);
        self.registered(&self.request("app.register", params)?)?;
        self.lock().manifest = Some(manifest);
        Ok(())
    }

    pub(super) fn registration(&self, manifest: &Manifest) -> Value {
        let mut params = json!({ "manifest": manifest.value() });
        if let Some(secret) = &self.environment.secret {
            params["secret"] = secret.as_str().into();
        }
        params
    }

    pub(super) fn registered(&self, result: &Value) -> Result<(), AppError> {
        let registration = Registration::of(result)?;
        let mut state = self.lock();
        state.token = Some(registration.token);
        state.interval = registration.interval.unwrap_or(self.environment.heartbeat);
        Ok(())
    }

    pub(super) fn ready(&self) -> Result<(), AppError> {
        self.request("app.ready", json!({}))?;
        self.lock().is_ready = true;
        Ok(())
    }

    pub(super) fn configuration(&self) -> Result<Configuration, AppError> {
        configuration_of(self.request("config.get", json!({})))
    }

    /// The interval between heartbeats.
    pub(super) fn interval(&self) -> Duration {
        self.lock().interval
    }

    /// Sends a heartbeat with this change. It repeats all other values.
    pub(super) fn heartbeat(
        &self,
        change: impl FnOnce(&mut Liveness) -> Result<(), AppError>,
    ) -> Result<(), AppError> {
        change(&mut self.lock().liveness)?;
        self.beat(&mut |method, params| self.request(method, params))
    }

    /// Handles a stop request; the first one wins. If Ostler did not make it, Ostler is notified, without waiting.
    pub(super) fn ask(&self, stop: Stop) {
        let notice = json!({ "reason": stop.reason(), "timeout": clock::as_ms(stop.timeout()) });
        let wish = stop.wish();
        // The lock is held so that a woken thread finds the notice.
        let mut state = self.lock();
        match (self.news.ask(stop), wish) {
            (StopTiming::InTime, StopRequester::Own) => {
                state.notice = begin(&mut state, "app.shutdown", notice).ok();
            }
            (StopTiming::Early, _) => {
                // The result of the start no longer matters.
                drop(state);
                self.end(Why::Closed);
            }
            (StopTiming::InTime | StopTiming::Before, _) => {}
        }
    }

    /// Waits until Ostler knows of a stop that it did not request. Otherwise the process would end without a known
    /// reason.
    pub(super) fn be_known(&self, time: Duration) {
        let mut state = self.lock();
        let Some(notice) = state.notice.take() else { return };
        if state.phase != Phase::Open || self.answer(state, notice, "app.shutdown", time).is_err() {
            return;
        }
        // A notice is answered before it is stored; this second call is answered after that.
        let mut state = self.lock();
        if let Ok(after) = begin(&mut state, "config.get", json!({})) {
            let _ = self.answer(state, after, "config.get", time);
        }
    }
}

/// An app without a configuration has an empty one.
pub(super) fn configuration_of(answer: Result<Value, AppError>) -> Result<Configuration, AppError> {
    match answer {
        Ok(result) => Ok(Configuration::of(&result)),
        Err(AppError::Refused { code: Code::NotFound | Code::MethodNotFound, .. }) => {
            Ok(Configuration::none())
        }
        Err(error) => Err(error),
    }
}
