//! Who is connected, and what each may use, so that no caller takes away what others need.
//!
//! A connection belongs to a process. What a process has in flight is bounded, and so is what of it is kept in
//! memory: its connection is not read any further until there is room, and nothing is dropped. A peer that does not
//! read its answers is cut off. Callers get a part of our descriptors only: the rest is for supervision.

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

/// Connections to the control socket, of one process and of all.
const OF_PROCESS_MOST: usize = 32;
const ALL_MOST: usize = 512;
/// This many callers are always accepted, even when hardly any descriptors are left, so that somebody can stop a run.
const ALWAYS: usize = 8;
/// Requests of one process that are being answered, and those that wait for something to happen.
const QUICK_MOST: usize = 64;
const WAITING_MOST: usize = 1_024;
/// An answer that is larger counts among those that have a bound together.
pub(crate) const LARGE: usize = 64 << 10;
/// How many bytes of large answers wait for their callers to read them.
const QUEUED_MOST: usize = 16 << 20;
/// A peer that takes nothing for so long gets no more.
const TAKES_NOTHING_MOST: Duration = Duration::from_secs(20);
/// One that has taken so long for its large answer may be cut off, if another needs the room.
const SLOW_MS: u64 = 1_000;
/// Requests longer than this are read into memory that all long requests share, counted in parts of 1 MiB.
pub(crate) const LINE_SHORT: usize = 64 << 10;
pub(crate) const LINE_PART: usize = 1 << 20;
const LINE_PARTS: usize = 20;

/// At which socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Control,
    App,
}

pub(crate) struct Callers {
    inner: RefCell<Inner>,
    /// Large answers are made one at a time.
    making: Semaphore,
    line_parts: Arc<Semaphore>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    /// To the control socket.
    connections: usize,
    seats: BTreeMap<u64, Rc<ConnSlot>>,
    processes: HashMap<i32, Rc<Process>>,
}

/// What all connections of one process have together.
pub(crate) struct Process {
    /// At all sockets, and at the control socket.
    seats: Cell<usize>,
    connections: Cell<usize>,
    pub(crate) quick: Arc<Semaphore>,
    pub(crate) waiting: Arc<Semaphore>,
    /// One large answer at a time, until it has been read.
    pub(crate) large: Arc<Semaphore>,
    /// One long request at a time, until it has been answered.
    pub(crate) long: Arc<Semaphore>,
    rate: RefCell<Rate>,
}

/// One connection.
pub(crate) struct ConnSlot {
    face: Face,
    pid: i32,
    pub(crate) process: Rc<Process>,
    /// What it is being answered.
    busy: Cell<usize>,
    quiet_since_ms: Cell<u64>,
    /// Bytes of a large answer that it has not read, and since when.
    queued: Cell<usize>,
    queued_since_ms: Cell<u64>,
    is_leaving: Cell<bool>,
    leave: Notify,
}

/// A connection's place, as long as it is held.
pub(crate) struct ConnPermit {
    callers: Rc<Callers>,
    number: u64,
    pub(crate) pane_slot: Rc<ConnSlot>,
}

/// Something is being answered.
pub(crate) struct Busy(Rc<ConnSlot>);

/// A large answer that is on its way.
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
    /// A place at the control socket, or why there is none. Where all are taken, the connection that has been quiet
    /// for longest makes room.
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
                "process {pid} holds {OF_PROCESS_MOST} connections, as many as one process may; close some"
            ));
        }
        let is_full = all >= ALL_MOST;
        if (is_full || (all >= ALWAYS && ostler_os::is_kept_from_callers(stream)))
            && !self.make_room(None)
        {
            return Err(format!(
                "{all} connections are open, and there is no room for another; try again later"
            ));
        }
        Ok(self.sit(pid, Face::Control))
    }

    /// A place that somebody else has counted.
    pub(crate) fn sit(self: &Rc<Self>, pid: i32, face: Face) -> ConnPermit {
        let mut inner = self.inner.borrow_mut();
        inner.next += 1;
        let number = inner.next;
        let process = Rc::clone(inner.processes.entry(pid).or_insert_with(Process::new));
        process.seats.set(process.seats.get() + 1);
        if face == Face::Control {
            process.connections.set(process.connections.get() + 1);
            inner.connections += 1;
        }
        let pane_slot = Rc::new(ConnSlot {
            face,
            pid,
            process,
            busy: Cell::new(0),
            quiet_since_ms: Cell::new(ostler_os::mono_ms()),
            queued: Cell::new(0),
            queued_since_ms: Cell::new(0),
            is_leaving: Cell::new(false),
            leave: Notify::new(),
        });
        inner.seats.insert(number, Rc::clone(&pane_slot));
        ConnPermit { callers: Rc::clone(self), number, pane_slot }
    }

    /// False if all of them are being answered.
    fn make_room(&self, pid: Option<i32>) -> bool {
        let mut inner = self.inner.borrow_mut();
        let is_quiet = |pane_slot: &ConnSlot| {
            pane_slot.face == Face::Control
                && pane_slot.busy.get() == 0
                && pid.is_none_or(|pid| pane_slot.pid == pid)
        };
        let quiet = inner.seats.iter().filter(|(_, pane_slot)| is_quiet(pane_slot));
        let longest = quiet.min_by_key(|(_, pane_slot)| pane_slot.quiet_since_ms.get());
        let Some(number) = longest.map(|(number, _)| *number) else { return false };
        if let Some(pane_slot) = inner.leave(number) {
            pane_slot.ask_to_leave();
        }
        true
    }

    /// Only one at a time makes a large answer.
    pub(crate) async fn make_large(&self) -> Option<SemaphorePermit<'_>> {
        self.making.acquire().await.ok()
    }

    /// Counts a large answer. Where there is no room for it, the slowest of those that have one is cut off.
    pub(crate) async fn queue(&self, pane_slot: &Rc<ConnSlot>, length: usize) -> Queued {
        const LOOK_EVERY: Duration = Duration::from_millis(50);
        while self.queued() > 0 && self.queued() + length > QUEUED_MOST {
            if !self.cut_off_slowest() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        pane_slot.queued.set(length);
        pane_slot.queued_since_ms.set(ostler_os::mono_ms());
        Queued(Rc::clone(pane_slot))
    }

    fn queued(&self) -> usize {
        self.inner.borrow().seats.values().map(|pane_slot| pane_slot.queued.get()).sum()
    }

    fn cut_off_slowest(&self) -> bool {
        let now_ms = ostler_os::mono_ms();
        let inner = self.inner.borrow();
        let is_slow = |pane_slot: &&Rc<ConnSlot>| {
            pane_slot.queued.get() > 0
                && now_ms.saturating_sub(pane_slot.queued_since_ms.get()) >= SLOW_MS
        };
        let slowest = inner
            .seats
            .values()
            .filter(is_slow)
            .min_by_key(|pane_slot| pane_slot.queued_since_ms.get());
        let Some(pane_slot) = slowest else { return false };
        pane_slot.queued.set(0);
        pane_slot.ask_to_leave();
        true
    }

    /// Room for one more part of a long request.
    pub(crate) async fn line_part(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.line_parts).acquire_owned().await.ok()
    }
}

impl Inner {
    /// `None` if it has left already.
    fn leave(&mut self, number: u64) -> Option<Rc<ConnSlot>> {
        let pane_slot = self.seats.remove(&number)?;
        let process = &pane_slot.process;
        process.seats.set(process.seats.get() - 1);
        if pane_slot.face == Face::Control {
            process.connections.set(process.connections.get() - 1);
            self.connections -= 1;
        }
        if process.seats.get() == 0 {
            self.processes.remove(&pane_slot.pid);
        }
        Some(pane_slot)
    }
}

impl Process {
    fn new() -> Rc<Self> {
        Rc::new(Self {
            seats: Cell::new(0),
            connections: Cell::new(0),
            quick: Arc::new(Semaphore::new(QUICK_MOST)),
            waiting: Arc::new(Semaphore::new(WAITING_MOST)),
            large: Arc::new(Semaphore::new(1)),
            long: Arc::new(Semaphore::new(1)),
            rate: RefCell::new(Rate::new(ostler_os::mono_ms())),
        })
    }

    /// Counts one request; how long to wait before the next is read.
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

    /// Returns when the connection is to be closed.
    pub(crate) async fn asked_to_leave(&self) {
        while !self.is_leaving.get() {
            self.leave.notified().await;
        }
    }

    /// Writes all of it, unless the peer takes nothing for too long. Then the connection is of no use any more.
    pub(crate) async fn write(&self, into: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            // Mostly there is room.
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

/// The way to the peer. One answer is written at a time.
pub(crate) struct Line {
    half: Mutex<OwnedWriteHalf>,
    pub(crate) pane_slot: Rc<ConnSlot>,
}

impl Line {
    pub(crate) fn new(half: OwnedWriteHalf, pane_slot: Rc<ConnSlot>) -> Rc<Self> {
        Rc::new(Self { half: Mutex::new(half), pane_slot })
    }

    /// An answer: the peer has asked for it, and has to read it.
    pub(crate) async fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.pane_slot.write(&mut *self.half.lock().await, bytes).await
    }

    /// A piece of output. Whoever looks at it may pause as long as it likes.
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
    fn a_process_that_opens_many_leaves_room_for_others() {
        let callers = Rc::new(Callers::default());
        let greedy: Vec<_> = (0..100)
            .filter_map(|_| {
                let place = callers.enter(1, descriptor()).ok()?;
                let busy = place.pane_slot.busy();
                Some((place, busy))
            })
            .collect();
        assert_eq!(greedy.len(), OF_PROCESS_MOST);
        assert!(callers.enter(2, descriptor()).is_ok());
    }

    #[test]
    fn where_all_places_are_taken_the_longest_quiet_one_makes_room() {
        let callers = Rc::new(Callers::default());
        let pids = 0..(ALL_MOST as i32);
        let held: Vec<_> =
            pids.map(|pid| callers.enter(pid, descriptor()).expect("a place")).collect();
        let busy: Vec<_> = held.iter().skip(1).map(|place| place.pane_slot.busy()).collect();
        let newcomer = callers.enter(-1, descriptor()).expect("it gets in");
        assert!(held[0].pane_slot.is_leaving.get(), "the only one that was quiet");
        let _busy = newcomer.pane_slot.busy();
        assert!(callers.enter(-2, descriptor()).is_err(), "all are being answered");
        drop(busy);
        assert!(callers.enter(-2, descriptor()).is_ok());
        drop((held, newcomer));
        assert!(callers.inner.borrow().processes.is_empty());
    }

    #[test]
    fn large_answers_that_nobody_reads_make_room() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let callers = Rc::new(Callers::default());
            let lazy = callers.sit(1, Face::Control);
            let _held = callers.queue(&lazy.pane_slot, QUEUED_MOST).await;
            let other = callers.sit(2, Face::Control);
            let _queued = callers.queue(&other.pane_slot, QUEUED_MOST).await;
            assert!(lazy.pane_slot.is_leaving.get() && !other.pane_slot.is_leaving.get());
        });
    }
}
