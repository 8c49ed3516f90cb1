//! What a live unit has said of itself. Beats come thousands a second and change nothing but a number here;
//! what follows from their absence is judged elsewhere, on its own clock.

use ostler_core::heartbeat::{BUSY_MOST_MS, Judgement, judge};
use ostler_model::{HeartbeatSpec, RunId};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc};

/// What an app is told.
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
    /// Another connection of it is the one that is told from now on.
    Superseded,
}

#[derive(Debug)]
pub struct AppReport {
    pub run: RunId,
    pub unit: String,
    /// Of an app; a program that speaks sd_notify has none.
    pub app: Option<String>,
    pub heartbeat: Option<HeartbeatSpec>,
    /// When, on the clock that nobody sets; 0 is never.
    registered_mono_ms: AtomicU64,
    ready: AtomicBool,
    beat_mono_ms: AtomicU64,
    beat_wall_ms: AtomicU64,
    busy_until_mono_ms: AtomicU64,
    /// Until then it may take to become ready, whatever was declared.
    extended_mono_ms: AtomicU64,
    status: Mutex<Option<Box<Value>>>,
    /// What it does, in its own words.
    said: Mutex<String>,
    said_wall_ms: AtomicU64,
    outbox: Mutex<Option<mpsc::UnboundedSender<AppNotice>>>,
    /// What it could not be told because nobody listened.
    ending: Mutex<Option<AppNotice>>,
    changed: Notify,
}

/// The largest status of a heartbeat that is kept.
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

    /// Whether it is the first time.
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

    /// It lives. What it declared before is taken back, unless it says it again.
    pub fn beat(&self, busy_for_ms: Option<u64>, status: Option<&Value>) {
        self.sign_of_life();
        let busy = busy_for_ms.map_or(0, |busy| ostler_os::mono_ms() + busy.min(BUSY_MOST_MS));
        let before = self.busy_until_mono_ms.swap(busy, Ordering::AcqRel);
        if busy < before {
            // Whoever judges it waits for the end of what it declared.
            self.changed.notify_waiters();
        }
        if let Some(status) = status {
            let kept = (status.to_string().len() <= STATUS_MOST).then(|| Box::new(status.clone()));
            *lock(&self.status) = kept;
        }
    }

    /// From now on its beats count.
    pub(crate) fn begin(&self) {
        self.beat_mono_ms.store(ostler_os::mono_ms(), Ordering::Release);
    }

    fn sign_of_life(&self) {
        self.beat_mono_ms.store(ostler_os::mono_ms(), Ordering::Release);
        self.beat_wall_ms.store(ostler_os::wall_ms(), Ordering::Release);
    }

    /// It is going to end, or needs longer than usual: silence until then is no death.
    pub(crate) fn excuse(&self, for_ms: u64) {
        let until = ostler_os::mono_ms() + for_ms.min(BUSY_MOST_MS);
        self.busy_until_mono_ms.fetch_max(until, Ordering::AcqRel);
        self.extended_mono_ms.fetch_max(until, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// It said that it is going to end within this time.
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

    /// When it began to say what it says.
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

    /// From now on it is told over this; whoever was before is told that.
    pub fn listen(&self, outbox: mpsc::UnboundedSender<AppNotice>) {
        // What it missed while nobody listened.
        if let Some(description) = lock(&self.ending).clone() {
            let _ = outbox.send(description);
        }
        let before = lock(&self.outbox).replace(outbox);
        if let Some(before) = before {
            let _ = before.send(AppNotice::Superseded);
        }
    }

    /// This connection is over.
    pub fn unlisten(&self, outbox: &mpsc::UnboundedSender<AppNotice>) {
        let mut held = lock(&self.outbox);
        if held.as_ref().is_some_and(|held| held.same_channel(outbox)) {
            *held = None;
        }
    }

    /// Whether somebody listens.
    pub(crate) fn notify(&self, description: AppNotice) -> bool {
        if matches!(description, AppNotice::Shutdown { .. }) {
            *lock(&self.ending) = Some(description.clone());
        }
        lock(&self.outbox).as_ref().is_some_and(|outbox| outbox.send(description).is_ok())
    }

    /// Made before one looks, so that no change is missed.
    pub(crate) fn change(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
