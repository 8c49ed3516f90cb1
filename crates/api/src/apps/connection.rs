//! One connection to the app socket: from an app, from an operator's tool, or from another process.
//!
//! Requests are answered in order. A misbehaving peer affects only its own connection: its input is limited in size
//! and rate, unread answers stay here, and it gets an error before it is disconnected.

use super::conn_limits::{AppConnLimits, ConnOwner, ConnPermit};
use super::gateway::{Topic, operate};
use super::message::{write_event, write_response};
use super::methods;
use super::rate::{RATE, Rate};
use crate::conn_limits::{self, LARGE, SocketKind};
use crate::server::Shared;
use ostler_engine::{AppNotice, AppReport};
use ostler_model::app_wire::{
    Fault, FaultCode, LINE_MOST, Line, Lines, Request, UNENDED_MOST, read_request,
};
use ostler_model::{Actor, What};
use serde_json::{Value, json};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{broadcast, mpsc};

/// The size of one read; then other connections are served.
const CHUNK: usize = 8 << 10;
/// The delay before a failed authentication is answered.
const NO_PROOF: Duration = Duration::from_millis(100);
/// Input of this size counts as one request, whatever it contains.
const BYTES_OF_REQUEST: usize = 1 << 10;
/// The time limit for a last message to a peer that may not read any more.
const LAST_WORD: Duration = Duration::from_secs(1);

pub(crate) async fn serve(stream: UnixStream, app_limits: Rc<AppConnLimits>, shared: Rc<Shared>) {
    let Ok(peer) = ostler_os::peer_of(&stream) else { return };
    let (reading, writing) = stream.into_split();
    let mut connection = Connection {
        pid: peer.pid,
        by: Actor::Caller { uid: peer.uid, pid: peer.pid },
        writing,
        out: Vec::new(),
        number: 0,
        app: None,
        description: None,
        topics: None,
        of_app: None,
        is_misbehaving: false,
        permit: shared.callers.add(peer.pid, SocketKind::App),
        shared,
    };
    let user = ostler_os::user_id();
    if peer.uid != user && peer.uid != 0 {
        let description =
            format!("this supervisor belongs to uid {user}; you are uid {}", peer.uid);
        return connection.refuse(FaultCode::Forbidden, description).await;
    }
    let owner = connection.owner(&app_limits).await;
    let is_without_room = match owner {
        ConnOwner::Run(_) => ostler_os::is_last_reserve(connection.writing.as_ref()),
        ConnOwner::Caller(_) => ostler_os::is_kept_from_callers(connection.writing.as_ref()),
    };
    if is_without_room {
        let description = "no file descriptor is free for another connection; try again later";
        return connection.refuse(FaultCode::Conflict, description.to_owned()).await;
    }
    let permit: ConnPermit = match app_limits.enter(owner) {
        Ok(permit) => permit,
        Err(description) => {
            connection.note_misbehaviour(&description);
            return connection.refuse(FaultCode::Conflict, description).await;
        }
    };
    connection.talk(reading).await;
    if let (Some(app), Some((outbox, _))) = (&connection.app, &connection.description) {
        app.unlisten(outbox);
    }
    drop(permit);
}

struct Connection {
    pid: i32,
    by: Actor,
    writing: OwnedWriteHalf,
    out: Vec<u8>,
    number: u64,
    /// The app that this connection has proved to be.
    app: Option<Arc<AppReport>>,
    description: Option<(mpsc::UnboundedSender<AppNotice>, mpsc::UnboundedReceiver<AppNotice>)>,
    topics: Option<(broadcast::Receiver<Topic>, Option<String>)>,
    /// The app whose run contains the peer process, according to the kernel. An app may not act as an operator.
    of_app: Option<Arc<AppReport>>,
    is_misbehaving: bool,
    permit: conn_limits::ConnPermit,
    shared: Rc<Shared>,
}

/// The event that ended a wait.
enum Event {
    Read(usize),
    AppNotice(AppNotice),
    Topic(Topic),
    HungUp,
}

/// Whether to continue reading.
#[derive(PartialEq, Eq)]
enum Then {
    Go,
    Close,
}

/// Failed authentication is answered with a delay, to slow down guessing.
fn is_no_proof(fault: &Fault) -> bool {
    matches!(fault.code, FaultCode::Unauthorized | FaultCode::Forbidden | FaultCode::NotFound)
}

impl Connection {
    async fn owner(&mut self, app_limits: &AppConnLimits) -> ConnOwner {
        let now_ms = ostler_os::mono_ms();
        let run = match app_limits.seen(self.pid, now_ms) {
            Some(run) => run,
            None => {
                let run = self.shared.engine.run_of_pid(self.pid).await;
                app_limits.see(self.pid, run, now_ms);
                run
            }
        };
        match run {
            Some(run) => {
                self.of_app = self.shared.engine.apps().get(run).filter(|app| app.app.is_some());
                ConnOwner::Run(run)
            }
            None => ConnOwner::Caller(self.pid),
        }
    }

    async fn talk(&mut self, mut reading: OwnedReadHalf) {
        let mut lines = Lines::default();
        let mut rate = Rate::new(ostler_os::mono_ms());
        let mut chunk = vec![0; 1 << 10];
        loop {
            let then = match self.next(&mut reading, &mut chunk).await {
                Event::HungUp => return,
                Event::AppNotice(description) => self.pass_on(description),
                Event::Topic(Topic::App(status)) => {
                    self.event("app", &json!(status));
                    Then::Go
                }
                Event::Read(length) => {
                    lines.add(&chunk[..length]);
                    // An idle connection needs a small buffer; a busy one gets a larger one.
                    if length == chunk.len() && length < CHUNK {
                        chunk.resize(CHUNK, 0);
                    }
                    let (then, requests) = self.take(&mut lines).await;
                    // Much input in few requests also counts for the rate.
                    let bulk = length.div_ceil(BYTES_OF_REQUEST) as u64;
                    let wait_ms = rate.count(requests.max(bulk), ostler_os::mono_ms());
                    if wait_ms > 0 {
                        let description = if bulk > requests {
                            format!(
                                "sent more than {} bytes per second",
                                RATE as usize * BYTES_OF_REQUEST
                            )
                        } else {
                            format!("sent more than {RATE} requests per second")
                        };
                        self.note_misbehaviour(&description);
                        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                    }
                    then
                }
            };
            let is_sent = self.send().await;
            if then == Then::Close || !is_sent {
                return;
            }
        }
    }

    async fn next(&mut self, reading: &mut OwnedReadHalf, chunk: &mut [u8]) -> Event {
        loop {
            let description = async {
                match &mut self.description {
                    Some((_, inbox)) => inbox.recv().await,
                    None => std::future::pending().await,
                }
            };
            let topic = async {
                match &mut self.topics {
                    Some((topics, _)) => topics.recv().await,
                    None => std::future::pending().await,
                }
            };
            let topic = tokio::select! {
                read = reading.read(chunk) => return match read {
                    Ok(0) | Err(_) => Event::HungUp,
                    Ok(length) => Event::Read(length),
                },
                Some(description) = description => return Event::AppNotice(description),
                topic = topic => topic,
                () = self.permit.slot.asked_to_leave() => return Event::HungUp,
            };
            let wanted = self.topics.as_ref().and_then(|(_, wanted)| wanted.as_deref());
            match topic {
                Ok(Topic::App(status)) if wanted.is_none_or(|id| status.package_id == id) => {
                    return Event::Topic(Topic::App(status));
                }
                // The receiver was too slow for this event; the next one has the current state.
                Ok(Topic::App(_)) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return Event::HungUp,
            }
        }
    }

    /// Handles all complete lines, and returns their number for the rate.
    async fn take(&mut self, lines: &mut Lines) -> (Then, u64) {
        let mut requests = 0;
        loop {
            let mut large = None;
            let outcome = match lines.next() {
                None => return (Then::Go, requests),
                Some(Line::Whole(line)) => match read_request(line) {
                    Ok(request) => {
                        // An operator's answer may be large: a process gets one at a time, until it has read it.
                        if request.method.starts_with("apps.") {
                            let process = Rc::clone(&self.permit.slot.process);
                            large = Arc::clone(&process.large).acquire_owned().await.ok();
                        }
                        let outcome = self.answer(&request).await;
                        if outcome.as_ref().is_err_and(is_no_proof) {
                            tokio::time::sleep(NO_PROOF).await;
                        }
                        let id = request.id.into_owned();
                        (id, outcome, Then::Go)
                    }
                    Err((id, fault)) => {
                        self.note_misbehaviour("sent an invalid request");
                        (id, Err(fault), Then::Go)
                    }
                },
                Some(Line::TooLong) => {
                    self.note_misbehaviour("sent a line that is too long");
                    let description = format!("a line may have at most {LINE_MOST} bytes");
                    let fault = Fault::new(FaultCode::InvalidRequest, description);
                    (String::new(), Err(fault), Then::Go)
                }
                Some(Line::Endless) => {
                    self.note_misbehaviour("sent a line without an end, and was disconnected");
                    let description = format!("{UNENDED_MOST} bytes without the end of the line");
                    let fault = Fault::new(FaultCode::InvalidRequest, description);
                    (String::new(), Err(fault), Then::Close)
                }
            };
            requests += 1;
            let (id, outcome, then) = outcome;
            self.number += 1;
            write_response(&mut self.out, self.number, &id, &outcome);
            drop(outcome);
            // Do not queue more than the peer reads. An app's own answers are small, and its rate limit includes all
            // that it sent at once.
            let is_app = self.app.is_some() || self.of_app.is_some();
            if self.out.len() > LARGE && (large.is_some() || !is_app) {
                let slot = Rc::clone(&self.permit.slot);
                let _queued = self.shared.callers.queue(&slot, self.out.len()).await;
                if !self.send().await {
                    return (Then::Close, requests);
                }
            }
            drop(large);
            if then == Then::Close {
                return (then, requests);
            }
        }
    }

    async fn answer(&mut self, request: &Request<'_>) -> Result<Value, Fault> {
        let method = &*request.method;
        if method.starts_with("apps.") {
            return self.operate(method, request.params()?).await;
        }
        if method == "app.register" {
            let (app, result) =
                methods::register(request.params()?, self.pid, &self.shared).await?;
            self.become_app(app);
            return Ok(result);
        }
        if !method.starts_with("app.") && method != "config.get" {
            let description = format!("method {method:?} does not exist");
            return Err(Fault::new(FaultCode::MethodNotFound, description));
        }
        let app = match (&request.token, &self.app) {
            (None, None) => {
                let description = "call app.register first";
                return Err(Fault::new(FaultCode::AppNotRegistered, description));
            }
            (None, Some(_)) => {
                let description = "every request after app.register must have its token";
                return Err(Fault::new(FaultCode::Unauthorized, description));
            }
            (Some(token), known) => {
                let app = self.shared.engine.apps().by_token(token);
                // A connection belongs to one app, even if the peer knows other tokens.
                let is_it =
                    |app: &Arc<AppReport>| known.as_ref().is_none_or(|own| own.run == app.run);
                match app.filter(is_it) {
                    Some(app) => app,
                    None => {
                        self.note_misbehaviour("used the token of another app");
                        let description = "the token belongs to no running app";
                        return Err(Fault::new(FaultCode::Unauthorized, description));
                    }
                }
            }
        };
        if self.app.is_none() {
            app.register();
            self.become_app(Arc::clone(&app));
        }
        methods::call(method, request.params()?, &app, &self.shared).await
    }

    async fn operate(&mut self, method: &str, params: Value) -> Result<Value, Fault> {
        if self.app.is_some() || self.of_app.is_some() {
            let description = "an app may not use operator methods";
            return Err(Fault::new(FaultCode::Forbidden, description));
        }
        if method == "apps.subscribe" {
            let wanted = params.get("packageId").and_then(Value::as_str).map(str::to_owned);
            self.topics = Some((self.shared.gateway.subscribe(), wanted));
            return Ok(json!({ "ok": true }));
        }
        operate(method, params, self.by.clone(), &self.shared).await
    }

    /// Sends the app's events to this connection from now on.
    fn become_app(&mut self, app: Arc<AppReport>) {
        if self.app.as_ref().is_some_and(|own| own.run == app.run) {
            return;
        }
        if let (Some(before), Some((outbox, _))) = (&self.app, &self.description) {
            before.unlisten(outbox);
        }
        let (outbox, inbox) = mpsc::unbounded_channel();
        app.listen(outbox.clone());
        self.description = Some((outbox, inbox));
        self.app = Some(app);
    }

    fn pass_on(&mut self, description: AppNotice) -> Then {
        match description {
            AppNotice::Shutdown { timeout_ms, reason } => {
                self.event("shutdown", &json!({ "timeout": timeout_ms, "reason": reason }));
                Then::Go
            }
            AppNotice::Config { config, version } => {
                self.event("config", &json!({ "config": config, "version": version }));
                Then::Go
            }
            AppNotice::Superseded => {
                self.event("superseded", &json!({}));
                Then::Close
            }
        }
    }

    fn event(&mut self, event: &str, payload: &Value) {
        self.number += 1;
        write_event(&mut self.out, self.number, event, payload);
    }

    /// Returns false if the peer has disconnected.
    async fn send(&mut self) -> bool {
        if self.out.is_empty() {
            return true;
        }
        let is_sent = self.permit.slot.write(&mut self.writing, &self.out).await.is_ok();
        if self.out.capacity() > CHUNK {
            self.out = Vec::new();
        }
        self.out.clear();
        is_sent
    }

    async fn refuse(&mut self, code: FaultCode, description: String) {
        self.number += 1;
        write_response(&mut self.out, self.number, "", &Err(Fault::new(code, description)));
        let _ = tokio::time::timeout(LAST_WORD, self.send()).await;
    }

    /// Recorded once per connection, so that a flood of requests does not flood the journal.
    fn note_misbehaviour(&mut self, description: &str) {
        let app = self.app.as_ref().or(self.of_app.as_ref());
        if let Some(app) = app.filter(|_| !self.is_misbehaving) {
            let evidence = json!({ "pid": self.pid });
            self.shared.engine.note_app(app, What::AppMisbehaved, description.to_owned(), evidence);
            self.is_misbehaving = true;
        }
    }
}
