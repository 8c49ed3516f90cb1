//! A terminal emulator without a window.

use crate::catch_panic::contained;
use crate::charset::Charsets;
use crate::osc::OscState;
use crate::skin_tone::{SkinTones, restored, restored_text};
use crate::text::text_of;
use ostler_model::ScreenText;
use ostler_model::TerminalSize;
use std::num::NonZeroU16;

pub struct Emulator {
    parser: vt100::Parser<OscState>,
    charsets: Charsets,
    skin_tones: SkinTones,
    size: TerminalSize,
}

impl std::fmt::Debug for Emulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulator").field("size", &self.size).finish_non_exhaustive()
    }
}

impl Emulator {
    /// A larger size is clamped: programs in the terminal, or clients of tmux, may have set it.
    pub fn new(size: TerminalSize) -> Self {
        let size = size.clamped();
        let (rows, columns) = (at_least_one(size.rows), at_least_one(size.columns));
        Self {
            parser: vt100::Parser::new_with_callbacks(rows, columns, 0, OscState::default()),
            charsets: Charsets::default(),
            skin_tones: SkinTones::default(),
            size,
        }
    }

    /// If the emulator panics, it starts again with an empty screen.
    pub fn process(&mut self, bytes: &[u8]) {
        let bytes = self.charsets.translated(bytes);
        let bytes = self.skin_tones.replaced(&bytes);
        if contained(|| self.parser.process(&bytes)).is_none() {
            *self = Self::new(self.size);
        }
    }

    /// The answers to the program's queries since the last call, for its input.
    pub fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.parser.callbacks_mut().replies)
    }

    /// The escape sequences that draw this screen on another terminal.
    pub fn picture(&self) -> Vec<u8> {
        let mut picture: Vec<u8> =
            contained(|| self.parser.screen().state_formatted()).unwrap_or_default().into();
        picture.extend(self.charsets.picture());
        restored(picture)
    }

    pub fn text(&self) -> ScreenText {
        let said = self.parser.callbacks();
        let text = contained(|| text_of(self.parser.screen())).unwrap_or_default();
        let commands = said.commands.iter();
        ScreenText {
            title: restored_text(said.title.clone()),
            osc: commands.map(|(number, text)| (*number, restored_text(text.clone()))).collect(),
            lines: text.lines.into_iter().map(restored_text).collect(),
            bright: text.bright.into_iter().map(restored_text).collect(),
            ..text
        }
    }

    pub fn resize(&mut self, size: TerminalSize) {
        let size = size.clamped();
        self.size = size;
        let resized = contained(|| {
            self.parser.screen_mut().set_size(at_least_one(size.rows), at_least_one(size.columns));
        });
        if resized.is_none() {
            *self = Self::new(size);
        }
    }

    pub fn size(&self) -> TerminalSize {
        self.size
    }
}

fn at_least_one(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::ScreenSpot;

    fn drawn(columns: u16, rows: u16, text: &str) -> ScreenText {
        let mut screen = Emulator::new(TerminalSize { columns, rows });
        screen.process(text.as_bytes());
        screen.text()
    }

    /// After any bytes, the screen can be drawn and the size is unchanged.
    #[test]
    fn any_bytes_can_be_drawn() {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut screen = Emulator::new(TerminalSize { columns: 7, rows: 3 });
        for round in 0..2_000u64 {
            let length = (next() % 200) as usize;
            let alphabet =
                b"\x1b[];?0123456789hlHJKmABCDrLMPX@\r\n\t\x08\xe4\xb8\xad\xf0\x9f\x98\x80ab";
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    if round % 3 == 0 {
                        next() as u8
                    } else {
                        alphabet[(next() % alphabet.len() as u64) as usize]
                    }
                })
                .collect();
            screen.process(&bytes);
            if round % 10 == 0 {
                let size = TerminalSize { columns: (next() % 9) as u16, rows: (next() % 5) as u16 };
                screen.resize(size);
                assert_eq!(screen.size(), size);
            }
            screen.picture();
            screen.text();
        }
    }

    #[test]
    fn an_emoji_with_a_skin_tone_at_the_right_edge_takes_two_columns() {
        let text = drawn(8, 3, "abcdef\u{1f44d}\u{1f3fd}\r\nnext");
        assert_eq!(text.lines[..2], ["abcdef\u{1f44d}\u{1f3fd}", "next"]);
        let mut screen = Emulator::new(TerminalSize { columns: 8, rows: 3 });
        for byte in "a\u{1f44d}\u{1f3fd}b \u{1f3fd}".bytes() {
            screen.process(&[byte]);
        }
        assert_eq!(screen.text().lines[0], "a\u{1f44d}\u{1f3fd}b \u{1f3fd}");
        assert_eq!(screen.text().cursor.column, 7, "a tone alone is a character");
        assert!(String::from_utf8_lossy(&screen.picture()).contains("\u{1f44d}\u{1f3fd}"));
    }

    #[test]
    fn a_query_has_an_answer() {
        let mut screen = Emulator::new(TerminalSize { columns: 20, rows: 3 });
        screen.process(b"one\r\ntwo\x1b[6n\x1b[5n\x1b[c\x1b[?6n");
        assert_eq!(screen.take_replies(), b"\x1b[2;4R\x1b[0n\x1b[?62;22c");
        assert_eq!(screen.take_replies(), b"");
    }

    #[test]
    fn the_text_is_what_a_person_would_read() {
        let mut screen = Emulator::new(TerminalSize { columns: 12, rows: 3 });
        screen.process("\x1b[1mGr\u{fc}\u{df}e\x1b[0m  \r\n> _\x1b[?2004h".as_bytes());
        let text = screen.text();
        assert_eq!((text.lines.len(), text.columns, text.rows), (3, 12, 3));
        assert_eq!((text.lines[0].trim_end(), text.lines[1].as_str()), ("Gr\u{fc}\u{df}e", "> _"));
        assert!(text.takes_paste);
        screen.process(b"\x1b[?2004l");
        assert!(!screen.text().takes_paste);
    }

    /// `dialog` and `whiptail` draw their frames in a set of their own.
    #[test]
    fn the_lines_of_a_box_are_lines_and_not_letters() {
        let mut screen = Emulator::new(TerminalSize { columns: 12, rows: 2 });
        screen.process(b"\x1b(0lqk\x1b(Bq\r\n\x1b(0x");
        assert_eq!(screen.text().lines, ["┌─┐q", "│"]);
        let mut other = Emulator::new(TerminalSize { columns: 12, rows: 2 });
        other.process(&screen.picture());
        other.process(b"q");
        assert_eq!(other.text().lines, ["┌─┐q", "│─"]);
    }

    /// A program may move the cursor over the blank of its prompt instead of writing it.
    #[test]
    fn the_blank_behind_a_prompt_is_there() {
        assert_eq!(drawn(20, 2, "one\r\n\x1b[1myou>\x1b[0m\x1b[C").lines, ["one", "you> "]);
        let text = drawn(20, 2, "\x1b[2mone\x1b[0m\r\n中>\x1b[C");
        assert_eq!((text.lines[1].as_str(), text.bright[1].as_str()), ("中> ", "中> "));
    }

    #[test]
    fn dim_text_is_blank_in_the_bright_lines() {
        let text = drawn(20, 2, "> \x1b[2mTry 中 \"it\"\x1b[22m.\r\nplain");
        assert_eq!(text.lines, ["> Try 中 \"it\".", "plain"]);
        assert_eq!(text.bright, [">            .", "plain"]);
        assert!(drawn(20, 2, "no \x1b[1mdim\x1b[0m here").bright.is_empty());
    }

    #[test]
    fn a_cursor_that_a_program_draws_is_found_and_a_bar_is_not() {
        let text = drawn(20, 3, "\x1b[7m a bar \x1b[0m\r\n> hi\x1b[7m \x1b[0m\r\n\x1b[7m中\x1b[0m");
        let spots = [ScreenSpot { row: 1, column: 4 }, ScreenSpot { row: 2, column: 0 }];
        assert_eq!(text.inverse, spots);
    }

    #[test]
    fn the_title_and_the_last_of_each_command_are_kept() {
        let text = drawn(
            9,
            2,
            "\x1b]0;one\x07\x1b]2;a; b\x1b\\\x1b]9;4;1;50\x07\x1b]9;4;0\x07\x1b]633;A\x07\x1b]x;y\x07",
        );
        assert_eq!(text.title, "a; b");
        let description: Vec<(u16, &str)> =
            text.osc.iter().map(|(number, payload)| (*number, payload.as_str())).collect();
        assert_eq!(description, [(9, "4;0"), (633, "A")]);
        assert_eq!(text.lines, ["", ""]);
    }

    /// A program may write any number of commands of any length.
    #[test]
    fn commands_are_bounded() {
        let many: String = (100..200).map(|number| format!("\x1b]{number};x\x07")).collect();
        let long = "é".repeat(1_000_000);
        let text = drawn(9, 2, &format!("{many}\x1b]100;{long}\x07\x1b]2;{long}\x07\x1b]150;z"));
        assert_eq!(text.osc.len(), 16);
        assert!(text.osc[&100].chars().count() <= 200 && text.title.chars().count() <= 200);
        assert!(text.title.starts_with("éé"));
    }

    /// After an overlong sequence of any kind, the screen continues.
    #[test]
    fn a_long_sequence_does_not_spoil_the_screen() {
        for begin in ["]0;", "]52;c;", "P", "_", "X", "^", "["] {
            let long = "1".repeat(100_000);
            let text = drawn(20, 3, &format!("\x1b{begin}{long}\x18\x1b\\\r\nhere"));
            assert!(text.lines.iter().any(|line| line.contains("here")), "{begin}: {text:?}");
        }
    }

    #[test]
    fn a_size_beyond_the_bound_is_clamped() {
        let giant = TerminalSize { columns: u16::MAX, rows: 2 };
        let mut screen = Emulator::new(giant);
        assert_eq!(screen.size().columns, TerminalSize::MOST);
        screen.resize(TerminalSize { columns: 2, rows: u16::MAX });
        assert_eq!(screen.size(), TerminalSize { columns: 2, rows: TerminalSize::MOST });
    }
}
