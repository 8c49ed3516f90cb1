//! What a program sends to its terminal besides visible text: the title, and operating system commands (OSC).

use std::collections::BTreeMap;

/// Limits on the number of commands kept, and on the characters of each.
const NUMBERS_MOST: usize = 16;
const CHARACTERS_MOST: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct OscState {
    pub(crate) title: String,
    pub(crate) commands: BTreeMap<u16, String>,
    /// What a terminal answers to the queries that the program sent.
    pub(crate) replies: Vec<u8>,
}

/// A program that asks without end gets no more than this at once.
const REPLIES_MOST: usize = 1_000;

impl OscState {
    fn command(&mut self, number: u16, payload: &[&[u8]]) {
        let payload = payload.iter().map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>();
        let shown = shortened(&payload.join(";"));
        match number {
            0..=2 => self.title = shown,
            _ => {
                let is_full = self.commands.len() >= NUMBERS_MOST;
                if !is_full || self.commands.contains_key(&number) {
                    self.commands.insert(number, shown);
                }
            }
        }
    }
}

/// Limits the length and removes control characters, which would affect the terminal that prints the text.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(CHARACTERS_MOST).collect()
}

impl vt100::Callbacks for OscState {
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.command(1, &[name]);
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.command(2, &[title]);
    }

    /// The queries that prompts send: is the terminal well, where is the cursor, what kind of terminal is it.
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        second: Option<u8>,
        parameters: &[&[u16]],
        end: char,
    ) {
        if first.or(second).is_some() || self.replies.len() >= REPLIES_MOST {
            return;
        }
        let number = parameters.first().and_then(|part| part.first()).copied().unwrap_or(0);
        match (end, number) {
            ('n', 5) => self.replies.extend(b"\x1b[0n"),
            ('n', 6) => {
                let (row, column) = screen.cursor_position();
                self.replies.extend(format!("\x1b[{};{}R", row + 1, column + 1).bytes());
            }
            ('c', 0) => self.replies.extend(b"\x1b[?62;22c"),
            _ => {}
        }
    }

    // A title that contains a semicolon comes here too.
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parameters: &[&[u8]]) {
        let Some((number, payload)) = parameters.split_first() else { return };
        let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
        if let Some(number) = number {
            self.command(number, payload);
        }
    }
}
