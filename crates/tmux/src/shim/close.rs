//! After the program's end: collects the exit status and the last output, and closes the session. Sessions are closed
//! by their id, which a server never reuses.

use super::End;
use super::make::OwnSession;
use super::pane_protocol::PaneSession;
use crate::call::{Server, TmuxError};
use crate::list::list;
use ostler_model::TmuxOrder;
use ostler_os::{Ending, Process};

/// The state of the pane while its process is alive.
pub(crate) enum PaneOutput {
    /// The pane does not exist any more.
    Gone,
    /// Its output goes to another process.
    Pipe,
    /// Its output goes nowhere.
    Nothing,
    Unknown,
}

pub(crate) fn taken(server: &Server, made: &OwnSession) -> PaneOutput {
    let asked =
        server.ask(&["display-message", "-p", "-t", &made.pane_id, "#{pane_id} #{pane_pipe}"]);
    match asked {
        Ok(text) => match text.trim().split_once(' ') {
            Some((id, pipe)) if id == made.pane_id => {
                if pipe == "1" {
                    PaneOutput::Pipe
                } else {
                    PaneOutput::Nothing
                }
            }
            Some(_) | None => PaneOutput::Gone,
        },
        Err(TmuxError::NoServer { .. } | TmuxError::Refused { .. }) => PaneOutput::Gone,
        Err(
            TmuxError::Silent { .. }
            | TmuxError::Foreign { .. }
            | TmuxError::NotRun { .. }
            | TmuxError::Garbled { .. },
        ) => PaneOutput::Unknown,
    }
}

/// Handles the end of the program, which the pane process reported. If the pane does not exist any more, another
/// process closed it, whatever the exit status is.
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
        // The pane stays until `release` below. So if the server has ended, another process ended it.
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
        None => End::Taken("exit status unknown: its pane process was killed".to_owned()),
    }
}

/// Why the pane is gone: the session was closed, or the server ended.
pub(crate) fn describe_taken(order: &TmuxOrder, made: &OwnSession) -> String {
    let has_ended = |server: &Process| server.wait_gone(Some(SERVER_MS)).unwrap_or(false);
    // A server that is ending does not listen any more, and takes some time to exit.
    let is_absent = Server::at(&order.spec.socket).is_absent();
    if is_absent || made.server.as_ref().is_some_and(has_ended) {
        return format!("the tmux server at {} ended, and its session with it", order.spec.socket);
    }
    format!("another process closed its session {:?}", order.spec.session)
}

/// A server that is ending closes its panes first.
const SERVER_MS: u64 = 200;

pub(crate) fn close(server: &Server, made: &OwnSession) {
    close_id(server, &made.session_id);
}

/// Closes the session with all its panes, including those that others opened in it.
pub(crate) fn close_id(server: &Server, session_id: &str) {
    match server.ask(&["kill-session", "-t", session_id]) {
        // A session that is gone is no error.
        Ok(_) | Err(TmuxError::NoServer { .. } | TmuxError::Refused { .. }) => {}
        Err(error) => super::notify(&format!("cannot close its session: {error}")),
    }
}
