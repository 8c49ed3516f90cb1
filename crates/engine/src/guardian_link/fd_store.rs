//! Messages to the guardian (or systemd), and the file descriptors it holds for the supervisor.

use crate::guardian_link::inheritance::DescriptorKind;
use ostler_model::RunId;
use ostler_os::{Notifier, Sent};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// How long the dispatcher waits for a guardian that does not read, before it continues.
const PATIENCE_MS: u64 = 50;
/// How often sending is retried meanwhile.
const RETRY_MS: u64 = 100;

struct Message {
    text: String,
    descriptor: Option<OwnedFd>,
}

/// Sends to the guardian or systemd. Without one, it does nothing.
#[derive(Default)]
pub(crate) struct FdStore {
    notifier: Option<Notifier>,
    /// Unsent messages in their order.
    waiting: VecDeque<Message>,
}

impl FdStore {
    /// Connects to the address in `NOTIFY_SOCKET`; fails if nothing listens there.
    pub(crate) fn open(address: &OsStr) -> std::io::Result<Self> {
        Ok(Self { notifier: Some(Notifier::open(address)?), waiting: VecDeque::new() })
    }

    pub(crate) fn is_there(&self) -> bool {
        self.notifier.is_some()
    }

    /// When to retry, if messages are unsent.
    pub(crate) fn retry_in(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(RETRY_MS)
    }

    /// Stores a file descriptor. It outlives the supervisor as soon as this returns, unless the receiver does not keep
    /// up.
    pub(crate) fn keep(&mut self, name: &str, descriptor: impl AsFd) {
        // `FDPOLL=0`: an exited process or a pipe without a writer is still worth keeping.
        self.send(format!("FDSTORE=1\nFDPOLL=0\nFDNAME={name}"), Some(descriptor.as_fd()));
    }

    pub(crate) fn keep_process(&mut self, run: RunId, pid: i32, descriptor: impl AsFd) {
        let name = DescriptorKind::Process.name(run);
        let text = format!("FDSTORE=1\nFDPOLL=0\nFDNAME={name}\nX_OSTLER_PROCESS={pid}");
        self.send(text, Some(descriptor.as_fd()));
    }

    pub(crate) fn let_go(&mut self, name: &str) {
        self.send(format!("FDSTOREREMOVE=1\nFDNAME={name}"), None);
    }

    pub(crate) fn report_ready(&mut self, status: &str) {
        self.send(format!("READY=1\nSTATUS={status}"), None);
    }

    pub(crate) fn report_alive(&mut self) {
        self.send("WATCHDOG=1".to_owned(), None);
    }

    /// Stopping takes this long at most.
    pub(crate) fn report_stopping(&mut self, most_ms: u64) {
        self.send(format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={}", most_ms * 1_000), None);
    }

    pub(crate) fn report_successor(&mut self, program: &Path) {
        self.send(format!("X_OSTLER_HAND_OVER={}", program.display()), None);
    }

    fn send(&mut self, text: String, descriptor: Option<BorrowedFd<'_>>) {
        let Some(notifier) = &self.notifier else { return };
        if self.waiting.is_empty() {
            let descriptors: Vec<_> = descriptor.into_iter().collect();
            for patience in [PATIENCE_MS, 0] {
                match notifier.send(&text, &descriptors) {
                    Sent::Yes => return,
                    Sent::Nobody => return,
                    Sent::Later => notifier.wait(patience),
                }
            }
        }
        let descriptor = match descriptor.map(|descriptor| descriptor.try_clone_to_owned()) {
            Some(Err(_)) => return,
            Some(Ok(copy)) => Some(copy),
            None => None,
        };
        self.waiting.push_back(Message { text, descriptor });
    }

    /// Sends the messages that could not be sent before.
    pub(crate) fn send_waiting(&mut self) {
        let Some(notifier) = &self.notifier else { return };
        while let Some(message) = self.waiting.front() {
            let descriptors: Vec<_> = message.descriptor.iter().map(AsFd::as_fd).collect();
            match notifier.send(&message.text, &descriptors) {
                Sent::Yes => {
                    self.waiting.pop_front();
                }
                Sent::Later => return,
                Sent::Nobody => {
                    self.waiting.clear();
                    return;
                }
            }
        }
    }
}
