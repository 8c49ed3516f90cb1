//! The thread of the control socket: it accepts and serves all connections.

use crate::apps::{self, AppConnLimits, Gateway, GatewayCall, Topic};
use crate::conn_limits::Callers;
use crate::connection;
use crate::handlers;
use crate::metrics::{app_exposition, exposition};
use crate::usage::UsageSample;
use crate::viewers::Viewers;
use ostler_engine::{Handle, Home, Listening};
use ostler_model::app_wire::{Fault, FaultCode};
use ostler_registry::{Reader, RegistryError};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};
use tokio::task::JoinSet;

#[derive(Debug, Error)]
pub enum ServeError {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error("cannot start the thread of the control socket")]
    Thread(#[source] io::Error),
}

/// The shared state of all connections.
pub(crate) struct Shared {
    pub(crate) engine: Handle,
    pub(crate) reader: Mutex<Box<dyn Reader>>,
    pub(crate) home: Home,
    pub(crate) callers: Rc<Callers>,
    pub(crate) viewers: Viewers,
    pub(crate) looked: RefCell<UsageSample>,
    pub(crate) started_at_ms: u64,
    pub(crate) version: &'static str,
    pub(crate) gateway: Gateway,
    on_their_way: Cell<usize>,
    all_given: Notify,
}

/// A pending answer. The server waits for it before it closes.
pub(crate) struct PendingReply<'a>(&'a Shared);

impl Drop for PendingReply<'_> {
    fn drop(&mut self) {
        let left = self.0.on_their_way.get() - 1;
        self.0.on_their_way.set(left);
        if left == 0 {
            self.0.all_given.notify_waiters();
        }
    }
}

impl Shared {
    pub(crate) fn answering(&self) -> PendingReply<'_> {
        self.on_their_way.set(self.on_their_way.get() + 1);
        PendingReply(self)
    }

    async fn until_all_given(&self) {
        while self.on_their_way.get() > 0 {
            self.all_given.notified().await;
        }
    }

    /// Reads from the registry. Queries are short, and the lock is never held over an await.
    pub(crate) fn read<T>(
        &self,
        question: impl FnOnce(&dyn Reader) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        question(&**self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
            .map_err(|error| error.at(self.home.registry().place()))
    }
}

/// The running server.
pub struct Server {
    gateway: Gateway,
    close: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<()>>,
}

/// The time for pending answers when the server closes.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
const PARTING_WORDS: Duration = Duration::from_millis(50);

impl Server {
    pub fn open(
        engine: Handle,
        listening: Listening,
        app_listening: Option<Listening>,
        home: Home,
        version: &'static str,
    ) -> Result<Self, ServeError> {
        let reader = Mutex::new(home.registry().reader()?);
        let (close, closed) = oneshot::channel();
        let (calls, inbox) = mpsc::unbounded_channel();
        let gateway = Gateway { calls, topics: broadcast::channel(TOPICS_MOST).0 };
        let own = gateway.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ServeError::Thread)?;
        let thread = std::thread::Builder::new()
            .name("control-socket".to_owned())
            .stack_size(512 << 10)
            .spawn(move || {
                let shared = Rc::new(Shared {
                    engine,
                    reader,
                    home,
                    callers: Rc::default(),
                    viewers: Viewers::default(),
                    looked: RefCell::default(),
                    started_at_ms: ostler_os::wall_ms(),
                    version,
                    gateway: own,
                    on_their_way: Cell::new(0),
                    all_given: Notify::new(),
                });
                let local = tokio::task::LocalSet::new();
                local.spawn_local(crate::history::keep(Rc::clone(&shared)));
                local.spawn_local(crate::mail_files::keep(Rc::clone(&shared)));
                local.spawn_local(answer_calls(inbox, Rc::clone(&shared)));
                local.spawn_local(watch_apps(Rc::clone(&shared)));
                if let Some(app_listening) = app_listening {
                    local.spawn_local(accept_apps(app_listening, Rc::clone(&shared)));
                }
                local.block_on(&runtime, serve(listening, shared, closed));
            })
            .map_err(ServeError::Thread)?;
        Ok(Self { gateway, close: Some(close), thread: Some(thread) })
    }

    /// The entry point for servers on other threads.
    pub fn gateway(&self) -> Gateway {
        self.gateway.clone()
    }

    /// Sends pending answers, then closes.
    pub fn close(self) {
        self.close_within(LAST_ANSWERS);
    }

    /// Closes quickly, because the successor is already waiting. Callers without an answer will ask it.
    pub fn leave(self) {
        self.close_within(PARTING_WORDS);
    }

    fn close_within(mut self, most: Duration) {
        if let Some(close) = self.close.take() {
            let _ = close.send(most);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    mut listening: Listening,
    shared: Rc<Shared>,
    mut closed: oneshot::Receiver<Duration>,
) {
    let Ok(mut listener) = tokio::net::UnixListener::from_std(listening.first) else { return };
    let mut connections = JoinSet::new();
    let mut liveness = shared.engine.liveness();
    let most = loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if let Some(admitted) = connection::admit(stream, &shared) {
                        connections.spawn_local(connection::serve(admitted, Rc::clone(&shared)));
                    }
                }
                // No descriptor is free; wait until a connection closes. Only this connection is delayed.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(next) = listening.next.recv() => {
                let waiting = take_next(&mut listener, next).await;
                for admitted in
                    waiting.into_iter().filter_map(|stream| connection::admit(stream, &shared))
                {
                    connections.spawn_local(connection::serve(admitted, Rc::clone(&shared)));
                }
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            Ok(()) = liveness.changed() => {
                let seen = *liveness.borrow_and_update();
                shared.engine.thread_heartbeat_seen(seen);
            }
            most = &mut closed => break most.unwrap_or(LAST_ANSWERS),
        }
    };
    drop(listener);
    let _ = tokio::time::timeout(most, shared.until_all_given()).await;
}

/// Switches to the new listener `next`. Returns the connections that were made before the old socket lost its file.
async fn take_next(
    listener: &mut tokio::net::UnixListener,
    next: std::os::unix::net::UnixListener,
) -> Vec<tokio::net::UnixStream> {
    let Ok(next) = tokio::net::UnixListener::from_std(next) else { return Vec::new() };
    let old = std::mem::replace(listener, next);
    let mut waiting = Vec::new();
    while waiting.len() < WAITING_MOST
        && let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::ZERO, old.accept()).await
    {
        waiting.push(stream);
    }
    waiting
}

/// The kernel's maximum backlog.
const WAITING_MOST: usize = 4_096;
/// The number of changes that are buffered for a slow subscriber.
const TOPICS_MOST: usize = 256;

async fn accept_apps(mut listening: Listening, shared: Rc<Shared>) {
    let Ok(mut listener) = tokio::net::UnixListener::from_std(listening.first) else { return };
    let app_limits = Rc::new(AppConnLimits::default());
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (app_limits, shared) = (Rc::clone(&app_limits), Rc::clone(&shared));
                    connections.spawn_local(apps::serve(stream, app_limits, shared));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(next) = listening.next.recv() => {
                for stream in take_next(&mut listener, next).await {
                    let (app_limits, shared) = (Rc::clone(&app_limits), Rc::clone(&shared));
                    connections.spawn_local(apps::serve(stream, app_limits, shared));
                }
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

/// Serves calls from other threads.
async fn answer_calls(mut inbox: mpsc::UnboundedReceiver<GatewayCall>, shared: Rc<Shared>) {
    while let Some(call) = inbox.recv().await {
        let shared = Rc::clone(&shared);
        tokio::task::spawn_local(async move {
            match call {
                GatewayCall::Operate { method, params, by, reply } => {
                    apps::carry_out(&method, &params, by, reply, &shared).await;
                }
                GatewayCall::Follow { params, items } => {
                    apps::follow_for(&params, items, &shared).await;
                }
                GatewayCall::Metrics { reply } => {
                    let _ = reply.send(whole_exposition(&shared).await);
                }
                GatewayCall::Ping { reply } => {
                    shared.engine.live().await;
                    let _ = reply.send(());
                }
            }
        });
    }
}

async fn whole_exposition(shared: &Shared) -> Result<String, Fault> {
    let samples = handlers::samples(shared).await;
    let samples = samples.map_err(|error| Fault::new(FaultCode::InternalError, error.message))?;
    let apps = handlers::unit_statuses(shared, ostler_model::Depth::Whole).await;
    Ok(exposition(&samples) + &app_exposition(&apps))
}

/// Sends every change of an app to the subscribers.
async fn watch_apps(shared: Rc<Shared>) {
    let mut journal = shared.engine.journal();
    let mut known: Vec<ostler_model::AppStatus> = Vec::new();
    while journal.changed().await.is_ok() {
        let topics = &shared.gateway.topics;
        if topics.receiver_count() == 0 {
            known.clear();
            continue;
        }
        let now = handlers::statuses(&shared, ostler_model::Depth::None).await;
        for status in &now {
            let is_same = |before: &ostler_model::AppStatus| {
                before.state == status.state
                    && before.pid == status.pid
                    && before.last_error == status.last_error
            };
            let before = known.iter().find(|before| before.package_id == status.package_id);
            if !before.is_some_and(is_same) {
                let _ = topics.send(Topic::App(Box::new(status.clone())));
            }
        }
        known = now;
    }
}
