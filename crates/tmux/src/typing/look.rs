//! Reads one pane with one process: its screen, its cursor and its state.

use crate::call::{Server, TmuxError};
use ostler_model::TerminalSize;
use ostler_model::{ScreenCursor, ScreenText};

/// A snapshot of a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaneLook {
    /// The pid of its first process. A restarted server gives the same ids to other panes.
    pub pid: i32,
    pub is_dead: bool,
    /// It takes no input.
    pub is_closed: bool,
    /// The path of its terminal.
    pub terminal: String,
    /// Whether its program has turned bracketed paste on; only newer versions of tmux report it.
    pub takes_paste: Option<bool>,
    pub screen: ScreenText,
}

const FIELDS: [&str; 12] = [
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_input_off",
    "pane_tty",
    "bracket_paste_flag",
    "cursor_y",
    "cursor_x",
    "cursor_flag",
    "pane_width",
    "pane_height",
    "pane_title",
];

/// `None` if the pane does not exist any more.
pub fn look(server: &Server, pane: &str) -> Result<Option<PaneLook>, TmuxError> {
    let format = FIELDS.map(|field| format!("#{{{field}}}")).join("\t");
    let words =
        ["display-message", "-p", "-t", pane, &format, ";", "capture-pane", "-pe", "-t", pane];
    match server.ask_in_part(&words, &[]) {
        // For a pane that does not exist, tmux prints empty fields; only the capture fails.
        Ok(printed) => Ok(read(&printed.text, pane).filter(|_| printed.error_output.is_none())),
        Err(TmuxError::NoServer { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(text: &str, pane: &str) -> Option<PaneLook> {
    let (capabilities, screen) = text.split_once('\n')?;
    // The title is last: it may contain any character.
    let capabilities: Vec<&str> = capabilities.splitn(FIELDS.len(), '\t').collect();
    let capabilities: [&str; FIELDS.len()] = capabilities.try_into().ok()?;
    let [
        id,
        pid,
        is_dead,
        is_closed,
        terminal,
        paste,
        row,
        column,
        is_visible,
        columns,
        rows,
        title,
    ] = capabilities;
    (id == pane).then_some(())?;
    let number = |text: &str| text.parse().unwrap_or(0);
    let size = TerminalSize { columns: number(columns), rows: number(rows) };
    let cursor =
        ScreenCursor { row: number(row), column: number(column), is_visible: is_visible == "1" };
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
        screen: ScreenText { title: title.to_owned(), ..screen_of(screen, size, cursor) },
    })
}

/// The screen as it is displayed, with dim and inverse text.
pub(crate) fn screen_of(text: &str, size: TerminalSize, cursor: ScreenCursor) -> ScreenText {
    ostler_screen::from_capture(text, size, cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_the_pane_is_parsed_and_of_another_pane_ignored() {
        let text = "%5\t4242\t0\t0\t/dev/pts/3\t\t1\t7\t1\t20\t3\tmy title\n$ make\nall\n\n";
        let look = read(text, "%5").expect("the pane exists");
        assert_eq!((look.pid, look.is_dead, look.takes_paste), (4242, false, None));
        assert_eq!(look.screen.cursor, ScreenCursor { row: 1, column: 7, is_visible: true });
        let lines: Vec<&str> = look.screen.lines.iter().map(|line| line.trim_end()).collect();
        assert_eq!(lines, ["$ make", "all", ""]);
        assert_eq!(look.screen.title, "my title");
        assert_eq!(read(text, "%55"), None);
        assert_eq!(read("\t\t\t\t\t\t\t\t\t\t\t\n", "%5"), None);
    }
}
