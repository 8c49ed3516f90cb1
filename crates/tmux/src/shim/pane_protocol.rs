//! Starts the program in the pane. tmux has started the `ostler` executable there (the pane process), which waits for
//! its orders. The environment is sent over a private socket: it is in no file and on no command line.
//!
//! ```text
//!   pane process ── connects ──► shim: checks with the kernel that it is the pane's process
//!   pane process ◄── its cgroups, arguments, environment ── shim
//!   pane process ── whether it could join its cgroups ──► shim: marks the pane, captures its output, writes the note
//!   pane process ◄── go ── shim                             (from here on no output is lost)
//!   pane process ── the program's pid, or why it did not start ──► shim
//!   pane process ── how it ended ──► shim: reads the output up to the end marker
//!   pane process ◄── enough ── shim
//! ```

use super::make::OwnSession;
use super::output::Output;
use super::{End, failed};
use crate::call::Server;
use crate::list::PANE;
use crate::note::{self, UnwrittenNote};
use ostler_model::{OsText, PaneRecord, TmuxOrder};
use ostler_os::{
    Ending, Interest, ListeningSocket, PaneNote, Poller, Process, ProcessAttrs, StopListener,
    fingerprint_of, groups_of_run, own_attrs, own_environment, peer_of,
};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A loaded machine takes time to start a program.
const PATIENCE: Duration = Duration::from_secs(30);
const LEAVE_MS: u64 = 2_000;

/// What the pane process is to execute, and how.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PaneOrders {
    pub(super) groups: Vec<String>,
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<OsText>,
    pub(super) cwd: String,
    pub(super) umask: u32,
    pub(super) descriptors: [Option<u64>; 2],
    pub(super) data: [Option<u64>; 2],
    pub(super) nice: i32,
    pub(super) memory_score: i32,
    /// The marker to write to the terminal after the program's output.
    pub(super) last: String,
    /// As in the shim's order.
    #[serde(default)]
    pub(super) own_sockets: Option<String>,
}

impl PaneOrders {
    pub(super) fn attrs(&self) -> ProcessAttrs {
        let Self { umask, descriptors, data, nice, memory_score, .. } = self;
        ProcessAttrs {
            umask: *umask,
            descriptors: *descriptors,
            data: *data,
            nice: *nice,
            memory_score: *memory_score,
        }
    }
}

/// The pane process's answer before it may start the program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PaneJoined {
    pub(super) groups: Vec<bool>,
}

/// The pane process's messages from then on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PaneEvent {
    Refused(String),
    Started(i32),
    Code(i32),
    Signal(i32),
}

/// The program in the pane, and the connection to the pane process.
pub(super) struct PaneSession {
    pub(super) process: Process,
    pub(super) output: Output,
    /// The note that names the program, while it could not be written.
    unwritten_note: Option<UnwrittenNote>,
    pane_process: Process,
    line: BufReader<UnixStream>,
}

impl PaneSession {
    /// Readable when the pane process has sent a message or has ended.
    pub(super) fn line(&self) -> &UnixStream {
        self.line.get_ref()
    }

    /// Whether a message was received together with an earlier one: the connection does not become readable for it.
    pub(super) fn has_news(&self) -> bool {
        !self.line.buffer().is_empty()
    }

    /// When to call `retry_note` again.
    pub(super) fn note_retry_ms(&self) -> Option<u64> {
        self.unwritten_note.as_ref().map(|_| UnwrittenNote::RETRY_MS)
    }

    pub(super) fn retry_note(&mut self) {
        self.unwritten_note = self.unwritten_note.take().and_then(UnwrittenNote::retry);
    }

    /// How the program ended, as the pane process reports it; `None` if the pane process has ended.
    pub(super) fn ending(&mut self) -> Option<Ending> {
        match receive(&mut self.line)? {
            PaneEvent::Code(code) => Some(Ending::Code(code)),
            PaneEvent::Signal(signal) => Some(Ending::Signal(signal)),
            PaneEvent::Refused(_) | PaneEvent::Started(_) => None,
        }
    }

    /// Lets the pane process exit.
    pub(super) fn release(self) -> Output {
        let Self { output, pane_process, mut line, .. } = self;
        let _ = line.get_mut().write_all(b"enough\n");
        // Otherwise it would still be found in the run after the shim has exited.
        let _ = pane_process.wait_gone(Some(LEAVE_MS));
        output
    }
}

fn receive(line: &mut BufReader<UnixStream>) -> Option<PaneEvent> {
    let mut text = String::new();
    line.read_line(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

pub(super) const GO: &str = "go\n";
const TOO_SOON: &str = "the pane's process ended before it received its orders";

/// The path of the shim's socket.
pub(super) fn place(order: &TmuxOrder) -> String {
    format!("{}.sock", order.notes)
}

/// Created before the pane: the pane process may connect before tmux has reported it.
pub(super) fn open(order: &TmuxOrder) -> Result<ListeningSocket, End> {
    ListeningSocket::open(Path::new(&place(order)))
        .map_err(failed_to("cannot create the socket for its pane"))
}

fn failed_to(what: &str) -> impl FnOnce(std::io::Error) -> End + use<> {
    let what = what.to_owned();
    move |error| End::Failed(format!("{what}: {error}"))
}

/// Starts the program in the pane, and captures its output.
pub(super) fn hand_over(
    server: &Server,
    order: &TmuxOrder,
    made: &OwnSession,
    socket: ListeningSocket,
    stop: &StopListener,
) -> Result<PaneSession, End> {
    let pane_process = fingerprint_of(made.pane_pid)
        .and_then(|found| Process::open(&found))
        .ok_or_else(|| End::Failed(TOO_SOON.to_owned()))?;
    let stream = accept_pane_process(&socket, made, &pane_process, stop)?;
    socket.file.remove();
    drop(socket);
    let timed = |stream: &UnixStream| -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))
    };
    timed(&stream).map_err(failed_to("cannot set up the connection to its pane"))?;
    let last = last_words()?;
    let orders = orders(order, last.clone());
    let mut text = serde_json::to_string(&orders)
        .map_err(|error| End::Failed(format!("cannot encode its orders: {error}")))?;
    text.push('\n');
    let mut stream = BufReader::new(stream);
    stream
        .get_mut()
        .write_all(text.as_bytes())
        .map_err(failed_to("cannot write to the process in its pane"))?;
    let mut line = String::new();
    stream.read_line(&mut line).map_err(failed_to("no answer from the process in its pane"))?;
    let joined: PaneJoined =
        serde_json::from_str(&line).map_err(|_| End::Failed(TOO_SOON.to_owned()))?;
    let is_joined = !joined.groups.is_empty() && joined.groups.iter().all(|joined| *joined);
    let output = Output::begin(server, order, made, last.into_bytes())
        .map_err(|why| End::Failed(format!("cannot capture its output: {why}")))?;
    mark(server, order, made)?;
    let note =
        PaneNote::of(made.pane_pid, is_joined).ok_or_else(|| End::Failed(TOO_SOON.to_owned()))?;
    note::write_pane_note(order, &note, &record(server, order, made, None))
        .map_err(failed_to("cannot write its note"))?;
    if stop.take() {
        return Err(End::StopRequested);
    }
    stream
        .get_mut()
        .write_all(GO.as_bytes())
        .map_err(failed_to("cannot write to the process in its pane"))?;
    let pid = match receive(&mut stream) {
        Some(PaneEvent::Started(pid)) => pid,
        Some(PaneEvent::Refused(why)) => return Err(End::NotExecuted(why)),
        Some(PaneEvent::Code(_) | PaneEvent::Signal(_)) | None => {
            return Err(End::Failed(TOO_SOON.to_owned()));
        }
    };
    // The pane process does not reap it yet, so the pid is not reused even if the program has ended.
    let process = Process::at(pid).ok_or_else(|| End::Failed(TOO_SOON.to_owned()))?;
    let unwritten_note = PaneNote::of(pid, is_joined).and_then(|note| {
        UnwrittenNote::write(order, &note, &record(server, order, made, Some(pid)))
    });
    Ok(PaneSession { process, output, unwritten_note, pane_process, line: stream })
}

/// A marker that no program writes, and that terminals do not display: they ignore unknown sequences.
fn last_words() -> Result<String, End> {
    let random: [u8; 16] = ostler_os::random().map_err(failed_to("cannot get random numbers"))?;
    let word = random.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    Ok(format!("\x1b]7717;ostler-{word}\x07"))
}

/// Accepts the connection of the process that tmux started in the pane; closes all others.
fn accept_pane_process(
    socket: &ListeningSocket,
    made: &OwnSession,
    process: &Process,
    stop: &StopListener,
) -> Result<UnixStream, End> {
    const SOCKET: u64 = 0;
    const STOP: u64 = 1;
    const PANE: u64 = 2;
    let watched = Poller::new().and_then(|poller| {
        poller.add(&socket.listener, SOCKET, Interest::Readable)?;
        poller.add(stop, STOP, Interest::Readable)?;
        poller.add(process, PANE, Interest::Readable)?;
        Ok(poller)
    });
    let poller = watched.map_err(failed_to("cannot watch the process in its pane"))?;
    let until = ostler_os::mono_ms() + PATIENCE.as_millis() as u64;
    let mut ready = Vec::new();
    loop {
        let left = until.saturating_sub(ostler_os::mono_ms());
        if left == 0 {
            return Err(End::Failed("the pane's process did not connect in time".to_owned()));
        }
        let _ = poller.wait(Some(left), &mut ready);
        if stop.take() {
            return Err(End::StopRequested);
        }
        while let Ok((stream, _)) = socket.listener.accept() {
            if peer_of(&stream).is_ok_and(|peer| peer.pid == made.pane_pid) {
                return Ok(stream);
            }
        }
        if process.has_ended() {
            return Err(End::Failed(TOO_SOON.to_owned()));
        }
    }
}

/// From here on tmux keeps the pane after its program has ended, so that the exit status can be read. A user's
/// `pane-died` hook does not apply to it.
fn mark(server: &Server, order: &TmuxOrder, made: &OwnSession) -> Result<(), End> {
    let pane = made.pane_id.as_str();
    let mut words = vec!["set-option", "-p", "-t", pane, "remain-on-exit", "on"];
    words.extend([";", "set-option", "-p", "-t", pane, PANE, &order.run]);
    words.extend([";", "set-hook", "-p", "-t", pane, "pane-died", ""]);
    server.ask(&words).map(|_| ()).map_err(|error| failed(order, &error))
}

fn record(server: &Server, order: &TmuxOrder, made: &OwnSession, pid: Option<i32>) -> PaneRecord {
    PaneRecord {
        run: order.run.clone(),
        unit: order.unit.clone(),
        home: order.home.clone(),
        program: server.program().display().to_string(),
        socket: order.spec.socket.clone(),
        session_id: made.session_id.clone(),
        session: order.spec.session.clone(),
        pane_id: made.pane_id.clone(),
        pane_pid: made.pane_pid,
        pid,
        server_pid: made.server_pid,
        is_closed: false,
    }
}

/// The program gets this process's attributes and environment, without the shim's own variables.
fn orders(order: &TmuxOrder, last: String) -> PaneOrders {
    let environment = own_environment();
    let has = |name: &str| {
        let begin = format!("{name}=");
        environment.iter().any(|word| word.as_encoded_bytes().starts_with(begin.as_bytes()))
    };
    let mut hidden = vec![format!("{}=", TmuxOrder::VARIABLE)];
    if order.spec.is_ready_once_started && !has("WATCHDOG_USEC") {
        // The socket was for the shim's own messages.
        hidden.push("NOTIFY_SOCKET=".to_owned());
    }
    let is_hidden = |word: &[u8]| hidden.iter().any(|name| word.starts_with(name.as_bytes()));
    let env = environment
        .into_iter()
        .map(|word| OsText(word.into_vec()))
        .filter(|word| !is_hidden(word.as_bytes()))
        .collect();
    let ProcessAttrs { umask, descriptors, data, nice, memory_score } = own_attrs();
    let groups = groups_of_run(&order.run);
    PaneOrders {
        groups: groups.iter().map(|group| group.display().to_string()).collect(),
        argv: order.argv.clone(),
        env,
        cwd: order.cwd.clone(),
        umask,
        descriptors,
        data,
        nice,
        memory_score,
        last,
        own_sockets: order.own_sockets.clone(),
    }
}
