//! After the end: how it ended, the last of its output, and the session closed. Sessions are closed by their number, which
//! a server gives only once.

use super::End;
use super::make::Made;
use super::output::Output;
use crate::call::{Server, TmuxError};
use crate::list::{Pane, list};
use ostler_model::TmuxOrder;
use ostler_os::{Ending, Process};
use std::time::Duration;

/// tmux hears of an end when the kernel tells it, as we do; who is first differs.
const TOLD_MS: u64 = 5_000;
const BETWEEN: Duration = Duration::from_millis(10);

/// What became of the pane while its process lives.
pub(crate) enum Taken {
    /// The pane is no more.
    Gone,
    /// Its output goes to somebody else.
    Pipe,
    /// It goes nowhere.
    Nothing,
    Unknown,
}

pub(crate) fn taken(server: &Server, made: &Made) -> Taken {
    let asked =
        server.ask(&["display-message", "-p", "-t", &made.pane_id, "#{pane_id} #{pane_pipe}"]);
    match asked {
        Ok(text) => match text.trim().split_once(' ') {
            Some((id, pipe)) if id == made.pane_id => {
                if pipe == "1" {
                    Taken::Pipe
                } else {
                    Taken::Nothing
                }
            }
            Some(_) | None => Taken::Gone,
        },
        Err(TmuxError::NoServer { .. } | TmuxError::Refused { .. }) => Taken::Gone,
        Err(TmuxError::Silent { .. } | TmuxError::NotRun { .. } | TmuxError::Garbled { .. }) => {
            Taken::Unknown
        }
    }
}

/// The process has ended. Its pane tells how, as long as nobody has closed it: then the kernel does, where it can.
pub(crate) fn ended(
    server: &Server,
    order: &TmuxOrder,
    made: &Made,
    process: &Process,
    output: Output,
) -> End {
    let known = process.ending();
    let until = ostler_os::mono_ms() + TOLD_MS;
    let pane = loop {
        match seen(server, made) {
            Seen::Dead(pane) => break Some(pane),
            Seen::Alive if ostler_os::mono_ms() < until => ostler_os::nap(BETWEEN),
            Seen::Alive | Seen::Unknown | Seen::Gone => break None,
        }
    };
    let Some(pane) = pane else {
        close(server, made);
        output.finish();
        return End::Taken(taken_told(order, made));
    };
    output.wait_quiet();
    close(server, made);
    output.finish();
    let told = match (pane.exit_code, pane.exit_signal) {
        (Some(code), None) => Some(Ending::Code(code)),
        (_, Some(signal)) => Some(Ending::Signal(signal)),
        (None, None) => None,
    };
    match known.or(told) {
        Some(ending) => End::Ended(ending),
        None => {
            End::Taken("how it ended is not known: neither tmux nor the kernel told".to_owned())
        }
    }
}

/// Its session went, or its server did.
pub(crate) fn taken_told(order: &TmuxOrder, made: &Made) -> String {
    let has_ended = |server: &Process| server.wait_gone(Some(SERVER_MS)).unwrap_or(false);
    if made.server.as_ref().is_some_and(has_ended) {
        return format!("the tmux server at {} ended, and its session with it", order.spec.socket);
    }
    format!("its session {:?} was closed by somebody else", order.spec.session)
}

/// A server that ends closes its panes first.
const SERVER_MS: u64 = 200;

enum Seen {
    Dead(Box<Pane>),
    Alive,
    Gone,
    Unknown,
}

fn seen(server: &Server, made: &Made) -> Seen {
    let Ok(listing) = list(server) else { return Seen::Unknown };
    let is_ours = |pane: &Pane| pane.pane_id == made.pane_id && pane.pid == made.pane_pid;
    match listing.panes.into_iter().find(is_ours) {
        Some(pane) if pane.is_dead => Seen::Dead(Box::new(pane)),
        Some(_) => Seen::Alive,
        None => Seen::Gone,
    }
}

pub(crate) fn close(server: &Server, made: &Made) {
    close_id(server, &made.session_id);
}

/// With every pane that somebody else has opened in it: it is ours.
pub(crate) fn close_id(server: &Server, session_id: &str) {
    match server.ask(&["kill-session", "-t", session_id]) {
        // Gone already is gone.
        Ok(_) | Err(TmuxError::NoServer { .. } | TmuxError::Refused { .. }) => {}
        Err(error) => super::tell(&format!("its session could not be closed: {error}")),
    }
}
