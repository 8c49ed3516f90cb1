//! Events for the app's main thread: a stop request, or a changed configuration.
//!
//!   not begun ── setup ──▶ begun ── teardown is done ──▶ over
//!       └── stop requested: nothing to clean up ──▶ over

use super::answers::Configuration;
use super::clock;
use super::stop::Stop;
use serde_json::Value;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The result of a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A stop was requested: `work` must return now.
    Stop,
    /// The configuration has changed; [`Context::config`](super::Context::config) already returns the new one.
    Config(Configuration),
    /// The timeout has passed.
    TimeUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    NotBegun,
    Begun,
    Over,
}

#[derive(Debug)]
struct AppState {
    phase: Phase,
    stop: Option<Stop>,
    configuration: Configuration,
    /// A newer configuration replaces one that was not reported yet.
    is_unreported: bool,
}

#[derive(Debug)]
pub(super) struct AppEvents {
    known: Mutex<AppState>,
    changed: Condvar,
}

/// The state in which a stop request arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopTiming {
    Before,
    /// `setup` has not begun.
    Early,
    InTime,
}

impl AppEvents {
    pub(super) fn new() -> Self {
        let known = AppState {
            phase: Phase::NotBegun,
            stop: None,
            configuration: Configuration::none(),
            is_unreported: false,
        };
        Self { known: Mutex::new(known), changed: Condvar::new() }
    }

    pub(super) fn ask(&self, stop: Stop) -> StopTiming {
        let mut known = self.lock();
        if known.stop.is_some() {
            return StopTiming::Before;
        }
        known.stop = Some(stop);
        self.changed.notify_all();
        if known.phase == Phase::NotBegun { StopTiming::Early } else { StopTiming::InTime }
    }

    pub(super) fn stop(&self) -> Option<Stop> {
        self.lock().stop.clone()
    }

    pub(super) fn is_asked(&self) -> bool {
        self.lock().stop.is_some()
    }

    /// Starts `setup`, unless a stop was requested.
    pub(super) fn begin_setup(&self) -> bool {
        let mut known = self.lock();
        if known.stop.is_none() {
            known.phase = Phase::Begun;
        }
        known.stop.is_none()
    }

    pub(super) fn config(&self) -> Value {
        self.lock().configuration.config.clone()
    }

    /// Sets the configuration that `setup` reads.
    pub(super) fn begin_with(&self, configuration: Configuration) {
        self.lock().configuration = configuration;
    }

    pub(super) fn configure(&self, configuration: Configuration) {
        let mut known = self.lock();
        if configuration.version == known.configuration.version {
            return;
        }
        known.configuration = configuration;
        known.is_unreported = true;
        self.changed.notify_all();
    }

    /// Waits for an event; without a timeout if `time` is `None`.
    pub(super) fn next(&self, time: Option<Duration>) -> Next {
        // A time that the clock cannot represent is no limit.
        let until = time.and_then(|time| clock::now().checked_add(time));
        let mut known = self.lock();
        loop {
            if known.stop.is_some() {
                return Next::Stop;
            }
            if std::mem::take(&mut known.is_unreported) {
                return Next::Config(known.configuration.clone());
            }
            known = match self.wait(known, until) {
                Ok(known) => known,
                Err(_) => return Next::TimeUp,
            };
        }
    }

    /// Marks the end: nothing more will happen.
    pub(super) fn end(&self) {
        self.lock().phase = Phase::Over;
        self.changed.notify_all();
    }

    /// Waits for a stop request and then for the end. Returns the request if its time passes first.
    pub(super) fn overdue(&self) -> Option<Stop> {
        let mut known = self.lock();
        while known.phase != Phase::Over {
            let until = known.stop.as_ref().map(Stop::give_up_at);
            known = match self.wait(known, until) {
                Ok(known) => known,
                Err(known) => return known.stop.clone(),
            };
        }
        None
    }

    fn wait<'a>(
        &self,
        known: MutexGuard<'a, AppState>,
        until: Option<Instant>,
    ) -> Result<MutexGuard<'a, AppState>, MutexGuard<'a, AppState>> {
        let Some(until) = until else {
            return Ok(self.changed.wait(known).unwrap_or_else(PoisonError::into_inner));
        };
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() {
            return Err(known);
        }
        let woken = self.changed.wait_timeout(known, left);
        Ok(woken.unwrap_or_else(PoisonError::into_inner).0)
    }

    fn lock(&self) -> MutexGuard<'_, AppState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::stop::StopRequester;
    use super::*;
    use serde_json::json;

    fn version(number: u64) -> Configuration {
        Configuration::of(&json!({ "config": { "n": number }, "version": number }))
    }

    fn stop(reason: &str, ms: u64) -> Stop {
        Stop::new(reason, Duration::from_millis(ms), StopRequester::Own)
    }

    #[test]
    fn only_a_new_configuration_is_reported_and_only_once() {
        let news = AppEvents::new();
        news.begin_with(version(1));
        news.configure(version(1));
        assert_eq!(news.next(Some(Duration::ZERO)), Next::TimeUp);
        news.configure(version(2));
        news.configure(version(3));
        assert_eq!(news.next(None), Next::Config(version(3)));
        assert_eq!(news.next(Some(Duration::from_millis(1))), Next::TimeUp);
        assert_eq!(news.config(), json!({ "n": 3 }));
    }

    #[test]
    fn the_first_stop_request_wins_and_is_handled_first() {
        let news = AppEvents::new();
        assert!(news.begin_setup());
        news.configure(version(2));
        assert_eq!(news.ask(stop("one", 60_000)), StopTiming::InTime);
        assert_eq!(news.ask(stop("two", 60_000)), StopTiming::Before);
        assert_eq!(news.next(Some(Duration::MAX)), Next::Stop);
        assert_eq!(news.stop().expect("asked").reason(), "one");
        news.end();
        assert!(news.overdue().is_none());
    }

    #[test]
    fn an_app_stopped_early_does_not_begin() {
        let news = AppEvents::new();
        assert_eq!(news.ask(stop("one", 1)), StopTiming::Early);
        assert!(!news.begin_setup());
        assert_eq!(news.overdue().expect("a stop request").reason(), "one");
    }
}
