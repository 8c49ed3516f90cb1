//! Connection limits and budgets. One caller cannot take resources that others need.
//!
//! A connection belongs to a process. The number of its pending requests is limited, and so is the memory for them.
//! Above a limit the connection is not read until there is room, and nothing is dropped. A peer that does not read its
//! answers is disconnected. Callers get only a part of the file descriptors: the rest is for supervision.

use crate::apps::Rate;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Maximum number of connections to the control socket, for one process and in total.
const OF_PROCESS_MOST: usize = 32;
const ALL_MOST: usize = 512;
/// This number of connections is always accepted, even if few descriptors are free, so that a user can stop runs.
const ALWAYS: usize = 8;
/// Maximum number of pending requests of one process: those that are answered at once, and those that wait for an
/// event.
const QUICK_MOST: usize = 64;
const WAITING_MOST: usize = 1_024;
/// Larger answers share a common budget.
pub(crate) const LARGE: usize = 64 << 10;
/// Maximum size of all large answers that were not read yet.
const QUEUED_MOST: usize = 16 << 20;
/// A peer that reads nothing for this time is disconnected.
const TAKES_NOTHING_MOST: Duration = Duration::from_secs(20);
/// A peer that needs longer for a large answer may be disconnected if another answer needs the space.
const SLOW_MS: u64 = 1_000;
/// Longer requests are read into a budget for all long requests, in parts of 1 MiB.
pub(crate) const LINE_SHORT: usize = 64 << 10;
pub(crate) const LINE_PART: usize = 1 << 20;
const LINE_PARTS: usize = 20;

/// The socket of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketKind {
    Control,
    App,
}

pub(crate) struct Callers {
    inner: RefCell<Inner>,
    /// Only one large answer is generated at a time.
    making: Semaphore,
    line_parts: Arc<Semaphore>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    /// Connections to the control socket.
    connections: usize,
    slots: BTreeMap<u64, Rc<ConnSlot>>,
    processes: HashMap<i32, Rc<Process>>,
}

/// The shared state of all connections of one process.
pub(crate) struct Process {
    /// The number of its connections to all sockets, and to the control socket.
    slots: Cell<usize>,
    connections: Cell<usize>,
    pub(crate) quick: Arc<Semaphore>,
    pub(crate) waiting: Arc<Semaphore>,
    /// A process gets one large answer at a time, until it has read it.
    pub(crate) large: Arc<Semaphore>,
    /// A process may send one long request at a time, until it is answered.
    pub(crate) long: Arc<Semaphore>,
    rate: RefCell<Rate>,
}

/// One connection.
pub(crate) struct ConnSlot {
    kind: SocketKind,
    pid: i32,
    pub(crate) process: Rc<Process>,
    /// The number of requests that are being answered.
    busy: Cell<usize>,
    quiet_since_ms: Cell<u64>,
    /// The size of a large answer that the peer has not read, and since when.
    queued: Cell<usize>,
    queued_since_ms: Cell<u64>,
    is_leaving: Cell<bool>,
    leave: Notify,
}

/// A connection's slot; dropping it releases the slot.
pub(crate) struct ConnPermit {
    callers: Rc<Callers>,
    number: u64,
    pub(crate) slot: Rc<ConnSlot>,
}

/// A request that is being answered.
pub(crate) struct Busy(Rc<ConnSlot>);

/// A large answer that was not read yet.
pub(crate) struct Queued(Rc<ConnSlot>);

impl Default for Callers {
    fn default() -> Self {
        Self {
            inner: RefCell::default(),
            making: Semaphore::new(1),
            line_parts: Arc::new(Semaphore::new(LINE_PARTS)),
        }
    }
}

impl Callers {
    /// Reserves a slot at the control socket, or returns an error. If all are in use, the connection that has been
    /// idle longest is closed.
    pub(crate) fn enter(
        self: &Rc<Self>,
        pid: i32,
        stream: impl AsFd,
    ) -> Result<ConnPermit, String> {
        let (own, all) = {
            let inner = self.inner.borrow();
            let own = inner.processes.get(&pid).map_or(0, |process| process.connections.get());
            (own, inner.connections)
        };
        if own >= OF_PROCESS_MOST && !self.make_room(Some(pid)) {
            return Err(format!(
                "process {pid} already has {OF_PROCESS_MOST} connections, the maximum for a process; close some"
            ));
        }
        let is_full = all >= ALL_MOST;
        if (is_full || (all >= ALWAYS && ostler_os::is_kept_from_callers(stream)))
            && !self.make_room(None)
        {
            return Err(format!("{all} connections are open, the maximum; try again later"));
        }
        Ok(self.add(pid, SocketKind::Control))
    }

    /// Reserves a slot that another limit has already counted.
    pub(crate) fn add(self: &Rc<Self>, pid: i32, kind: SocketKind) -> ConnPermit {
        let mut inner = self.inner.borrow_mut();
        inner.next += 1;
        let number = inner.next;
        let process = Rc::clone(inner.processes.entry(pid).or_insert_with(Process::new));
        process.slots.set(process.slots.get() + 1);
        if kind == SocketKind::Control {
            process.connections.set(process.connections.get() + 1);
            inner.connections += 1;
        }
        let slot = Rc::new(ConnSlot {
            kind,
            pid,
            process,
            busy: Cell::new(0),
            quiet_since_ms: Cell::new(ostler_os::mono_ms()),
            queued: Cell::new(0),
            queued_since_ms: Cell::new(0),
            is_leaving: Cell::new(false),
            leave: Notify::new(),
        });
        inner.slots.insert(number, Rc::clone(&slot));
        ConnPermit { callers: Rc::clone(self), number, slot }
    }

    /// Returns false if every connection has a pending request.
    fn make_room(&self, pid: Option<i32>) -> bool {
        let mut inner = self.inner.borrow_mut();
        let is_quiet = |slot: &ConnSlot| {
            slot.kind == SocketKind::Control
                && slot.busy.get() == 0
                && pid.is_none_or(|pid| slot.pid == pid)
        };
        let quiet = inner.slots.iter().filter(|(_, slot)| is_quiet(slot));
        let longest = quiet.min_by_key(|(_, slot)| slot.quiet_since_ms.get());
        let Some(number) = longest.map(|(number, _)| *number) else { return false };
        if let Some(slot) = inner.leave(number) {
            slot.ask_to_leave();
        }
        true
    }

    /// Waits until no other large answer is being generated.
    pub(crate) async fn make_large(&self) -> Option<SemaphorePermit<'_>> {
        self.making.acquire().await.ok()
    }

    /// Reserves room for a large answer. If there is none, the slowest peer with a large answer is disconnected.
    pub(crate) async fn queue(&self, slot: &Rc<ConnSlot>, length: usize) -> Queued {
        const LOOK_EVERY: Duration = Duration::from_millis(50);
        while self.queued() > 0 && self.queued() + length > QUEUED_MOST {
            if !self.cut_off_slowest() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        slot.queued.set(length);
        slot.queued_since_ms.set(ostler_os::mono_ms());
        Queued(Rc::clone(slot))
    }

    fn queued(&self) -> usize {
        self.inner.borrow().slots.values().map(|slot| slot.queued.get()).sum()
    }

    fn cut_off_slowest(&self) -> bool {
        let now_ms = ostler_os::mono_ms();
        let inner = self.inner.borrow();
        let is_slow = |slot: &&Rc<ConnSlot>| {
            slot.queued.get() > 0 && now_ms.saturating_sub(slot.queued_since_ms.get()) >= SLOW_MS
        };
        let slowest =
            inner.slots.values().filter(is_slow).min_by_key(|slot| slot.queued_since_ms.get());
        let Some(slot) = slowest else { return false };
        slot.queued.set(0);
        slot.ask_to_leave();
        true
    }

    /// Reserves one more part for a long request.
    pub(crate) async fn line_part(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.line_parts).acquire_owned().await.ok()
    }
}

impl Inner {
    /// `None` if the slot was already released.
    fn leave(&mut self, number: u64) -> Option<Rc<ConnSlot>> {
        let slot = self.slots.remove(&number)?;
        let process = &slot.process;
        process.slots.set(process.slots.get() - 1);
        if slot.kind == SocketKind::Control {
            process.connections.set(process.connections.get() - 1);
            self.connections -= 1;
        }
        if process.slots.get() == 0 {
            self.processes.remove(&slot.pid);
        }
        Some(slot)
    }
}

impl Process {
    fn new() -> Rc<Self> {
        Rc::new(Self {
            slots: Cell::new(0),
            connections: Cell::new(0),
            quick: Arc::new(Semaphore::new(QUICK_MOST)),
            waiting: Arc::new(Semaphore::new(WAITING_MOST)),
            large: Arc::new(Semaphore::new(1)),
            long: Arc::new(Semaphore::new(1)),
            rate: RefCell::new(Rate::new(ostler_os::mono_ms())),
        })
    }

    /// Counts one request, and returns the delay before the next read.
    pub(crate) fn count_request(&self) -> Duration {
        Duration::from_millis(self.rate.borrow_mut().count(1, ostler_os::mono_ms()))
    }
}

impl ConnSlot {
    pub(crate) fn busy(self: &Rc<Self>) -> Busy {
        self.busy.set(self.busy.get() + 1);
        Busy(Rc::clone(self))
    }

    fn ask_to_leave(&self) {
        self.is_leaving.set(true);
        self.leave.notify_waiters();
    }

    /// Returns when the connection must be closed.
    pub(crate) async fn asked_to_leave(&self) {
        while !self.is_leaving.get() {
            self.leave.notified().await;
        }
    }

    /// Writes everything, or fails if the peer reads nothing for too long. The connection cannot be used afterwards.
    pub(crate) async fn write(&self, into: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            // Usually the socket has room.
            match into.try_write(rest) {
                Ok(written) => {
                    rest = &rest[written..];
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            let written = tokio::select! {
                written = into.write(rest) => written?,
                () = self.asked_to_leave() => return Err(io::ErrorKind::ConnectionAborted.into()),
                () = tokio::time::sleep(TAKES_NOTHING_MOST) => {
                    self.ask_to_leave();
                    return Err(io::ErrorKind::TimedOut.into());
                }
            };
            rest = &rest[written..];
        }
        Ok(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.set(self.0.busy.get() - 1);
        self.0.quiet_since_ms.set(ostler_os::mono_ms());
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.queued.set(0);
    }
}

impl Drop for ConnPermit {
    fn drop(&mut self) {
        self.callers.inner.borrow_mut().leave(self.number);
    }
}

/// The writing half. It writes one answer at a time.
pub(crate) struct Line {
    half: Mutex<OwnedWriteHalf>,
    pub(crate) slot: Rc<ConnSlot>,
}

impl Line {
    pub(crate) fn new(half: OwnedWriteHalf, slot: Rc<ConnSlot>) -> Rc<Self> {
        Rc::new(Self { half: Mutex::new(half), slot })
    }

    /// Sends an answer. The peer must read it within the time limit.
    pub(crate) async fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.slot.write(&mut *self.half.lock().await, bytes).await
    }

    /// Sends a piece of output. There is no time limit, because a viewer may pause.
    pub(crate) async fn show(&self, header: &[u8], payload: &[u8]) -> io::Result<()> {
        let mut half = self.half.lock().await;
        half.write_all(header).await?;
        half.write_all(payload).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor() -> std::fs::File {
        std::fs::File::open("/dev/null").expect("a file")
    }

    #[test]
    fn one_process_cannot_use_up_all_connections() {
        let callers = Rc::new(Callers::default());
        let greedy: Vec<_> = (0..100)
            .filter_map(|_| {
                let permit = callers.enter(1, descriptor()).ok()?;
                let busy = permit.slot.busy();
                Some((permit, busy))
            })
            .collect();
        assert_eq!(greedy.len(), OF_PROCESS_MOST);
        assert!(callers.enter(2, descriptor()).is_ok());
    }

    #[test]
    fn when_full_the_connection_idle_for_longest_is_closed() {
        let callers = Rc::new(Callers::default());
        let pids = 0..(ALL_MOST as i32);
        let held: Vec<_> =
            pids.map(|pid| callers.enter(pid, descriptor()).expect("a slot")).collect();
        let busy: Vec<_> = held.iter().skip(1).map(|permit| permit.slot.busy()).collect();
        let newcomer = callers.enter(-1, descriptor()).expect("accepted");
        assert!(held[0].slot.is_leaving.get(), "the only idle connection");
        let _busy = newcomer.slot.busy();
        assert!(callers.enter(-2, descriptor()).is_err(), "all connections have pending requests");
        drop(busy);
        assert!(callers.enter(-2, descriptor()).is_ok());
        drop((held, newcomer));
        assert!(callers.inner.borrow().processes.is_empty());
    }

    #[test]
    fn a_peer_that_does_not_read_its_large_answer_is_disconnected() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let callers = Rc::new(Callers::default());
            let lazy = callers.add(1, SocketKind::Control);
            let _held = callers.queue(&lazy.slot, QUEUED_MOST).await;
            let other = callers.add(2, SocketKind::Control);
            let _queued = callers.queue(&other.slot, QUEUED_MOST).await;
            assert!(lazy.slot.is_leaving.get() && !other.slot.is_leaving.get());
        });
    }
}
