//! After the end: how it ended, the last of its output, and the session closed. Sessions are closed by their number, which
//! a server gives only once.

use super::End;
use super::make::OwnSession;
use super::pane_protocol::PaneSession;
use crate::call::{Server, TmuxError};
use crate::list::list;
use ostler_model::TmuxOrder;
use ostler_os::{Ending, Process};

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

pub(crate) fn taken(server: &Server, made: &OwnSession) -> Taken {
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
        Err(
            TmuxError::Silent { .. }
            | TmuxError::Foreign { .. }
            | TmuxError::NotRun { .. }
            | TmuxError::Garbled { .. },
        ) => Taken::Unknown,
    }
}

/// The program has ended, and the seat told how. If the pane is no more, that was somebody else's doing, whatever the program
/// made of it.
pub(crate) fn ended(
    server: &Server,
    order: &TmuxOrder,
    made: &OwnSession,
    sitting: PaneSession,
    ending: Option<Ending>,
) -> End {
    let known = ending.or_else(|| sitting.process.ending());
    let is_gone = match list(server) {
        Ok(listing) => !listing.panes.iter().any(|pane| pane.pane_id == made.pane_id),
        // The pane stays until it is released below, so a server that has ended was ended by someone else.
        Err(TmuxError::NoServer { .. }) => true,
        Err(_) => made.server.as_ref().is_some_and(Process::has_ended),
    };
    if is_gone {
        let output = sitting.release();
        close(server, made);
        output.finish();
        return End::Taken(describe_taken(order, made));
    }
    sitting.output.wait_last();
    let output = sitting.release();
    close(server, made);
    output.finish();
    match known {
        Some(ending) => End::Ended(ending),
        None => End::Taken("how it ended is not known: what waited for it was killed".to_owned()),
    }
}

/// Its session went, or its server did.
pub(crate) fn describe_taken(order: &TmuxOrder, made: &OwnSession) -> String {
    let has_ended = |server: &Process| server.wait_gone(Some(SERVER_MS)).unwrap_or(false);
    // One that ends does not listen any more, and takes its time for the rest.
    let is_absent = Server::at(&order.spec.socket).is_absent();
    if is_absent || made.server.as_ref().is_some_and(has_ended) {
        return format!("the tmux server at {} ended, and its session with it", order.spec.socket);
    }
    format!("its session {:?} was closed by somebody else", order.spec.session)
}

/// A server that ends closes its panes first.
const SERVER_MS: u64 = 200;

pub(crate) fn close(server: &Server, made: &OwnSession) {
    close_id(server, &made.session_id);
}

/// With every pane that somebody else has opened in it: it is ours.
pub(crate) fn close_id(server: &Server, session_id: &str) {
    match server.ask(&["kill-session", "-t", session_id]) {
        // Gone already is gone.
        Ok(_) | Err(TmuxError::NoServer { .. } | TmuxError::Refused { .. }) => {}
        Err(error) => super::notify(&format!("its session could not be closed: {error}")),
    }
}
