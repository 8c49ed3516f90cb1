//! The pane's output on its way into the run's log: tmux copies it to a named pipe, and a thread of ours from there to our
//! standard output. The other end closes when the pane is gone.

use super::make::Made;
use crate::call::Server;
use ostler_model::TmuxOrder;
use ostler_os::{Interest, Poller, read_some, write_all};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// What tmux still holds when a pane is dead comes within this time of silence, and within that time in all.
const QUIET_MS: u64 = 50;
const QUIET_MOST_MS: u64 = 5_000;

pub(crate) struct Output {
    thread: Option<JoinHandle<()>>,
    /// Becomes readable when the other end has closed.
    ended: UnixStream,
    last_ms: Arc<AtomicU64>,
}

pub(super) fn place(order: &TmuxOrder) -> String {
    format!("{}.out", order.notes)
}

impl Output {
    pub(crate) fn begin(server: &Server, order: &TmuxOrder, made: &Made) -> Result<Self, String> {
        let fifo =
            ostler_os::make_fifo(place(order).as_ref()).map_err(|error| error.to_string())?;
        let (ended, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let command = command(&place(order));
        server
            .ask(&["pipe-pane", "-O", "-t", &made.pane_id, &command])
            .map_err(|error| error.to_string())?;
        let last_ms = Arc::new(AtomicU64::new(ostler_os::mono_ms()));
        let last = Arc::clone(&last_ms);
        let thread = std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || pass(fifo, &last, theirs))
            .map_err(|error| error.to_string())?;
        Ok(Self { thread: Some(thread), ended, last_ms })
    }

    /// Somebody closed the pipe and put nothing in its place.
    pub(crate) fn again(self, server: &Server, order: &TmuxOrder, made: &Made) -> Self {
        match Self::begin(server, order, made) {
            Ok(output) => output,
            Err(why) => {
                super::tell(&format!("its output cannot be heard any more: {why}"));
                // Never readable again.
                let (ended, kept) = match UnixStream::pair() {
                    Ok(pair) => pair,
                    Err(_) => return self,
                };
                std::mem::forget(kept);
                Self { thread: None, ended, last_ms: Arc::clone(&self.last_ms) }
            }
        }
    }

    pub(crate) fn ended(&self) -> &UnixStream {
        &self.ended
    }

    /// Until nothing has come for a moment: closing the pipe loses what tmux has not written yet.
    pub(crate) fn wait_quiet(&self) {
        let began = ostler_os::mono_ms();
        loop {
            let now = ostler_os::mono_ms();
            let last = self.last_ms.load(Ordering::Acquire).max(began);
            if now >= last + QUIET_MS || now >= began + QUIET_MOST_MS {
                return;
            }
            ostler_os::nap(std::time::Duration::from_millis(last + QUIET_MS - now));
        }
    }

    /// What is still under way, once the other end is closed.
    pub(crate) fn finish(self) {
        let Self { thread, ended, .. } = self;
        let mut ready = Vec::new();
        let closed = Poller::new().and_then(|poller| {
            poller.add(&ended, 0, Interest::Readable)?;
            poller.wait(Some(QUIET_MOST_MS), &mut ready)
        });
        if closed.is_ok()
            && !ready.is_empty()
            && let Some(thread) = thread
        {
            let _ = thread.join();
        }
    }
}

fn pass(fifo: OwnedFd, last_ms: &AtomicU64, ended: UnixStream) {
    let Ok(poller) = Poller::new() else { return };
    if poller.add(&fifo, 0, Interest::Readable).is_err() {
        return;
    }
    let out = std::io::stdout();
    let mut ready = Vec::new();
    let mut buffer = vec![0u8; 64 << 10];
    loop {
        // Before anybody has opened the other end, there is neither something to read nor an end.
        let _ = poller.wait(None, &mut ready);
        loop {
            match read_some(&fifo, &mut buffer) {
                Ok(Some(0)) if !ready.is_empty() => {
                    drop(ended);
                    return;
                }
                Ok(Some(0)) | Ok(None) => break,
                Ok(Some(length)) => {
                    last_ms.store(ostler_os::mono_ms(), Ordering::Release);
                    // Whoever reads us has gone: that is no reason to stop the program.
                    let _ = write_all(out.as_fd(), &buffer[..length]);
                }
                Err(_) => {
                    drop(ended);
                    return;
                }
            }
        }
    }
}

/// For a shell, after tmux has looked for formats and times in it.
fn command(path: &str) -> String {
    let quoted = path.replace('\'', r"'\''");
    format!("exec cat >'{quoted}'").replace('#', "##").replace('%', "%%")
}

#[cfg(test)]
mod tests {
    #[test]
    fn neither_tmux_nor_the_shell_finds_anything_in_a_path() {
        let command = super::command("/a #{b} %H it's");
        assert_eq!(command, r"exec cat >'/a ##{b} %%H it'\''s'");
    }
}
