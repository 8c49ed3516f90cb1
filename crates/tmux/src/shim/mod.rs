//! The shim's life.
//!
//! ```text
//!   who has the name? ──► make the session ──► hand the seat over ──► wait ──► it ended ──► close the session,
//!      │ a stranger              │                    │                 │                    end as it did
//!      ▼                         │ left by a shim     │ it cannot be    │ told to end
//!   refused                      ▼ before us          ▼ executed        ▼
//!                        its tree is ended,        refused         its tree is asked to end,
//!                        then its session                          has its grace, is killed
//! ```
//!
//! While it waits nothing wakes it but output and the kernel: the seat tells that the program ended, the server ended, the
//! pane's output came to an end (then somebody closed the pane), or a signal. If the shim is killed, the session goes on until its supervisor
//! ends what is in it; the next shim of the unit, or `sweep`, closes it.

mod close;
mod make;
mod output;
mod pane_exec;
mod pane_protocol;
mod sd_notify;

pub use pane_exec::take;

use crate::call::{Server, TmuxError};
use crate::note;
use close::{Taken, close};
use make::{OwnSession, make};
use ostler_model::{TmuxEnd, TmuxEndKind, TmuxOrder, TmuxOwner};
use ostler_os::{Ending, Interest, Poller, Process, ProcessTree, Ready, Signal, StopListener};
use pane_protocol::PaneSession;
use sd_notify::ShimNotify;

/// The same again would fail again.
const CONFIG: i32 = 78;
/// It may well be otherwise the next time, but not at once: 75 would be a wish to be started again without a wait.
const UNAVAILABLE: i32 = 69;
const GONE: i32 = 1;
/// As a shell has it for what could not be executed.
const NOT_EXECUTED: i32 = 126;

/// How it ended.
#[derive(Debug)]
pub(crate) enum End {
    Ended(Ending),
    /// It cannot be made as it is declared.
    Refused(String),
    /// Its program could not be executed.
    NotExecuted(String),
    /// It could not be made just now.
    Failed(String),
    /// Somebody else ended its session or its server.
    Taken(String),
    /// We were told to end before there was anything to end.
    Asked,
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

/// Keeps the session that the environment describes. Returns the exit code to end with; where its program was ended by a
/// signal, this process is ended by the same.
pub fn keep() -> i32 {
    let order = match order() {
        Ok(order) => order,
        Err(error) => {
            notify(&format!("no session is described: {error}"));
            return CONFIG;
        }
    };
    let end = match StopListener::listen() {
        Ok(stop) => live(&order, &stop),
        Err(error) => End::Failed(format!("signals cannot be heard: {error}")),
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
        End::Asked => 0,
    }
}

/// Ends whatever is left of a unit's sessions.
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
    let words = ShimNotify::open(order.spec.is_ready_when_seated);
    let server = server(order);
    if order.spec.server == TmuxOwner::Ours && !come(&server, stop, &words) {
        return End::Asked;
    }
    if let Err(end) = make::clear(&server, order, stop) {
        return end;
    }
    if stop.take() {
        return End::Asked;
    }
    let made = pane_protocol::open(order).and_then(|door| Ok((make(&server, order)?, door)));
    let (made, door) = match made {
        Ok(made) => made,
        Err(end) => return end,
    };
    let pane_program = pane_protocol::hand_over(&server, order, &made, door, stop);
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

/// Our own server is a unit, and will be there again if it is not: it is waited for. False if we are told to end before.
fn come(server: &Server, stop: &StopListener, words: &ShimNotify) -> bool {
    let until = ostler_os::mono_ms() + SERVER_MS;
    let mut is_reported = false;
    let mut ready = Vec::new();
    while server.is_absent() && ostler_os::mono_ms() < until {
        if !std::mem::replace(&mut is_reported, true) {
            words.say("STATUS=its tmux server does not run; it is waited for");
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

/// Until it has ended, or has to.
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
        return End::Failed("its processes cannot be watched".to_owned());
    };
    let mut ready: Vec<Ready> = Vec::new();
    // While its output is not heard, nothing else tells that its session was closed: it is looked at now and then.
    let mut look_in_ms = None;
    let mut is_reported = false;
    while !sitting.has_news() {
        if poller.wait(look_in_ms, &mut ready).is_err() {
            continue;
        }
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
                // The news of the end follows.
                continue;
            }
        }
        if has(OUTPUT) || (ready.is_empty() && look_in_ms.is_some()) {
            match close::taken(server, made) {
                // The end of its session is the end of its program, mostly; the seat tells.
                Taken::Gone => {
                    if !sitting.process.wait_gone(Some(SETTLE_MS)).unwrap_or(false) {
                        end_tree(order, Some(&sitting.process), words);
                    }
                    break;
                }
                // A server may not have seen yet that whoever copied the output has gone.
                Taken::Pipe | Taken::Unknown if look_in_ms.is_none() => {
                    look_in_ms = Some(LOOK_SOON_MS);
                }
                Taken::Pipe | Taken::Unknown => {
                    if !std::mem::replace(&mut is_reported, true) {
                        notify(
                            "somebody else took the output of its pane: it is not in this log any more",
                        );
                    }
                    look_in_ms = Some(LOOK_AGAIN_MS);
                }
                Taken::Nothing => {
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
        // What waited for it was killed: nothing of it is to go on without.
        end_tree(order, Some(&sitting.process), words);
    }
    close::ended(server, order, made, sitting, ending)
}

/// How soon, and how often, a pane is looked at whose output is not heard.
const LOOK_SOON_MS: u64 = 200;
const LOOK_AGAIN_MS: u64 = 5_000;

/// How long a process may take to follow its session.
const SETTLE_MS: u64 = 500;

/// What it is asked to end with, to the youngest first; its grace; KILL. Whoever came of it is found by descent, or is in
/// the run's groups with us; who has left even those is its supervisor's to end.
fn end_tree(order: &TmuxOrder, root: Option<&Process>, words: &ShimNotify) {
    words.say("STOPPING=1");
    let family = ProcessTree::find(root, &order.run);
    family.signal(Signal::Other(order.stop_signal));
    if !family.wait_gone(order.grace_ms) {
        notify(&format!("it did not end within {} ms: it is killed", order.grace_ms));
    }
    ProcessTree::kill(root, &order.run);
}

pub(crate) fn failed(order: &TmuxOrder, error: &TmuxError) -> End {
    match (error, order.spec.server) {
        (TmuxError::NoServer { .. }, TmuxOwner::Other) => End::Failed(format!(
            "{error}: start it, for example with `tmux -S {} new-session -d`, or by `ostler up` on a terminal",
            order.spec.socket
        )),
        (TmuxError::NotRun { .. }, _) => End::Refused(format!("{error}: install tmux")),
        _ => End::Failed(error.to_string()),
    }
}
