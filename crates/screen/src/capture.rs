//! Parses the output of `tmux capture-pane -p -e` as a screen.

use crate::emulator::Emulator;
use ostler_model::TerminalSize;
use ostler_model::{ScreenCursor, ScreenText};
use std::fmt::Write;

/// The capture does not contain the title and the paste mode; they stay empty.
pub fn from_capture(text: &str, size: TerminalSize, cursor: ScreenCursor) -> ScreenText {
    let mut screen = Emulator::new(size);
    let mut bytes = String::with_capacity(text.len() + usize::from(size.rows) * 8);
    // tmux prints line-drawing characters as letters between two control characters that select G1.
    bytes.push_str("\x1b)0");
    // tmux omits blanks at the end of a line. The blanks before the cursor were written: a prompt ends with one.
    let blanks = usize::from(cursor.column.min(size.columns));
    let _ = write!(bytes, "\x1b[{};1H{:blanks$}", cursor.row.saturating_add(1), "");
    for (row, line) in text.lines().take(usize::from(size.rows)).enumerate() {
        // Each line is positioned by its number: a full line would wrap otherwise. Colours continue on the next line.
        let _ = write!(bytes, "\x1b[{};1H", row + 1);
        bytes.push_str(line);
    }
    screen.process(bytes.as_bytes());
    ScreenText { cursor, ..screen.text() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: TerminalSize = TerminalSize { columns: 8, rows: 4 };

    #[test]
    fn the_blank_behind_a_prompt_is_there() {
        let cursor = ScreenCursor { row: 1, column: 2, is_visible: true };
        let text = from_capture("\x1b[7mon\n$\x1b[0m\n", SIZE, cursor);
        assert_eq!(text.lines[1], "$ ");
        let far = ScreenCursor { row: 3, column: 8, is_visible: true };
        assert_eq!(from_capture("", SIZE, far).lines[3].trim(), "");
    }

    #[test]
    fn a_capture_is_drawn_line_by_line() {
        let cursor = ScreenCursor { row: 2, column: 1, is_visible: true };
        let text = from_capture(
            "12345678\n\x1b[2mdim\n on\x1b[0m\n> \x1b[7m \x1b[0m\nmore\n",
            SIZE,
            cursor,
        );
        assert_eq!(text.lines, ["12345678", "dim", " on", ">  "]);
        assert_eq!(text.bright, ["12345678", "   ", "   ", ">  "]);
        assert_eq!((text.inverse.len(), text.inverse[0].row, text.inverse[0].column), (1, 3, 2));
        assert_eq!((text.cursor, text.columns, text.rows), (cursor, 8, 4));
    }

    #[test]
    fn drawn_lines_are_lines_and_not_letters() {
        let capture = "\u{e}l\x1b[31;2mq\x1b]8;;lqk\x1b\\\x1b[0mk\u{f}lqk\n";
        let text = from_capture(capture, SIZE, ScreenCursor::default());
        assert_eq!((text.lines[0].as_str(), text.bright[0].as_str()), ("┌─┐lqk", "┌ ┐lqk"));
    }
}
