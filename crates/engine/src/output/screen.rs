//! What a person would see on a PTY run's terminal.

use ostler_model::TerminalSize;
use ostler_model::wire::{ScreenCursor, ScreenText};
use std::cell::Cell;
use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) struct Screen {
    parser: vt100::Parser,
    offset: u64,
    size: TerminalSize,
    /// Of a run we took up: nothing is drawn before somebody looks.
    is_undrawn: bool,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl Screen {
    pub(crate) fn new(size: TerminalSize) -> Self {
        Self {
            parser: vt100::Parser::new(at_least_one(size.rows), at_least_one(size.columns), 0),
            offset: 0,
            size,
            is_undrawn: false,
        }
    }

    pub(crate) fn undrawn(size: TerminalSize) -> Self {
        Self { is_undrawn: true, ..Self::new(size) }
    }

    pub(super) fn is_undrawn(&self) -> bool {
        self.is_undrawn
    }

    /// From the last that is known.
    pub(super) fn draw(&mut self, bytes: &[u8], end: u64) {
        self.is_undrawn = false;
        self.process(bytes, end);
    }

    /// What a program writes must not be able to end the supervisor: if the emulator cannot cope with it,
    /// the picture begins anew.
    pub(super) fn process(&mut self, bytes: &[u8], end: u64) {
        if self.is_undrawn {
            return;
        }
        let drawn = contained(|| self.parser.process(bytes));
        if drawn.is_none() {
            *self = Self::new(self.size);
        }
        self.offset = end;
    }

    pub(super) fn picture(&self) -> (Vec<u8>, u64) {
        let picture = contained(|| self.parser.screen().state_formatted());
        (picture.unwrap_or_default().into(), self.offset)
    }

    /// The same as text.
    pub(super) fn text(&self) -> ScreenText {
        let text = contained(|| {
            let screen = self.parser.screen();
            let lines = screen.rows(0, at_least_one(self.size.columns).get()).collect();
            let (row, column) = screen.cursor_position();
            let cursor = ScreenCursor { row, column, is_visible: !screen.hide_cursor() };
            ScreenText { lines, takes_paste: screen.bracketed_paste(), cursor }
        });
        text.unwrap_or_default()
    }

    pub(super) fn resize(&mut self, size: TerminalSize) {
        self.size = size;
        let resized = contained(|| {
            self.parser.screen_mut().set_size(at_least_one(size.rows), at_least_one(size.columns));
        });
        if resized.is_none() {
            let (offset, is_undrawn) = (self.offset, self.is_undrawn);
            *self = Self { offset, is_undrawn, ..Self::new(size) };
        }
    }

    pub(super) fn size(&self) -> TerminalSize {
        self.size
    }
}

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread now is caught where it happens. Any other ends the process.
pub fn panic_is_contained() -> bool {
    CONTAINED.get()
}

fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    CONTAINED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(false);
    outcome.ok()
}

fn at_least_one(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever bytes come, the picture can be drawn and the size holds.
    #[test]
    fn no_bytes_end_the_screen() {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut screen = Screen::new(TerminalSize { columns: 7, rows: 3 });
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
            screen.process(&bytes, round);
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
    fn the_text_is_what_a_person_would_read() {
        let mut screen = Screen::new(TerminalSize { columns: 12, rows: 3 });
        screen.process("\x1b[1mGr\u{fc}\u{df}e\x1b[0m  \r\n> _\x1b[?2004h".as_bytes(), 1);
        let text = screen.text();
        assert_eq!(text.lines.len(), 3);
        assert_eq!((text.lines[0].trim_end(), text.lines[1].as_str()), ("Gr\u{fc}\u{df}e", "> _"));
        assert!(text.takes_paste);
        screen.process(b"\x1b[?2004l", 2);
        assert!(!screen.text().takes_paste);
    }

    #[test]
    fn a_panic_inside_is_contained_and_said_to_be() {
        assert!(!panic_is_contained());
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| assert!(panic_is_contained())));
        assert_eq!(
            contained(|| if panic_is_contained() {
                panic!("the emulator cannot cope")
            }),
            None
        );
        std::panic::set_hook(hook);
        assert!(!panic_is_contained());
    }
}
