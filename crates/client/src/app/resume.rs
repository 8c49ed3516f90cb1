//! The thread that reads from the connection and reconnects.
//!
//! The first message on a new connection is a heartbeat with the token. It proves the token and makes this the
//! connection that receives events. If Ostler no longer knows the token, the app registers again, and reports again
//! that it is ready if it was.

use super::answers::Configuration;
use super::clock;
use super::connection::{Connection, Received};
use super::error::AppError;
use super::link::{Link, Phase, Why};
use super::log;
use super::notices::configuration_of;
use super::stop::{Stop, StopRequester};
use super::wire::{Message, encode};
use serde_json::{Value, json};
use std::time::Duration;

impl Link {
    /// Reads, and reconnects, until the link is closed.
    pub(super) fn maintain(&self, mut connection: Connection) {
        loop {
            while let Ok(received) = connection.next(None) {
                self.receive(received);
            }
            if !self.is_lost() {
                return;
            }
            log::warn("the connection to Ostler was lost; reconnecting");
            match self.reconnect() {
                Ok(next) => connection = next,
                Err(_) => return,
            }
            log::warn("connected to Ostler again");
        }
    }

    /// Whether another connection is needed.
    fn is_lost(&self) -> bool {
        let mut state = self.lock();
        state.writer = None;
        state.calls.lost();
        let is_lost = state.phase == Phase::Open;
        if is_lost {
            state.phase = Phase::Reconnecting;
            let lasted = clock::now().saturating_duration_since(state.open_since);
            state.backoff.settle(lasted);
        }
        self.print_all();
        is_lost
    }

    /// Retries without a limit. An error means that the link is closed.
    fn reconnect(&self) -> Result<Connection, AppError> {
        let mut description = String::new();
        loop {
            let delay = self.lock().backoff.next();
            self.pause(delay)?;
            match self.resume() {
                Ok(connection) => {
                    self.open()?;
                    return Ok(connection);
                }
                Err(error) => {
                    self.lock().writer = None;
                    // Log the same reason only once.
                    let why = error.description();
                    if why != description {
                        log::warn(&format!("could not reconnect yet: {why}"));
                    }
                    description = why;
                }
            }
        }
    }

    fn resume(&self) -> Result<Connection, AppError> {
        let (mut connection, writer) = Connection::open(&self.environment.socket)?;
        self.hold(writer)?;
        if self.lock().manifest.is_none() {
            return Ok(connection);
        }
        let mut call = |method: &str, params| self.exchange(&mut connection, method, params);
        self.beat(&mut call)?;
        // A change during the disconnection was not reported, so ask for the configuration.
        match configuration_of(call("config.get", json!({}))) {
            Ok(configuration) => self.news.configure(configuration),
            Err(error @ AppError::Refused { .. }) => {
                log::warn(&format!("could not get the configuration: {}", error.description()));
            }
            Err(error) => return Err(error),
        }
        Ok(connection)
    }

    /// Sends a heartbeat, and registers again if Ostler does not know the token.
    pub(super) fn beat(
        &self,
        call: &mut dyn FnMut(&str, Value) -> Result<Value, AppError>,
    ) -> Result<(), AppError> {
        let liveness = self.lock().liveness.params();
        let Err(error) = call("app.heartbeat", liveness) else { return Ok(()) };
        let manifest = self.lock().manifest.clone().filter(|_| error.is_forgotten());
        let Some(manifest) = manifest else { return Err(error) };
        self.registered(&call("app.register", self.registration(&manifest))?)?;
        if self.lock().is_ready {
            call("app.ready", json!({}))?;
        }
        let liveness = self.lock().liveness.params();
        call("app.heartbeat", liveness).map(drop)
    }

    /// Makes a call on a connection that is not open for other calls yet.
    fn exchange(
        &self,
        connection: &mut Connection,
        method: &str,
        params: Value,
    ) -> Result<Value, AppError> {
        let after = self.request_timeout;
        let until = clock::now() + after;
        let lost = || AppError::ConnectionLost { method: method.to_owned() };
        let id = {
            let mut state = self.lock();
            let id = state.calls.next_id();
            let line = encode(id, method, &params, state.token.as_deref())?;
            let writer = state.writer.as_mut().ok_or_else(lost)?;
            writer.send(&line).map_err(|_| lost())?;
            id.to_string()
        };
        loop {
            match connection.next(Some(until)) {
                Ok(Received::Message(Message::Answer { request, result })) if request == id => {
                    return Ok(result);
                }
                Ok(Received::Message(Message::Refusal { request, refusal })) if request == id => {
                    return Err(refusal.to(method));
                }
                Ok(received) => self.receive(received),
                Err(_) if clock::now() >= until => {
                    return Err(AppError::Timeout { method: method.to_owned(), after });
                }
                Err(_) => return Err(lost()),
            }
        }
    }

    fn receive(&self, received: Received) {
        match received {
            Received::Message(Message::Answer { request, result }) => {
                self.lock().calls.answer(&request, Ok(result));
                self.print_all();
            }
            Received::Message(Message::Refusal { request, refusal }) => {
                if request.is_empty() {
                    let (message, code) = (&refusal.message, &refusal.code);
                    log::warn(&format!("Ostler refused: {message} ({code})"));
                }
                self.lock().calls.answer(&request, Err(refusal));
                self.print_all();
            }
            Received::Message(Message::Event { name, payload }) => self.happened(&name, &payload),
            Received::Garbage(line) => {
                let begin = String::from_utf8_lossy(&line[..line.len().min(80)]);
                log::warn(&format!("Ostler sent no message, but {begin:?}"));
            }
        }
    }

    fn happened(&self, name: &str, payload: &Value) {
        match name {
            "shutdown" => {
                let timeout = payload["timeout"].as_u64().map(Duration::from_millis);
                let reason = payload["reason"].as_str().unwrap_or("shutdown");
                let timeout = timeout.unwrap_or(self.shutdown_timeout);
                self.ask(Stop::new(reason, timeout, StopRequester::Ostlers));
            }
            "config" => self.news.configure(Configuration::of(payload)),
            "superseded" => {
                log::warn("another connection of this app has taken over");
                self.end(Why::Superseded);
            }
            _ => {}
        }
    }
}
