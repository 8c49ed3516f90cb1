//! `prompt RECORD WORD…`: a program with an input line. It draws the typed text after `> `, and appends each message that was
//! sent with Enter as a line of JSON in RECORD. The words:
//!
//! - `paste`: it turns bracketed paste on, and shows a long paste as `[Pasted text #1 +20 lines]`
//! - `deaf`: Enter does nothing; `deaf=FILE`: until that file exists
//! - `box`: it draws a box without a prompt mark, and Ctrl-U clears only the current line; Backspace joins it with the
//!   one above, but not with `stubborn`
//! - `blind`: typed text is not shown
//! - `menu`: it shows a menu, in which any letter is a choice and Enter chooses the first
//! - `busy=FILE`: it is working until that file exists
//! - `hang=FILE`: it reads nothing until that file exists
//! - `list`: it shows a list above its line, filters it by the typed text, and Enter chooses the last entry that is left
//! - `masked`: it prints a star for each character, and Ctrl-U does nothing
//! - `suggests`: it shows the rest of a suggestion behind the cursor
//! - `clock`: a clock ticks above
//! - `hidden`: it has no cursor

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const OPEN: &[u8] = b"\x1b[200~";
const CLOSE: &[u8] = b"\x1b[201~";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let words = &arguments[2..];
    let has = |word: &str| words.iter().any(|known| known == word);
    let gate = words.iter().find_map(|word| word.strip_prefix("busy=")).map(PathBuf::from);
    let deaf_until = words.iter().find_map(|word| word.strip_prefix("deaf=")).map(PathBuf::from);
    let mut modes = tcgetattr(std::io::stdin()).expect("a terminal");
    modes.make_raw();
    tcsetattr(std::io::stdin(), OptionalActions::Now, &modes).expect("raw mode");
    let (sender, bytes) = channel();
    let hang = words.iter().find_map(|word| word.strip_prefix("hang=")).map(PathBuf::from);
    std::thread::spawn(move || {
        while hang.as_deref().is_some_and(|file| !file.exists()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut buffer = [0u8; 4096];
        while let Ok(length @ 1..) = std::io::stdin().read(&mut buffer) {
            let _ = sender.send(buffer[..length].to_vec());
        }
    });
    let mut prompt = Prompt {
        record: PathBuf::from(&arguments[1]),
        takes_paste: has("paste"),
        is_deaf: has("deaf"),
        deaf_until,
        is_box: has("box"),
        is_stubborn: has("stubborn"),
        is_blind: has("blind"),
        is_menu: has("menu"),
        is_hidden: has("hidden"),
        is_list: has("list"),
        is_masked: has("masked"),
        suggests: has("suggests"),
        gate,
        line: Vec::new(),
        is_pasted: false,
        pastes: 0,
        history: Vec::new(),
        unread: Vec::new(),
        ticks: has("clock").then_some(0),
    };
    prompt.begin();
    loop {
        let is_waiting = prompt.ticks.is_some() || prompt.gate.is_some();
        let pause = if is_waiting { 50 } else { 3_600_000 };
        match bytes.recv_timeout(Duration::from_millis(pause)) {
            Ok(read) => prompt.take(&read),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Some(ticks) = &mut prompt.ticks {
            *ticks += 1;
        }
        if prompt.gate.as_deref().is_some_and(Path::exists) {
            prompt.gate = None;
        }
        prompt.draw();
    }
}

struct Prompt {
    record: PathBuf,
    takes_paste: bool,
    is_deaf: bool,
    deaf_until: Option<PathBuf>,
    is_box: bool,
    is_stubborn: bool,
    is_blind: bool,
    is_menu: bool,
    is_hidden: bool,
    is_list: bool,
    is_masked: bool,
    suggests: bool,
    /// It is working until this file exists.
    gate: Option<PathBuf>,
    line: Vec<u8>,
    /// The input is between the two paste markers.
    is_pasted: bool,
    pastes: usize,
    history: Vec<String>,
    /// The received part of an incomplete marker.
    unread: Vec<u8>,
    ticks: Option<u64>,
}

impl Prompt {
    fn begin(&self) {
        let on = if self.takes_paste { "\x1b[?2004h" } else { "" };
        let cursor = if self.is_hidden { "\x1b[?25l" } else { "" };
        put(&format!("ready\r\n{on}{cursor}"));
        self.draw();
    }

    fn take(&mut self, read: &[u8]) {
        self.unread.extend_from_slice(read);
        let all = std::mem::take(&mut self.unread);
        let mut rest = &all[..];
        while let [first, ..] = rest {
            if let Some(after) = rest.strip_prefix(OPEN) {
                self.is_pasted = true;
                self.pastes += 1;
                rest = after;
            } else if let Some(after) = rest.strip_prefix(CLOSE) {
                self.is_pasted = false;
                rest = after;
            } else if OPEN.starts_with(rest) || CLOSE.starts_with(rest) {
                self.unread = rest.to_vec();
                return;
            } else {
                self.key(*first);
                rest = &rest[1..];
            }
        }
    }

    fn key(&mut self, key: u8) {
        if self.is_menu && !self.is_pasted {
            self.keep(&format!("chose {:?}", char::from(key)));
            return;
        }
        match (key, self.is_pasted) {
            (b'\r', false) if self.is_deaf => {}
            (b'\r', false) if self.deaf_until.as_deref().is_some_and(|file| !file.exists()) => {}
            (b'\r', false) if self.is_list => {
                let chosen = self.left().last().map(|entry| format!("chose {entry}"));
                self.line.clear();
                if let Some(chosen) = chosen {
                    self.keep(&chosen);
                }
            }
            (b'\r', false) => {
                let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
                self.keep(&line);
                self.history.push(line.chars().take(40).collect());
            }
            (0x15, false) if self.is_box => {
                let last = self.line.iter().rposition(|byte| *byte == b'\n');
                self.line.truncate(last.map_or(0, |at| at + 1));
            }
            (0x15, false) if self.is_masked => {}
            (0x15, false) => self.line.clear(),
            (0x7f, false) if self.is_stubborn && self.line.ends_with(b"\n") => {}
            (0x7f, false) => {
                self.line.pop();
            }
            (0x03, false) => {
                self.line.clear();
                self.keep("interrupted");
            }
            (0x1b, false) => self.keep("escaped"),
            (key, _) => self.line.push(key),
        }
    }

    fn keep(&self, message: &str) {
        let mut file =
            OpenOptions::new().create(true).append(true).open(&self.record).expect("a file");
        let line = format!("{}\n", serde_json::Value::from(message));
        file.write_all(line.as_bytes()).expect("written");
    }

    fn draw(&self) {
        let mut picture = String::from("\x1b[2J\x1b[H");
        if let Some(ticks) = self.ticks {
            picture += &format!("it is {ticks} o'clock\r\n");
        }
        let newest = self.history.len().saturating_sub(3);
        for said in &self.history[newest..] {
            picture += &format!("said: {}\r\n", said.replace('\n', " "));
        }
        if self.gate.is_some() {
            picture += "* Thinking... (esc to interrupt)\r\n";
        }
        if self.is_list {
            for entry in self.left() {
                picture += &format!("  {entry}\r\n");
            }
        }
        if self.is_menu {
            picture += "Do you want to delete everything?\r\n❯ 1. Yes\r\n  2. No\r\n";
        } else if self.is_box {
            let shown = self.shown().replace("\r\n  ", "\r\n");
            let side = "─".repeat(60);
            // The cursor is put back to the end of the text, above the lower side.
            picture += &format!("{side}\r\n{shown}\x1b7\r\n{side}\x1b8");
        } else {
            picture += "> ";
            if self.is_masked {
                picture += &"*".repeat(self.line.len());
            } else if !self.is_blind {
                picture += &self.shown();
            }
            if self.suggests && !self.line.is_empty() {
                picture += "\x1b7 and go on\x1b8";
            }
        }
        put(&picture);
    }

    /// The entries of the list that contain a typed word.
    fn left(&self) -> Vec<&'static str> {
        let text = String::from_utf8_lossy(&self.line);
        let has =
            |entry: &&str| text.is_empty() || text.split(' ').any(|word| entry.contains(word));
        ["deploy to production", "delete everything", "look around"]
            .into_iter()
            .filter(has)
            .collect()
    }

    fn shown(&self) -> String {
        const MOST: usize = 1_000;
        let text = String::from_utf8_lossy(&self.line);
        let lines = text.lines().count();
        if self.takes_paste && self.pastes > 0 && (text.len() > MOST || lines > 8) {
            return format!("[Pasted text #{} +{lines} lines]", self.pastes);
        }
        let length = text.chars().count();
        let end: String = text.chars().skip(length.saturating_sub(300)).collect();
        end.replace('\n', "\r\n  ")
    }
}

fn put(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
