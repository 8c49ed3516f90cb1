//! What a live unit has reported. Heartbeats may arrive thousands of times a second and change only a number here;
//! their absence is judged elsewhere, with a timer.

use ostler_core::heartbeat::{BUSY_MOST_MS, Judgement, judge};
use ostler_model::{HeartbeatSpec, RunId};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc};

/// A message to an app.
#[derive(Clone, Debug, PartialEq)]
pub enum AppNotice {
    Shutdown {
        timeout_ms: u64,
        reason: String,
    },
    Config {
        config: Value,
        version: u64,
    },
    /// Another connection of the app receives the messages from now on.
    Superseded,
}

#[derive(Debug)]
pub struct AppReport {
    pub run: RunId,
    pub unit: String,
    /// The app's id; `None` for a program that uses sd_notify.
    pub app: Option<String>,
    pub heartbeat: Option<HeartbeatSpec>,
    /// Times on the monotonic clock; 0 means never.
    registered_mono_ms: AtomicU64,
    ready: AtomicBool,
    beat_mono_ms: AtomicU64,
    beat_wall_ms: AtomicU64,
    busy_until_mono_ms: AtomicU64,
    /// Until then the unit may take to become ready, whatever was declared.
    extended_mono_ms: AtomicU64,
    status: Mutex<Option<Box<Value>>>,
    /// The status text that the unit reported.
    said: Mutex<String>,
    said_wall_ms: AtomicU64,
    outbox: Mutex<Option<mpsc::UnboundedSender<AppNotice>>>,
    /// A shutdown message that could not be delivered because no connection was listening.
    ending: Mutex<Option<AppNotice>>,
    changed: Notify,
}

/// The largest heartbeat status that is kept.
const STATUS_MOST: usize = 4096;
const SAID_MOST: usize = 200;

impl AppReport {
    pub(crate) fn new(
        run: RunId,
        unit: String,
        app: Option<String>,
        heartbeat: Option<HeartbeatSpec>,
    ) -> Self {
        Self {
            run,
            unit,
            app,
            heartbeat,
            registered_mono_ms: AtomicU64::new(0),
            ready: AtomicBool::new(false),
            beat_mono_ms: AtomicU64::new(ostler_os::mono_ms()),
            beat_wall_ms: AtomicU64::new(0),
            busy_until_mono_ms: AtomicU64::new(0),
            extended_mono_ms: AtomicU64::new(0),
            status: Mutex::new(None),
            said: Mutex::default(),
            said_wall_ms: AtomicU64::new(0),
            outbox: Mutex::new(None),
            ending: Mutex::new(None),
            changed: Notify::new(),
        }
    }

    /// Returns whether this is the first registration.
    pub fn register(&self) -> bool {
        let now = ostler_os::mono_ms().max(1);
        let before = self.registered_mono_ms.swap(now, Ordering::AcqRel);
        self.changed.notify_waiters();
        before == 0
    }

    pub fn is_registered(&self) -> bool {
        self.registered_mono_ms.load(Ordering::Acquire) > 0
    }

    pub fn report_ready(&self) {
        self.ready.store(true, Ordering::Release);
        self.sign_of_life();
        self.changed.notify_waiters();
    }

    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Records a heartbeat. An earlier `busy` ends, unless it is reported again.
    pub fn beat(&self, busy_for_ms: Option<u64>, status: Option<&Value>) {
        self.sign_of_life();
        let busy = busy_for_ms.map_or(0, |busy| ostler_os::mono_ms() + busy.min(BUSY_MOST_MS));
        let before = self.busy_until_mono_ms.swap(busy, Ordering::AcqRel);
        if busy < before {
            // The judging task waits for the end of the busy time.
            self.changed.notify_waiters();
        }
        if let Some(status) = status {
            let kept = (status.to_string().len() <= STATUS_MOST).then(|| Box::new(status.clone()));
            *lock(&self.status) = kept;
        }
    }

    /// Heartbeats count from now on.
    pub(crate) fn begin(&self) {
        self.beat_mono_ms.store(ostler_os::mono_ms(), Ordering::Release);
    }

    fn sign_of_life(&self) {
        self.beat_mono_ms.store(ostler_os::mono_ms(), Ordering::Release);
        self.beat_wall_ms.store(ostler_os::wall_ms(), Ordering::Release);
    }

    /// The unit is stopping or needs longer than usual: its silence until then does not count.
    pub(crate) fn excuse(&self, for_ms: u64) {
        let until = ostler_os::mono_ms() + for_ms.min(BUSY_MOST_MS);
        self.busy_until_mono_ms.fetch_max(until, Ordering::AcqRel);
        self.extended_mono_ms.fetch_max(until, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// The app reported that it stops within this time.
    pub fn leaving(&self, within_ms: u64) {
        self.sign_of_life();
        self.excuse(within_ms);
    }

    pub(crate) fn extended_mono_ms(&self) -> u64 {
        self.extended_mono_ms.load(Ordering::Acquire)
    }

    pub fn last_beat_ms(&self) -> Option<u64> {
        Some(self.beat_wall_ms.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    pub fn status(&self) -> Option<Value> {
        lock(&self.status).as_deref().cloned()
    }

    pub(crate) fn say(&self, text: &str) {
        let text: String = text.chars().take(SAID_MOST).collect();
        let before = std::mem::replace(&mut *lock(&self.said), text.clone());
        if before != text {
            self.said_wall_ms.store(ostler_os::wall_ms(), Ordering::Release);
        }
    }

    /// When the current status text was first reported.
    pub(crate) fn said_at_ms(&self) -> u64 {
        self.said_wall_ms.load(Ordering::Acquire)
    }

    pub(crate) fn said(&self) -> String {
        lock(&self.said).clone()
    }

    pub(crate) fn judge(&self, spec: &HeartbeatSpec) -> Judgement {
        let busy = Some(self.busy_until_mono_ms.load(Ordering::Acquire)).filter(|busy| *busy > 0);
        judge(spec, self.beat_mono_ms.load(Ordering::Acquire), busy, ostler_os::mono_ms())
    }

    /// Messages go to this connection from now on; the previous one gets `Superseded`.
    pub fn listen(&self, outbox: mpsc::UnboundedSender<AppNotice>) {
        // Deliver what was missed while no connection was listening.
        if let Some(description) = lock(&self.ending).clone() {
            let _ = outbox.send(description);
        }
        let before = lock(&self.outbox).replace(outbox);
        if let Some(before) = before {
            let _ = before.send(AppNotice::Superseded);
        }
    }

    /// This connection is closed.
    pub fn unlisten(&self, outbox: &mpsc::UnboundedSender<AppNotice>) {
        let mut held = lock(&self.outbox);
        if held.as_ref().is_some_and(|held| held.same_channel(outbox)) {
            *held = None;
        }
    }

    /// Returns whether a connection received it.
    pub(crate) fn notify(&self, description: AppNotice) -> bool {
        if matches!(description, AppNotice::Shutdown { .. }) {
            *lock(&self.ending) = Some(description.clone());
        }
        lock(&self.outbox).as_ref().is_some_and(|outbox| outbox.send(description).is_ok())
    }

    /// Create this before checking the state, so that no change is missed.
    pub(crate) fn change(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
