//! Runs the executable: to its end, or in the background.

use crate::process::Process;
use crate::waiting::PATIENCE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::Value;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The result of a call.
pub struct Output {
    /// The exit code, or 128 + n if signal n ended it.
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Output {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The last line of its standard output, which is the JSON document.
    pub fn json(&self) -> Value {
        let text = self.text();
        let line = text.lines().next_back().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.text();
        write!(f, "exit {}\nstdout: {text:.2000?}\nstderr: {:.2000?}", self.code, self.stderr)
    }
}

/// A program in the background.
pub struct Background {
    child: Child,
    stdout: Stream,
    stderr: Stream,
    description: String,
}

impl Background {
    pub(crate) fn start(mut command: Command, input: &[u8]) -> Self {
        let description = format!("{command:?}");
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut child = command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{description}: {error}"));
        if let Some(mut pipe) = child.stdin.take() {
            let input = input.to_vec();
            std::thread::spawn(move || pipe.write_all(&input));
        }
        let stdout = Stream::collect(child.stdout.take().expect("piped"));
        let stderr = Stream::collect(child.stderr.take().expect("piped"));
        Self { child, stdout, stderr, description }
    }

    pub fn process(&self) -> Process {
        Process::find(self.child.id() as i32).expect("the program is running")
    }

    pub fn signal(&self, signal: Signal) {
        crate::process::signal(self.child.id() as i32, signal);
    }

    /// Waits until its standard output contains this, and returns all of it.
    pub fn until_written(&self, text: &str) -> String {
        self.stdout.until(text, &self.description)
    }

    pub fn until_stderr_has(&self, text: &str) -> String {
        self.stderr.until(text, &self.description)
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_some()
    }

    /// Waits for its end.
    pub fn finish(self) -> Output {
        self.finish_within(PATIENCE * 2)
    }

    pub fn finish_within(mut self, patience: Duration) -> Output {
        // If `is_over` has reaped it, its pid is gone.
        if !self.is_over() {
            let pid = Pid::from_child(&self.child);
            let handle = pidfd_open(pid, PidfdFlags::empty()).expect("a child of ours");
            let limit = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: 0 };
            let mut waited = [PollFd::new(&handle, PollFlags::IN)];
            let ready = poll(&mut waited, Some(&limit)).expect("poll");
            assert!(ready > 0, "{} did not end within {patience:?}", self.description);
        }
        let status = self.child.wait().expect("a child of ours");
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Output {
            code: code.expect("a code or a signal"),
            stdout: self.stdout.whole(&self.description),
            stderr: String::from_utf8_lossy(&self.stderr.whole(&self.description)).into_owned(),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A stream that is read in the background.
pub(crate) struct Stream {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    read: Mutex<Read>,
    more: Condvar,
}

#[derive(Default)]
struct Read {
    bytes: Vec<u8>,
    over: bool,
}

impl Stream {
    pub(crate) fn collect(mut source: impl io::Read + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let ours = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut buffer = vec![0u8; 64 << 10];
            loop {
                // Reading a terminal fails after its last program has ended: that is the end.
                let length = source.read(&mut buffer).unwrap_or(0);
                let mut read = ours.read.lock().expect("no panic inside");
                read.bytes.extend_from_slice(&buffer[..length]);
                read.over = length == 0;
                ours.more.notify_all();
                if read.over {
                    return;
                }
            }
        });
        Self { shared }
    }

    /// Waits until the stream contains this, and returns all of it.
    pub(crate) fn until(&self, text: &str, description: &str) -> String {
        let read = self.shared.read.lock().expect("no panic inside");
        let (read, _) = self
            .shared
            .more
            .wait_timeout_while(read, PATIENCE, |read| {
                !read.over && !String::from_utf8_lossy(&read.bytes).contains(text)
            })
            .expect("no panic inside");
        let written = String::from_utf8_lossy(&read.bytes).into_owned();
        drop(read);
        assert!(written.contains(text), "{description} never wrote {text:?}: {written:?}");
        written
    }

    /// What was read so far.
    pub(crate) fn so_far(&self) -> Vec<u8> {
        self.shared.read.lock().expect("no panic inside").bytes.clone()
    }

    /// The whole stream, after its end. Fails if a process still holds the other side open.
    pub(crate) fn whole(&self, description: &str) -> Vec<u8> {
        let read = self.shared.read.lock().expect("no panic inside");
        let (read, _) = self
            .shared
            .more
            .wait_timeout_while(read, PATIENCE, |read| !read.over)
            .expect("no panic inside");
        let (over, bytes) = (read.over, read.bytes.clone());
        drop(read);
        assert!(over, "{description} is over, but a process still holds its output open");
        bytes
    }
}
