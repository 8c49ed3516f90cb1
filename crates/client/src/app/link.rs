//! The app's end of the socket.
//!
//!   idle ── connect() ──▶ open ◀──────── resumed ────────┐
//!                          └── lost ──▶ reconnecting ────┘      any ── close(), superseded ──▶ closed
//!
//! Calls wait while it reconnects; see `resume`.

use super::backoff::Backoff;
use super::calls::Calls;
use super::clock;
use super::connection::{Connection, Writer};
use super::environment::Environment;
use super::error::AppError;
use super::events::AppEvents;
use super::manifest::Manifest;
use super::next_beat::Liveness;
use super::wire::encode;
use serde_json::Value;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Open,
    Reconnecting,
    Closed(Why),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Closed,
    Superseded,
}

impl Why {
    fn error(self) -> AppError {
        match self {
            Self::Closed => AppError::Closed,
            Self::Superseded => AppError::Superseded,
        }
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) writer: Option<Writer>,
    pub(super) open_since: Instant,
    pub(super) calls: Calls,
    pub(super) backoff: Backoff,
    pub(super) liveness: Liveness,
    /// Set by the first registration.
    pub(super) manifest: Option<Manifest>,
    pub(super) token: Option<String>,
    pub(super) is_ready: bool,
    /// The call that tells Ostler of a stop that Ostler did not request.
    pub(super) notice: Option<u64>,
    /// The interval between heartbeats.
    pub(super) interval: Duration,
}

impl State {
    pub(super) fn send(&mut self, id: u64) {
        let Some(call) = self.calls.get(id) else { return };
        match (encode(id, &call.method, &call.params, self.token.as_deref()), &mut self.writer) {
            (Err(error), _) => self.calls.settle(id, Err(error)),
            (Ok(line), Some(writer)) => {
                call.is_sent = true;
                // The reading thread notices the failure and decides about the call.
                let _ = writer.send(&line);
            }
            (Ok(_), None) => {}
        }
    }
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) environment: Environment,
    pub(super) news: AppEvents,
    pub(super) connect_timeout: Duration,
    pub(super) request_timeout: Duration,
    /// Used if Ostler gives no shutdown timeout.
    pub(super) shutdown_timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

impl Link {
    pub(super) fn new(environment: Environment, shutdown_timeout: Duration) -> Self {
        let state = State {
            phase: Phase::Idle,
            writer: None,
            open_since: clock::now(),
            calls: Calls::default(),
            backoff: Backoff::new(),
            liveness: Liveness::new(),
            manifest: None,
            token: None,
            is_ready: false,
            notice: None,
            interval: environment.heartbeat,
        };
        Self {
            environment,
            news: AppEvents::new(),
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(30),
            shutdown_timeout,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Retries until the timeout, because Ostler may be restarting. A thread must read from the connection: see
    /// `maintain`.
    pub(super) fn connect(&self) -> Result<Connection, AppError> {
        let end = clock::now() + self.connect_timeout;
        let mut backoff = Backoff::new();
        loop {
            match Connection::open(&self.environment.socket) {
                Ok((connection, writer)) => {
                    self.hold(writer)?;
                    self.open()?;
                    return Ok(connection);
                }
                Err(error) => {
                    let delay = backoff.next();
                    if clock::now() + delay >= end {
                        return Err(error);
                    }
                    self.pause(delay)?;
                }
            }
        }
    }

    /// Calls any method.
    pub(super) fn request(&self, method: &str, params: Value) -> Result<Value, AppError> {
        let mut state = self.lock();
        let id = begin(&mut state, method, params)?;
        self.answer(state, id, method, self.request_timeout)
    }

    pub(super) fn answer(
        &self,
        mut state: MutexGuard<'_, State>,
        id: u64,
        method: &str,
        after: Duration,
    ) -> Result<Value, AppError> {
        let until = clock::now() + after;
        loop {
            if let Some(answer) = state.calls.take(id) {
                return answer;
            }
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                state.calls.forget(id);
                return Err(AppError::Timeout { method: method.to_owned(), after });
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Makes this the current connection.
    pub(super) fn hold(&self, writer: Writer) -> Result<(), AppError> {
        let mut state = self.lock();
        if let Phase::Closed(why) = state.phase {
            return Err(why.error());
        }
        state.writer = Some(writer);
        Ok(())
    }

    /// Marks the connection as good, and sends the waiting calls.
    pub(super) fn open(&self) -> Result<(), AppError> {
        let mut state = self.lock();
        if let Phase::Closed(why) = state.phase {
            return Err(why.error());
        }
        state.phase = Phase::Open;
        state.open_since = clock::now();
        for id in state.calls.unsent() {
            state.send(id);
        }
        Ok(())
    }

    /// Closes the link: nothing is sent or read any more, and open calls fail.
    pub(super) fn close(&self) {
        self.end(Why::Closed);
    }

    pub(super) fn end(&self, why: Why) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Closed(_)) {
            return;
        }
        state.phase = Phase::Closed(why);
        state.calls.refuse(|| why.error());
        if let Some(writer) = state.writer.take() {
            writer.end();
        }
        self.changed.notify_all();
    }

    /// Waits, unless the link is closed first.
    pub(super) fn pause(&self, time: Duration) -> Result<(), AppError> {
        let until = clock::now() + time;
        let mut state = self.lock();
        loop {
            if let Phase::Closed(why) = state.phase {
                return Err(why.error());
            }
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                return Ok(());
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn print_all(&self) {
        self.changed.notify_all();
    }
}

/// Makes a call. It is sent now, or when a connection is open.
pub(super) fn begin(state: &mut State, method: &str, params: Value) -> Result<u64, AppError> {
    match state.phase {
        Phase::Closed(why) => return Err(why.error()),
        Phase::Idle => return Err(AppError::Closed),
        Phase::Open | Phase::Reconnecting => {}
    }
    let id = state.calls.make(method, params);
    if state.phase == Phase::Open {
        state.send(id);
    }
    Ok(id)
}
