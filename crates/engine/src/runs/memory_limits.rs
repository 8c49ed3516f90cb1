//! Watches runs with a memory limit on a separate thread, so that measuring a large tree delays nothing else. Where the
//! kernel enforces the limit, the thread only waits for its notification. Otherwise a tree is measured more often the
//! younger it is, the nearer to its limit and the faster it grows. Stable trees together are measured at most twice a
//! second.

use crate::supervisor::Supervisor;
use ostler_core::Event;
use ostler_model::RunId;
use ostler_os::{MemoryAlarm, MemorySubject, Poller, Ready, Waker, memory_of};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::mpsc;

const WAKER: u64 = 0;
/// The interval for trees below half of their limit, and above it.
const FAR_MS: u64 = 2_000;
const NEAR_MS: u64 = 500;
const LEAST_MS: u64 = 20;
/// cgroup v1 reports that memory has run out before the kernel kills a process.
const AFTER_MS: [u64; 3] = [0, 50, 500];

enum LimitCommand {
    Add(RunId, MemoryAlarm),
    Remove(RunId),
}

/// A run exceeded its limit, or the kernel may have killed a process.
struct LimitExceeded {
    run: RunId,
    excess_bytes: Option<u64>,
}

/// The thread starts with the first run that needs it.
pub(crate) struct LimitWatch {
    dispatcher: Waker,
    thread: Option<(mpsc::Sender<LimitCommand>, Waker)>,
    sender: mpsc::Sender<LimitExceeded>,
    news: mpsc::Receiver<LimitExceeded>,
    watched: usize,
}

impl LimitWatch {
    pub(crate) fn new(dispatcher: Waker) -> Self {
        let (sender, news) = mpsc::channel();
        Self { dispatcher, thread: None, sender, news, watched: 0 }
    }

    pub(crate) fn add(&mut self, run: RunId, alarm: Option<MemoryAlarm>) {
        let Some(alarm) = alarm else { return };
        if self.thread.is_none() {
            self.thread = self.start().ok();
        }
        self.watched += 1;
        self.order(LimitCommand::Add(run, alarm));
    }

    pub(crate) fn remove(&mut self, run: RunId) {
        if self.watched > 0 {
            self.order(LimitCommand::Remove(run));
        }
    }

    fn order(&self, order: LimitCommand) {
        if let Some((orders, waker)) = &self.thread
            && orders.send(order).is_ok()
        {
            waker.wake();
        }
    }

    fn start(&self) -> std::io::Result<(mpsc::Sender<LimitCommand>, Waker)> {
        let poller = Poller::new()?;
        let waker = Waker::new(&poller, WAKER)?;
        let (orders, receiver) = mpsc::channel();
        let watch = Watch {
            poller,
            waker: waker.clone(),
            orders: receiver,
            news: self.sender.clone(),
            dispatcher: self.dispatcher.clone(),
            description: HashMap::new(),
            looked: HashMap::new(),
            unsaved: Vec::new(),
            next_token: WAKER + 1,
        };
        std::thread::Builder::new()
            .name("limits".to_owned())
            .stack_size(128 << 10)
            .spawn(move || watch.run())?;
        Ok((orders, waker))
    }
}

impl Supervisor {
    /// Handles what the watch has found since the last turn.
    pub(crate) fn take_memory_events(&mut self) {
        while let Ok(LimitExceeded { run, excess_bytes }) = self.threads.limit_watch.news.try_recv()
        {
            let Some(live) = self.runs.live.get(&run) else { continue };
            if let (Some(bytes), Some(scope)) = (excess_bytes, &live.scope) {
                scope.note_excess(bytes);
            }
            let tree = self.survey(run);
            self.core.events.push_back(Event::Surveyed { run, tree });
        }
    }
}

struct Sampling {
    subject: MemorySubject,
    since_ms: u64,
    due_ms: u64,
    last_ms: u64,
    last_bytes: u64,
}

impl Sampling {
    /// When to measure the tree again, given its size now.
    fn next(&mut self, bytes: u64, now_ms: u64) -> u64 {
        let most = self.subject.most_bytes;
        let rest_ms = if bytes > most / 2 { NEAR_MS } else { FAR_MS };
        let grown = bytes.saturating_sub(self.last_bytes);
        let passed_ms = now_ms.saturating_sub(self.last_ms).max(1);
        // Half of the time in which it would reach the limit at its present growth.
        let there_ms = match most.saturating_sub(bytes).saturating_mul(passed_ms) {
            product if grown > 0 => product / grown / 2,
            _ => u64::MAX,
        };
        let young_ms = now_ms.saturating_sub(self.since_ms) / 2;
        (self.last_ms, self.last_bytes) = (now_ms, bytes);
        let wait_ms = rest_ms.min(there_ms).min(young_ms).max(LEAST_MS);
        if wait_ms == rest_ms {
            // Aligned, so that all stable trees are measured together.
            return (now_ms / rest_ms + 1) * rest_ms;
        }
        now_ms + wait_ms
    }
}

struct Watch {
    poller: Poller,
    waker: Waker,
    orders: mpsc::Receiver<LimitCommand>,
    news: mpsc::Sender<LimitExceeded>,
    dispatcher: Waker,
    description: HashMap<u64, (RunId, OwnedFd)>,
    looked: HashMap<RunId, Sampling>,
    /// When the dispatcher must check for processes that the kernel killed.
    unsaved: Vec<(u64, RunId)>,
    next_token: u64,
}

impl Watch {
    fn run(mut self) {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let unsaved = self.unsaved.iter().map(|(due_ms, _)| *due_ms);
            let due = self.looked.values().map(|looked| looked.due_ms).chain(unsaved).min();
            let wait = due.map(|due| due.saturating_sub(ostler_os::mono_ms()));
            if self.poller.wait(wait, &mut ready).is_err() {
                return;
            }
            for event in &ready {
                match event.token {
                    WAKER => self.waker.rest(),
                    token => self.receive(token),
                }
            }
            loop {
                match self.orders.try_recv() {
                    Ok(order) => self.take(order),
                    Err(mpsc::TryRecvError::Empty) => break,
                    Err(mpsc::TryRecvError::Disconnected) => return,
                }
            }
            self.look();
        }
    }

    fn take(&mut self, order: LimitCommand) {
        match order {
            LimitCommand::Add(run, MemoryAlarm::KernelEvent(alarm, interest)) => {
                let token = self.next_token;
                self.next_token += 1;
                if self.poller.add(&alarm, token, interest).is_ok() {
                    self.description.insert(token, (run, alarm));
                }
            }
            LimitCommand::Add(run, MemoryAlarm::Sampling(subject)) => {
                let now_ms = ostler_os::mono_ms();
                let looked = Sampling {
                    subject,
                    since_ms: now_ms,
                    due_ms: now_ms + LEAST_MS,
                    last_ms: now_ms,
                    last_bytes: 0,
                };
                self.looked.insert(run, looked);
            }
            LimitCommand::Remove(run) => {
                self.looked.remove(&run);
                self.unsaved.retain(|(_, unsaved)| *unsaved != run);
                let poller = &self.poller;
                self.description.retain(|_, (description, alarm)| {
                    if *description == run {
                        poller.remove(alarm);
                    }
                    *description != run
                });
            }
        }
    }

    fn receive(&mut self, token: u64) {
        let Some((run, alarm)) = self.description.get(&token) else { return };
        let run = *run;
        if ostler_os::rest_alarm(alarm) {
            let now_ms = ostler_os::mono_ms();
            self.unsaved.retain(|(_, unsaved)| *unsaved != run);
            self.unsaved.extend(AFTER_MS.map(|after_ms| (now_ms + after_ms, run)));
        } else if let Some((_, alarm)) = self.description.remove(&token) {
            self.poller.remove(&alarm);
        }
    }

    fn look(&mut self) {
        let now_ms = ostler_os::mono_ms();
        let mut excessive = Vec::new();
        for (run, looked) in &mut self.looked {
            if looked.due_ms > now_ms {
                continue;
            }
            let bytes = memory_of(&looked.subject).unwrap_or(0);
            looked.due_ms = looked.next(bytes, now_ms);
            if bytes > looked.subject.most_bytes {
                looked.due_ms = now_ms + NEAR_MS;
                excessive.push((*run, bytes));
            }
        }
        for (_, run) in
            self.unsaved.extract_if(.., |(due_ms, _)| *due_ms <= now_ms).collect::<Vec<_>>()
        {
            self.notify(run, None);
        }
        for (run, bytes) in excessive {
            self.notify(run, Some(bytes));
        }
    }

    fn notify(&self, run: RunId, excess_bytes: Option<u64>) {
        if self.news.send(LimitExceeded { run, excess_bytes }).is_ok() {
            self.dispatcher.wake();
        }
    }
}
