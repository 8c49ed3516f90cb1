//! The shim: the process of a run that keeps a tmux session.
//!
//! ```text
//!   is the name free? ──► create the session ──► start the program ──► wait ──► it ended ──► close the session,
//!      │ foreign session     │                       │                   │                   exit with its status
//!      ▼                     │ left by an            │ it cannot be      │ stop requested
//!   refused                  ▼ earlier shim          ▼ executed          ▼
//!                        kill its processes,      refused         send the stop signal to its processes,
//!                        close its session                        wait for the grace period, kill
//! ```
//!
//! While the shim waits, only output, signals and the kernel wake it: the pane process reports that the program ended,
//! the server ended, or the pane's output ended (then another process closed the pane). If the shim is killed, the
//! session goes on until its supervisor ends the processes in it. The unit's next shim, or `sweep`, closes the session.

mod close;
mod make;
mod output;
mod pane_exec;
mod pane_protocol;
mod sd_notify;

pub use pane_exec::take;

use crate::call::{Server, TmuxError};
use crate::note;
use close::{PaneOutput, close};
use make::{OwnSession, make};
use ostler_model::{TmuxEnd, TmuxEndKind, TmuxOrder, TmuxOwner};
use ostler_os::{Ending, Interest, Poller, Process, ProcessTree, Ready, Signal, StopListener};
use pane_protocol::PaneSession;
use sd_notify::ShimNotify;

/// Exit code: a retry would fail again.
const CONFIG: i32 = 78;
/// Exit code: a retry may succeed, but not at once. 75 would ask for a restart without a wait.
const UNAVAILABLE: i32 = 69;
const GONE: i32 = 1;
/// The exit code a shell uses for a program that cannot be executed.
const NOT_EXECUTED: i32 = 126;

/// How the session ended.
#[derive(Debug)]
pub(crate) enum End {
    Ended(Ending),
    /// The session cannot be created with these settings.
    Refused(String),
    /// The program could not be executed.
    NotExecuted(String),
    /// The session could not be created this time.
    Failed(String),
    /// Another process ended the session or its server.
    Taken(String),
    /// The shim was stopped before the program started.
    StopRequested,
}

fn order() -> Result<TmuxOrder, String> {
    let text = std::env::var(TmuxOrder::VARIABLE)
        .map_err(|_| format!("{} is not set", TmuxOrder::VARIABLE))?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Whether the environment describes a session.
pub fn is_meant() -> bool {
    std::env::var_os(TmuxOrder::VARIABLE).is_some()
}

/// Keeps the session that the environment describes. Returns the exit code. If a signal killed the program, this
/// process ends by the same signal.
pub fn keep() -> i32 {
    let order = match order() {
        Ok(order) => order,
        Err(error) => {
            notify(&format!("invalid session description: {error}"));
            return CONFIG;
        }
    };
    let end = match StopListener::listen() {
        Ok(stop) => live(&order, &stop),
        Err(error) => End::Failed(format!("cannot receive signals: {error}")),
    };
    note::close_pane(&order);
    for left in [output::place(&order), pane_protocol::place(&order)] {
        let _ = std::fs::remove_file(left);
    }
    let noted = |kind, why: String| {
        notify(&why);
        note::write_end(&order, &TmuxEnd { run: order.run.clone(), kind, why });
    };
    match end {
        End::Ended(Ending::Code(code)) => code,
        End::Ended(Ending::Signal(signal)) => {
            ostler_os::end_by_signal(signal);
            128 + signal
        }
        End::Refused(why) => {
            noted(TmuxEndKind::Refused, why);
            CONFIG
        }
        End::NotExecuted(why) => {
            noted(TmuxEndKind::Failed, why);
            NOT_EXECUTED
        }
        End::Failed(why) => {
            noted(TmuxEndKind::Failed, why);
            UNAVAILABLE
        }
        End::Taken(why) => {
            noted(TmuxEndKind::Taken, why);
            GONE
        }
        End::StopRequested => 0,
    }
}

/// Removes what is left of a unit's sessions.
pub fn sweep() -> i32 {
    let Ok(order) = order() else { return CONFIG };
    let Ok(stop) = StopListener::listen() else { return GONE };
    match make::clear(&server(&order), &order, &stop) {
        Ok(()) => {
            let _ = std::fs::remove_file(order.pane_note());
            0
        }
        Err(_) => UNAVAILABLE,
    }
}

pub(crate) fn notify(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "ostler: {text}");
}

fn server(order: &TmuxOrder) -> Server {
    let server = Server::at(&order.spec.socket);
    match &order.spec.program {
        Some(program) => server.with_program(program),
        None => server,
    }
}

fn live(order: &TmuxOrder, stop: &StopListener) -> End {
    let words = ShimNotify::open(order.spec.is_ready_once_started);
    let server = server(order);
    if order.spec.server == TmuxOwner::Ours && !wait_for_server(&server, stop, &words) {
        return End::StopRequested;
    }
    if let Err(end) = make::clear(&server, order, stop) {
        return end;
    }
    if stop.take() {
        return End::StopRequested;
    }
    let made = pane_protocol::open(order).and_then(|socket| Ok((make(&server, order)?, socket)));
    let (made, socket) = match made {
        Ok(made) => made,
        Err(end) => return end,
    };
    let pane_program = pane_protocol::hand_over(&server, order, &made, socket, stop);
    let sitting = match pane_program {
        Ok(sitting) => sitting,
        Err(end) => {
            close(&server, &made);
            return end;
        }
    };
    words.say(&format!("READY=1\nSTATUS=session {}", order.spec.session));
    wait(&server, order, &made, sitting, stop, &words)
}

/// Ostler's own server is a unit and will be restarted: waits for it. Returns false if a stop is requested before.
fn wait_for_server(server: &Server, stop: &StopListener, words: &ShimNotify) -> bool {
    let until = ostler_os::mono_ms() + SERVER_MS;
    let mut is_reported = false;
    let mut ready = Vec::new();
    while server.is_absent() && ostler_os::mono_ms() < until {
        if !std::mem::replace(&mut is_reported, true) {
            words.say("STATUS=waiting for its tmux server");
        }
        let waited = Poller::new().and_then(|poller| {
            poller.add(stop, STOP, Interest::Readable)?;
            poller.wait(Some(LOOK_MS), &mut ready)
        });
        if waited.is_err() || stop.take() {
            return false;
        }
    }
    true
}

const SERVER_MS: u64 = 60_000;
const LOOK_MS: u64 = 50;

const STOP: u64 = 0;
const PANE: u64 = 1;
const SERVER: u64 = 2;
const OUTPUT: u64 = 3;

/// Waits for the program's end, or ends the program on a stop request.
fn wait(
    server: &Server,
    order: &TmuxOrder,
    made: &OwnSession,
    mut sitting: PaneSession,
    stop: &StopListener,
    words: &ShimNotify,
) -> End {
    let watched = Poller::new().and_then(|poller| {
        poller.add(stop, STOP, Interest::Readable)?;
        poller.add(sitting.line(), PANE, Interest::Readable)?;
        if let Some(own) = &made.server {
            poller.add(own, SERVER, Interest::Readable)?;
        }
        poller.add(sitting.output.ended(), OUTPUT, Interest::Readable)?;
        Ok(poller)
    });
    let Ok(poller) = watched else {
        end_tree(order, Some(&sitting.process), words);
        close(server, made);
        return End::Failed("cannot watch its processes".to_owned());
    };
    let mut ready: Vec<Ready> = Vec::new();
    // Without the pane's output, no event reports that the session was closed: the shim polls.
    let mut look_in_ms = None;
    let mut is_reported = false;
    while !sitting.has_news() {
        let wait_ms = look_in_ms.into_iter().chain(sitting.note_retry_ms()).min();
        if poller.wait(wait_ms, &mut ready).is_err() {
            continue;
        }
        sitting.retry_note();
        let has = |token: u64| ready.iter().any(|one| one.token == token);
        if has(PANE) {
            break;
        }
        if has(STOP) && stop.take() {
            end_tree(order, Some(&sitting.process), words);
            break;
        }
        if has(SERVER) {
            end_tree(order, Some(&sitting.process), words);
            sitting.release().finish();
            return End::Taken(close::describe_taken(order, made));
        }
        if has(OUTPUT) {
            poller.remove(sitting.output.ended());
            if sitting.output.has_last() {
                // The exit status follows.
                continue;
            }
        }
        if has(OUTPUT) || (ready.is_empty() && look_in_ms.is_some()) {
            match close::taken(server, made) {
                // The program mostly ends with its session; the pane process reports it.
                PaneOutput::Gone => {
                    if !sitting.process.wait_gone(Some(SETTLE_MS)).unwrap_or(false) {
                        end_tree(order, Some(&sitting.process), words);
                    }
                    break;
                }
                // The server may not have noticed yet that the process that copied the output has gone.
                PaneOutput::Pipe | PaneOutput::Unknown if look_in_ms.is_none() => {
                    look_in_ms = Some(LOOK_SOON_MS);
                }
                PaneOutput::Pipe | PaneOutput::Unknown => {
                    if !std::mem::replace(&mut is_reported, true) {
                        notify(
                            "another process took the output of its pane; this log no longer receives it",
                        );
                    }
                    look_in_ms = Some(LOOK_AGAIN_MS);
                }
                PaneOutput::Nothing => {
                    sitting.output = sitting.output.again(server, order, made);
                    look_in_ms = match sitting.output.is_received() {
                        true => None,
                        false => Some(LOOK_AGAIN_MS),
                    };
                    let _ = poller.add(sitting.output.ended(), OUTPUT, Interest::Readable);
                }
            }
        }
    }
    let ending = sitting.ending();
    if ending.is_none() {
        // The pane process was killed: its program must not go on without it.
        end_tree(order, Some(&sitting.process), words);
    }
    close::ended(server, order, made, sitting, ending)
}

/// The polling intervals for a pane whose output is not received.
const LOOK_SOON_MS: u64 = 200;
const LOOK_AGAIN_MS: u64 = 5_000;

/// How long a process may take to end after its session.
const SETTLE_MS: u64 = 500;

/// Sends the stop signal to all processes, the youngest first, waits for the grace period, and sends SIGKILL. Processes
/// are found by descent and by the run's cgroups. The supervisor kills those that have left both.
fn end_tree(order: &TmuxOrder, root: Option<&Process>, words: &ShimNotify) {
    words.say("STOPPING=1");
    let family = ProcessTree::find(root, &order.run);
    family.signal(Signal::Other(order.stop_signal));
    if !family.wait_gone(order.grace_ms) {
        notify(&format!("it did not stop within {} ms; killing it", order.grace_ms));
    }
    ProcessTree::kill(root, &order.run);
}

pub(crate) fn failed(order: &TmuxOrder, error: &TmuxError) -> End {
    match (error, order.spec.server) {
        (TmuxError::NoServer { .. }, TmuxOwner::Other) => End::Failed(format!(
            "{error}; start it with `tmux -S {} new-session -d`, or run `ostler up` on a terminal",
            order.spec.socket
        )),
        (TmuxError::NotRun { .. }, _) => End::Refused(format!("{error}; install tmux")),
        _ => End::Failed(error.to_string()),
    }
}
