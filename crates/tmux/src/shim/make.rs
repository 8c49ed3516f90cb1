//! Creates the session: checks the name, removes what an earlier shim left, and creates a new one.

use super::close::close_id;
use super::{End, end_tree, failed, pane_protocol, sd_notify::ShimNotify};
use crate::call::{Server, TmuxError};
use crate::list::{HOME, Pane, RUN, UNIT, list};
use ostler_model::TmuxOrder;
use ostler_os::{Process, StopListener, fingerprint_of};
use std::collections::BTreeSet;
use std::path::Path;

/// A session that this shim created.
#[derive(Debug)]
pub(crate) struct OwnSession {
    pub(crate) session_id: String,
    pub(crate) pane_id: String,
    pub(crate) pane_pid: i32,
    pub(crate) server_pid: i32,
    /// A handle of the server process, which ends with the server.
    pub(crate) server: Option<Process>,
}

/// Makes the name free. Ostler identifies its sessions by their options, never by name. A session with the name but
/// without the options is foreign and is not touched.
pub(crate) fn clear(server: &Server, order: &TmuxOrder, stop: &StopListener) -> Result<(), End> {
    let is_left = |pane: &&Pane| pane.is_marked_for(&order.home, &order.unit);
    let listing = list(server).map_err(|error| failed(order, &error))?;
    let left: Vec<Pane> = listing.panes.iter().filter(is_left).cloned().collect();
    let stranger =
        listing.panes.iter().find(|pane| pane.session == order.spec.session && !is_left(pane));
    if let Some(pane) = stranger {
        return Err(End::Refused(describe_stranger(order, pane)));
    }
    for pane in left.iter().filter(|pane| pane.is_pane_process()) {
        let root = fingerprint_of(pane.pid).filter(|_| !pane.is_dead);
        let root = root.and_then(|found| Process::open(&found));
        let before = TmuxOrder { run: pane.run.clone(), ..order.clone() };
        end_tree(&before, root.as_ref(), &ShimNotify::open(false));
        if stop.take() {
            return Err(End::StopRequested);
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    // While its processes were being ended, the session may have been taken over: only an unchanged session is closed.
    let again = list(server).map_err(|error| failed(order, &error))?;
    let is_same = |pane: &&Pane| {
        left.iter().any(|old| {
            (&old.session_id, &old.run, old.created_s)
                == (&pane.session_id, &pane.run, pane.created_s)
        })
    };
    let still: BTreeSet<&str> = again
        .panes
        .iter()
        .filter(is_left)
        .filter(is_same)
        .map(|pane| pane.session_id.as_str())
        .collect();
    for id in still {
        close_id(server, id);
    }
    let after = list(server).map_err(|error| failed(order, &error))?;
    match after.panes.iter().find(|pane| pane.session == order.spec.session) {
        None => Ok(()),
        Some(pane) if is_left(&pane) => Err(End::Failed(format!(
            "the session {:?} of an earlier run reappeared while it was being closed",
            pane.session
        ))),
        Some(pane) => Err(End::Refused(describe_stranger(order, pane))),
    }
}

fn describe_stranger(order: &TmuxOrder, pane: &Pane) -> String {
    let run_of_pid = match (pane.home.as_str(), pane.unit.as_str()) {
        ("", _) | (_, "") => "was not made by this daemon".to_owned(),
        (home, unit) if home == order.home => format!("belongs to unit {unit:?}"),
        (_, unit) => format!("belongs to unit {unit:?} of another daemon"),
    };
    format!(
        "a session {:?} exists already and {run_of_pid}; close or rename it, or set another name with session = \"…\"",
        order.spec.session
    )
}

/// Creates the session and sets its options in the same command, so that it never exists without them.
pub(crate) fn make(server: &Server, order: &TmuxOrder) -> Result<OwnSession, End> {
    let program = ostler_os::own_executable()
        .map_err(|error| End::Failed(format!("cannot find the ostler executable: {error}")))?;
    let name = &order.spec.session;
    let exact = format!("={name}:");
    let (columns, rows) = (order.spec.size.columns.to_string(), order.spec.size.rows.to_string());
    // tmux executes it, and `/proc/self` would name another process there.
    let program = match program.strip_prefix("/proc/self") {
        Ok(held) => Path::new("/proc").join(std::process::id().to_string()).join(held),
        Err(_) => program,
    };
    let program = program.to_string_lossy().into_owned();
    // tmux expands `#`, even to the output of a command.
    let cwd = order.cwd.replace('#', "##");
    let socket = pane_protocol::place(order);
    let mut words: Vec<&str> = vec!["new-session", "-d", "-P", "-F", PRINTED, "-s", name];
    words.extend(["-x", &columns, "-y", &rows, "-c", &cwd, "--", &program, "pane-exec", &socket]);
    let marks = [(HOME, &order.home), (UNIT, &order.unit), (RUN, &order.run)];
    for (mark, value) in marks {
        words.extend([";", "set-option", "-t", &exact, mark, value]);
    }
    // The session must not end because no client is attached.
    words.extend([";", "set-option", "-t", &exact, "destroy-unattached", "off"]);
    // Restores the setting that `up` changed so that an empty server waits for this session.
    words.extend([";", "if-shell", "-F", "#{@ostler-waits}", AGAIN_EMPTY]);
    let printed = match server.ask_in_part(&words, &[]) {
        Ok(printed) => printed,
        Err(error) => return Err(failed(order, &error)),
    };
    let made = printed.text.lines().next().and_then(read);
    match (made, printed.error_output) {
        (Some(made), None) => Ok(made),
        (Some(made), Some(error_output)) => {
            close_id(server, &made.session_id);
            Err(End::Failed(format!("cannot set the options of its session: {error_output}")))
        }
        (None, Some(error_output)) if error_output.contains("unknown option") => {
            Err(End::Refused(format!("{error_output}: tmux is too old; ostler needs 3.2 or newer")))
        }
        (None, Some(error_output)) => Err(failed(order, &TmuxError::Refused { error_output })),
        (None, None) => Err(failed(
            order,
            &TmuxError::Garbled { text: printed.text.chars().take(80).collect() },
        )),
    }
}

const PRINTED: &str = "#{session_id} #{pane_id} #{pane_pid} #{pid}";
const AGAIN_EMPTY: &str = "set-option -su @ostler-waits ; set-option -s exit-empty on";

fn read(line: &str) -> Option<OwnSession> {
    let mut words = line.split(' ');
    let session_id = words.next().filter(|id| id.starts_with('$'))?.to_owned();
    let pane_id = words.next().filter(|id| id.starts_with('%'))?.to_owned();
    let pane_pid = words.next()?.parse().ok()?;
    let server_pid: i32 = words.next()?.parse().ok()?;
    let server = fingerprint_of(server_pid).and_then(|found| Process::open(&found));
    Some(OwnSession { session_id, pane_id, pane_pid, server_pid, server })
}
