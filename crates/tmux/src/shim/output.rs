//! Copies the pane's output to the run's log: tmux writes it to a named pipe, and a thread copies it to standard
//! output. The writing end closes when the pane is gone.

use super::make::OwnSession;
use crate::call::Server;
use ostler_model::TmuxOrder;
use ostler_os::{Interest, Poller, read_some, write_all};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// How long the shim waits for the last of the output after it was written.
const LAST_MOST_MS: u64 = 5_000;

pub(crate) struct Output {
    thread: Option<JoinHandle<()>>,
    /// Becomes readable when no more output can come: the end marker was received, or the writing end was closed.
    ended: UnixStream,
    last: Vec<u8>,
    has_last: Arc<AtomicBool>,
}

pub(super) fn place(order: &TmuxOrder) -> String {
    format!("{}.out", order.notes)
}

impl Output {
    /// `last` is the marker at the end of the output.
    pub(crate) fn begin(
        server: &Server,
        order: &TmuxOrder,
        made: &OwnSession,
        last: Vec<u8>,
    ) -> Result<Self, String> {
        let fifo =
            ostler_os::make_fifo(place(order).as_ref()).map_err(|error| error.to_string())?;
        let (ended, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let command = command(&place(order));
        server
            .ask(&["pipe-pane", "-O", "-t", &made.pane_id, &command])
            .map_err(|error| error.to_string())?;
        let has_last = Arc::new(AtomicBool::new(false));
        let (awaited, has_seen_last) = (EndMarker::new(last.clone()), Arc::clone(&has_last));
        let thread = std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || pass(fifo, awaited, &has_seen_last, theirs))
            .map_err(|error| error.to_string())?;
        Ok(Self { thread: Some(thread), ended, last, has_last })
    }

    /// Starts the copy again after another process closed the pipe.
    pub(crate) fn again(self, server: &Server, order: &TmuxOrder, made: &OwnSession) -> Self {
        match Self::begin(server, order, made, self.last.clone()) {
            Ok(output) => output,
            Err(why) => {
                super::notify(&format!("its output can no longer be captured: {why}"));
                // A socket that never becomes readable.
                let (ended, kept) = match UnixStream::pair() {
                    Ok(pair) => pair,
                    Err(_) => return self,
                };
                std::mem::forget(kept);
                Self { thread: None, ended, ..self }
            }
        }
    }

    pub(crate) fn is_received(&self) -> bool {
        self.thread.is_some()
    }

    /// Whether the end marker was received.
    pub(crate) fn has_last(&self) -> bool {
        self.has_last.load(Ordering::Acquire)
    }

    pub(crate) fn ended(&self) -> &UnixStream {
        &self.ended
    }

    /// Waits for the end marker, or until no more output can come.
    pub(crate) fn wait_last(&self) {
        let mut ready = Vec::new();
        let _ = Poller::new().and_then(|poller| {
            poller.add(&self.ended, 0, Interest::Readable)?;
            poller.wait(Some(LAST_MOST_MS), &mut ready)
        });
    }

    /// Waits until the rest of the output is copied.
    pub(crate) fn finish(self) {
        let Self { thread, ended, .. } = self;
        let mut ready = Vec::new();
        let closed = Poller::new().and_then(|poller| {
            poller.add(&ended, 0, Interest::Readable)?;
            poller.wait(Some(LAST_MOST_MS), &mut ready)
        });
        if closed.is_ok()
            && !ready.is_empty()
            && let Some(thread) = thread
        {
            let _ = thread.join();
        }
    }
}

fn pass(fifo: OwnedFd, mut awaited: EndMarker, has_last: &AtomicBool, ended: UnixStream) {
    let Ok(poller) = Poller::new() else { return };
    if poller.add(&fifo, 0, Interest::Readable).is_err() {
        return;
    }
    let out = std::io::stdout();
    let mut ready = Vec::new();
    let mut buffer = vec![0u8; 64 << 10];
    let mut is_over = false;
    while !is_over {
        // Before tmux opens the writing end, a read returns 0, which is not an end.
        let _ = poller.wait(None, &mut ready);
        loop {
            let passed = match read_some(&fifo, &mut buffer) {
                Ok(None) => break,
                Ok(Some(0)) if ready.is_empty() => break,
                Ok(Some(0)) | Err(_) => {
                    is_over = true;
                    awaited.rest()
                }
                Ok(Some(length)) => awaited.take(&buffer[..length]),
            };
            // A write error means that the reader has gone: the program goes on.
            let _ = write_all(out.as_fd(), &passed);
            is_over |= awaited.has_come;
            if is_over {
                break;
            }
        }
    }
    has_last.store(awaited.has_come, Ordering::Release);
    drop(ended);
}

/// The end marker, and held-back bytes that may be its beginning. They are not part of the output.
struct EndMarker {
    words: Vec<u8>,
    held: Vec<u8>,
    has_come: bool,
}

impl EndMarker {
    fn new(words: Vec<u8>) -> Self {
        Self { words, held: Vec::new(), has_come: false }
    }

    /// Returns the bytes that can be passed on.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let found = all.windows(self.words.len()).position(|window| window == self.words);
        if let Some(at) = found {
            self.has_come = true;
            all.truncate(at);
            return all;
        }
        let most = all.len().min(self.words.len() - 1);
        let begun = (1..=most).rev().find(|count| all.ends_with(&self.words[..*count]));
        self.held = all.split_off(all.len() - begun.unwrap_or(0));
        all
    }

    /// No more output comes: the held-back bytes were ordinary output.
    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// A shell command, escaped for tmux, which expands formats (`#`) and times (`%`) in it.
fn command(path: &str) -> String {
    let quoted = path.replace('\'', r"'\''");
    format!("exec cat >'{quoted}'").replace('#', "##").replace('%', "%%")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_end_marker_is_found_however_it_is_cut() {
        let whole = b"one\x1b\x1b]7;x\x07";
        for cut in 0..whole.len() {
            let mut awaited = super::EndMarker::new(b"\x1b]7;x\x07".to_vec());
            let mut passed = awaited.take(&whole[..cut]);
            passed.extend(awaited.take(&whole[cut..]));
            assert_eq!((&passed[..], awaited.has_come), (&b"one\x1b"[..], true), "{cut}");
        }
        let mut awaited = super::EndMarker::new(b"\x1b]7;x\x07".to_vec());
        let mut passed = awaited.take(b"a\x1b]7");
        assert_eq!(passed, b"a");
        passed.extend(awaited.rest());
        assert_eq!((&passed[..], awaited.has_come), (&b"a\x1b]7"[..], false));
    }

    #[test]
    fn tmux_and_the_shell_expand_nothing_in_a_path() {
        let command = super::command("/a #{b} %H it's");
        assert_eq!(command, r"exec cat >'/a ##{b} %%H it'\''s'");
    }
}
