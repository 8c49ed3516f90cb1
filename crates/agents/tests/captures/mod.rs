//! Screens captured from real agents. The first line of a file has the size, the cursor and the title; the rest is tmux's
//! capture, with colours.

#![allow(dead_code, reason = "each test uses a part of it")]

use jiff::Zoned;
use ostler_agents::{Judged, Profile, ProfileSet};
use ostler_model::{ScreenCursor, ScreenText, TerminalSize};
use std::path::Path;

const NOON: &str = "2026-11-16T12:00:00[UTC]";

pub fn screen(agent: &str, state: &str) -> ScreenText {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
    let path = folder.join(agent).join(format!("{state}.screen"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (head, rest) = text.split_once('\n').expect("a first line");
    let mut words = head.splitn(6, ' ');
    let mut number = || words.next().and_then(|word| word.parse::<u16>().ok()).expect("a number");
    let size = TerminalSize { columns: number(), rows: number() };
    let (column, row, is_visible) = (number(), number(), number() == 1);
    let cursor = ScreenCursor { row, column, is_visible };
    let title = head.splitn(6, ' ').nth(5).unwrap_or_default().to_owned();
    ScreenText { title, ..ostler_screen::from_capture(rest, size, cursor) }
}

pub fn profile(agent: &str) -> Profile {
    let book = ProfileSet::built_in().expect("profiles that can be read");
    Profile::clone(book.named(agent).expect("a profile"))
}

pub fn judge(agent: &str, state: &str) -> Judged {
    judge_at(agent, state, NOON)
}

pub fn judge_at(agent: &str, state: &str, now: &str) -> Judged {
    let now: Zoned = now.parse().expect("a time");
    profile(agent).judge(&screen(agent, state), &now)
}

/// Judges lines without colours.
pub fn judge_lines(agent: &str, text: &str, row: usize, column: u16) -> Judged {
    let cursor = ScreenCursor { row: row as u16, column, is_visible: true };
    let lines = text.lines().map(str::to_owned).collect();
    let screen = ScreenText { lines, cursor, columns: 120, ..ScreenText::default() };
    profile(agent).judge(&screen, &NOON.parse().expect("a time"))
}
