//! One look at one pane: its screen and where its cursor is, with one process.

use crate::call::{Server, TmuxError};

/// A pane at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaneLook {
    /// Its program: a server that was started anew gives the same ids to other panes.
    pub pid: i32,
    pub is_dead: bool,
    /// It takes no input from anybody.
    pub is_closed: bool,
    /// The path of its terminal.
    pub terminal: String,
    /// Whether its program has turned bracketed paste on; only newer versions of tmux tell.
    pub takes_paste: Option<bool>,
    pub cursor: Cursor,
    /// The whole screen, from the top.
    pub lines: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub row: usize,
    pub column: usize,
    pub is_visible: bool,
}

const FIELDS: [&str; 9] = [
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_input_off",
    "pane_tty",
    "bracket_paste_flag",
    "cursor_y",
    "cursor_x",
    "cursor_flag",
];

/// `None` if there is no such pane any more.
pub fn look(server: &Server, pane: &str) -> Result<Option<PaneLook>, TmuxError> {
    let format = FIELDS.map(|field| format!("#{{{field}}}")).join("\t");
    let words =
        ["display-message", "-p", "-t", pane, &format, ";", "capture-pane", "-p", "-t", pane];
    match server.ask_in_part(&words, &[]) {
        // A pane that is no more has empty facts; only the look at its screen is an error then.
        Ok(printed) => Ok(read(&printed.text, pane).filter(|_| printed.complaint.is_none())),
        Err(TmuxError::NoServer { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(text: &str, pane: &str) -> Option<PaneLook> {
    let (facts, screen) = text.split_once('\n')?;
    let facts: Vec<&str> = facts.split('\t').collect();
    let facts: [&str; FIELDS.len()] = facts.try_into().ok()?;
    let [id, pid, is_dead, is_closed, terminal, paste, row, column, is_visible] = facts;
    (id == pane).then_some(())?;
    Some(PaneLook {
        pid: pid.parse().ok()?,
        is_dead: is_dead == "1",
        is_closed: is_closed == "1",
        terminal: terminal.to_owned(),
        takes_paste: match paste {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        },
        cursor: Cursor {
            row: row.parse().unwrap_or(0),
            column: column.parse().unwrap_or(0),
            is_visible: is_visible == "1",
        },
        lines: screen.lines().map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_read_and_that_of_another_pane_is_none() {
        let text = "%5\t4242\t0\t0\t/dev/pts/3\t\t1\t7\t1\n$ make\nall\n\n";
        let look = read(text, "%5").expect("it is there");
        assert_eq!((look.pid, look.is_dead, look.takes_paste), (4242, false, None));
        assert_eq!(look.cursor, Cursor { row: 1, column: 7, is_visible: true });
        assert_eq!(look.lines, ["$ make", "all", ""]);
        assert_eq!(read(text, "%55"), None);
        assert_eq!(read("\t\t\t\t\t\t\t\t\n", "%5"), None);
    }
}
