//! Lists all panes of a server with one process.

use crate::call::{Server, TmuxError};
use ostler_model::ScreenCursor;

/// All panes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// `None` if no server runs, or if it has no sessions. Both are facts.
    pub server_pid: Option<i32>,
    pub panes: Vec<Pane>,
}

impl Listing {
    /// The panes that were created for Ostler's runs.
    pub fn own_panes(&self) -> impl Iterator<Item = &Pane> {
        self.panes.iter().filter(|pane| pane.is_pane_process())
    }
}

/// One pane, with the data of its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pane {
    /// `$3`
    pub session_id: String,
    pub session: String,
    /// Seconds since 1970.
    pub created_s: u64,
    /// How many clients are attached to its session.
    pub attached: u32,
    /// Ostler's options on the session; empty if it is not Ostler's.
    pub home: String,
    pub unit: String,
    pub run: String,
    /// The run that this pane was created for; empty for panes that others opened in the session.
    pub pane_of: String,
    /// `%5`
    pub pane_id: String,
    /// Its first process. In a pane of Ostler's, the one that waits for the program.
    pub pid: i32,
    /// Its program has ended, and tmux keeps the pane with the exit status.
    pub is_dead: bool,
    pub exit_code: Option<i32>,
    /// Reported by tmux 3.3 and newer.
    pub exit_signal: Option<i32>,
    /// It is in copy mode: keys go there and not to the program.
    pub in_mode: bool,
    pub columns: u16,
    pub rows: u16,
    pub cursor: ScreenCursor,
    pub title: String,
    /// When its window last changed; seconds since 1970.
    pub activity_s: u64,
    /// The program in its foreground.
    pub command: String,
}

impl Pane {
    pub fn is_pane_process(&self) -> bool {
        !self.run.is_empty() && self.pane_of == self.run
    }

    pub fn is_marked_for(&self, home: &str, unit: &str) -> bool {
        !home.is_empty() && self.home == home && self.unit == unit
    }
}

pub(crate) const HOME: &str = "@ostler-home";
pub(crate) const UNIT: &str = "@ostler-unit";
pub(crate) const RUN: &str = "@ostler-run";
/// An option of the pane only.
pub(crate) const PANE: &str = "@ostler-pane";

/// In the order of `read`. A field unknown to this version of tmux is empty. The command is last: it may contain any
/// character, even the separator.
const FIELDS: [&str; 24] = [
    "pid",
    "session_id",
    "session_name",
    "session_created",
    "session_attached",
    HOME,
    UNIT,
    RUN,
    PANE,
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "pane_in_mode",
    "pane_width",
    "pane_height",
    "window_activity",
    "version",
    "cursor_y",
    "cursor_x",
    "cursor_flag",
    "pane_title",
    "pane_current_command",
];

/// tmux allows no tab in names.
const BETWEEN: char = '\t';

/// All panes of the server. No server means an empty list. A server that does not answer is an error: nothing is known.
pub fn list(server: &Server) -> Result<Listing, TmuxError> {
    match server.ask(&["list-panes", "-a", "-F", &format()]) {
        Ok(text) => {
            let listing = read(&text);
            // tmux printed text without a pane in it: not a listing.
            if listing.panes.is_empty() && !text.trim().is_empty() {
                let text = text.chars().take(200).collect();
                return Err(TmuxError::Garbled { text });
            }
            Ok(listing)
        }
        Err(TmuxError::NoServer { .. }) => Ok(Listing::default()),
        Err(TmuxError::Refused { error_output }) if is_empty(&error_output) => {
            Ok(Listing::default())
        }
        Err(error) => Err(error),
    }
}

/// A server may have no session. tmux reports that as an error, with different messages in different versions.
pub(crate) fn is_empty(error_output: &str) -> bool {
    ["no current target", "no sessions", "no current session", "no current client"]
        .iter()
        .any(|words| error_output.contains(words))
}

fn format() -> String {
    let fields: Vec<String> = FIELDS.iter().map(|field| format!("#{{{field}}}")).collect();
    fields.join(&BETWEEN.to_string())
}

/// Skips lines with the wrong number of fields.
fn read(text: &str) -> Listing {
    let mut listing = Listing::default();
    for line in text.lines() {
        let Some((server_pid, pane)) = read_pane(line) else { continue };
        listing.server_pid = Some(server_pid);
        listing.panes.push(pane);
    }
    listing
}

fn read_pane(line: &str) -> Option<(i32, Pane)> {
    let fields: Vec<&str> = line.splitn(FIELDS.len(), BETWEEN).collect();
    let fields: [&str; FIELDS.len()] = fields.try_into().ok()?;
    let [
        server_pid,
        session_id,
        session,
        created,
        attached,
        home,
        unit,
        run,
        pane_of,
        pane_id,
        pid,
        is_dead,
        exit_code,
        exit_signal,
        in_mode,
        columns,
        rows,
        activity,
        _version,
        cursor_row,
        cursor_column,
        is_cursor_visible,
        title,
        command,
    ] = fields;
    let is_id = session_id.starts_with('$') && pane_id.starts_with('%');
    let pane = Pane {
        session_id: session_id.to_owned(),
        session: session.to_owned(),
        created_s: created.parse().unwrap_or(0),
        attached: attached.parse().unwrap_or(0),
        home: home.to_owned(),
        unit: unit.to_owned(),
        run: run.to_owned(),
        pane_of: pane_of.to_owned(),
        pane_id: pane_id.to_owned(),
        pid: pid.parse().ok()?,
        is_dead: is_dead == "1",
        exit_code: exit_code.parse().ok(),
        exit_signal: exit_signal.parse().ok(),
        in_mode: !matches!(in_mode, "" | "0"),
        columns: columns.parse().unwrap_or(0),
        rows: rows.parse().unwrap_or(0),
        activity_s: activity.parse().unwrap_or(0),
        cursor: ScreenCursor {
            row: cursor_row.parse().unwrap_or(0),
            column: cursor_column.parse().unwrap_or(0),
            is_visible: is_cursor_visible == "1",
        },
        title: title.to_owned(),
        command: command.to_owned(),
    };
    is_id.then_some((server_pid.parse().ok()?, pane))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_field_by_field_and_a_wrong_one_is_left_out() {
        let line = "77\t$3\thq-deacon\t100\t1\thome\tdeacon\trun\trun\t%5\t4242\t1\t7\t\t0\t120\t30\t\
                    160\t3.3a\t4\t2\t1\ttitle\ta\tb";
        let listing = read(&format!("{line}\nnonsense\n\n77\t$3\tx\n"));
        assert_eq!((listing.server_pid, listing.panes.len()), (Some(77), 1));
        let pane = &listing.panes[0];
        assert_eq!((pane.session_id.as_str(), pane.pane_id.as_str(), pane.pid), ("$3", "%5", 4242));
        assert_eq!((pane.is_dead, pane.exit_code, pane.exit_signal), (true, Some(7), None));
        assert_eq!(pane.command, "a\tb");
        assert!(pane.is_pane_process() && pane.is_marked_for("home", "deacon"));
        assert!(!pane.is_marked_for("home", "deaco") && !pane.is_marked_for("", "deacon"));
    }
}
