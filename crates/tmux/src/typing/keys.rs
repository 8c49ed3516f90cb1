//! Types into a pane: a whole text, or a key.

use crate::call::{Server, TmuxError};
use std::sync::atomic::{AtomicU64, Ordering};

/// The keys that Ostler presses. A key is never combined with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Enter,
    Escape,
    Tab,
    Space,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    /// With a lower-case letter: `Ctrl('c')` interrupts, `Ctrl('u')` clears a line.
    Ctrl(char),
    /// A letter, a digit, or another visible character.
    Char(char),
}

impl Key {
    /// Ctrl-C: interrupts.
    pub const INTERRUPT: Key = Key::Ctrl('c');
    /// Ctrl-U: clears the line being typed.
    pub const KILL_LINE: Key = Key::Ctrl('u');

    /// `enter`, `escape`, `up`, `ctrl-u`, a single character, …
    pub fn parse(word: &str) -> Option<Self> {
        let lower = word.to_lowercase();
        let mut letters = word.chars();
        Some(match (lower.as_str(), letters.next(), letters.next()) {
            ("enter" | "return", _, _) => Key::Enter,
            ("escape" | "esc", _, _) => Key::Escape,
            ("tab", _, _) => Key::Tab,
            ("space", _, _) => Key::Space,
            ("backspace", _, _) => Key::Backspace,
            ("up", _, _) => Key::Up,
            ("down", _, _) => Key::Down,
            ("left", _, _) => Key::Left,
            ("right", _, _) => Key::Right,
            (_, Some(c), None) if !c.is_control() && !c.is_whitespace() => Key::Char(c),
            (word, _, _) => {
                let letter = word.strip_prefix("ctrl-")?;
                let c = letter.chars().next().filter(|c| c.is_ascii_lowercase())?;
                (letter.len() == 1).then_some(Key::Ctrl(c))?
            }
        })
    }

    fn name(self) -> String {
        match self {
            Key::Enter => "Enter".to_owned(),
            Key::Escape => "Escape".to_owned(),
            Key::Tab => "Tab".to_owned(),
            Key::Space => "Space".to_owned(),
            Key::Backspace => "BSpace".to_owned(),
            Key::Up => "Up".to_owned(),
            Key::Down => "Down".to_owned(),
            Key::Left => "Left".to_owned(),
            Key::Right => "Right".to_owned(),
            Key::Ctrl(letter) => format!("C-{letter}"),
            Key::Char(c) => c.to_string(),
        }
    }

    /// The bytes a terminal sends for the key.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Key::Enter => b"\r".to_vec(),
            Key::Escape => b"\x1b".to_vec(),
            Key::Tab => b"\t".to_vec(),
            Key::Space => b" ".to_vec(),
            Key::Backspace => b"\x7f".to_vec(),
            Key::Up => b"\x1b[A".to_vec(),
            Key::Down => b"\x1b[B".to_vec(),
            Key::Right => b"\x1b[C".to_vec(),
            Key::Left => b"\x1b[D".to_vec(),
            Key::Ctrl(letter) => vec![letter as u8 & 0x1f],
            Key::Char(c) => c.to_string().into_bytes(),
        }
    }
}

/// Pastes the whole text unchanged, in one piece, so that no other keys come between. It is marked as a paste if the
/// program in the pane enabled bracketed paste. The pane first leaves copy mode.
pub fn paste(server: &Server, pane: &str, text: &str) -> Result<(), TmuxError> {
    let buffer = buffer_name();
    let leave = ["copy-mode", "-q", "-t", pane, ";"];
    let load = ["load-buffer", "-b", &buffer, "-", ";"];
    // tmux 3.3 crashes with all its sessions when it pastes into a pane whose program has ended.
    let paste = format!("paste-buffer -dpr -b {buffer} -t {pane}");
    let drop = format!("delete-buffer -b {buffer}");
    let give = ["if-shell", "-F", "-t", pane, "#{pane_dead}", &drop, &paste];
    let words = [&leave[..], &load[..], &give[..]].concat();
    let printed = server.ask_in_part(&words, text.as_bytes())?;
    match printed.error_output {
        None => Ok(()),
        Some(error_output) => {
            let _ = server.ask(&["delete-buffer", "-b", &buffer]);
            Err(TmuxError::Refused { error_output })
        }
    }
}

/// Sends a key to the program, not to a mode of the pane.
pub fn press(server: &Server, pane: &str, key: Key) -> Result<(), TmuxError> {
    let name = key.name();
    let mut words = vec!["copy-mode", "-q", "-t", pane, ";", "send-keys", "-t", pane];
    if matches!(key, Key::Char(_)) {
        words.push("-l");
    }
    // A bare semicolon would end the tmux command.
    let name = if name == ";" { "\\;" } else { &name };
    words.extend(["--", name]);
    server.ask(&words).map(|_| ())
}

/// A new name each time.
pub(super) fn buffer_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("ostler-{}-{number}", std::process::id())
}
