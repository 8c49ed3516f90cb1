//! Unusual texts, each with a number that identifies it.

use std::fmt::Write;

/// A deterministic row of numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len() as u64) as usize]
    }
}

const SHELL: [&str; 14] = [
    "$(rm -rf /)",
    "`id`",
    "\"",
    "'",
    "\\",
    ";",
    "&&",
    "|",
    "> /dev/null",
    "${HOME}",
    "#{pane_id}",
    "%1",
    "!!",
    "~",
];
const UNICODE: [&str; 14] = [
    "Grüße",
    "你好世界",
    "こんにちは",
    "한국어",
    "Привет",
    "e\u{301}\u{323}",
    "👩\u{200d}🚀",
    "🇩🇪",
    "\u{202e}abc\u{202c}",
    "ﬁ",
    "\u{feff}",
    "ไทย",
    "नमस्ते",
    "𝔘𝔫𝔦",
];
const CONTROL: [&str; 10] =
    ["\t", "\x1b[2J", "\x1b[201~", "\r", "\x08", "\x7f", "\x03", "\x15", "\u{9b}6n", "\x04"];
const PLAIN: [&str; 6] = ["the build", "is red", "since", "4711", "look", "-n"];

/// Up to 64 KiB, of all kinds of characters.
pub fn text(dice: &mut Dice, number: usize) -> String {
    let pieces = match dice.roll(100) {
        0 => 9_000,
        1..10 => 400,
        _ => 1 + dice.roll(12),
    };
    let mut text = format!("nr {number}:");
    for _ in 0..pieces {
        let piece = match dice.roll(10) {
            0..3 => dice.pick(&SHELL),
            3..6 => dice.pick(&UNICODE),
            6 => dice.pick(&CONTROL),
            7 if dice.roll(3) == 0 => "\n",
            _ => dice.pick(&PLAIN),
        };
        text.push(' ');
        text.push_str(piece);
        if text.len() > 64 << 10 {
            break;
        }
    }
    let _ = write!(text, " end {number}");
    text
}

/// The part that must arrive.
pub fn typed(text: &str, keeps_lines: bool) -> String {
    let key = |c: char| match c {
        '\n' if keeps_lines => Some('\n'),
        '\n' | '\t' => Some(' '),
        c if c.is_control() => None,
        c => Some(c),
    };
    text.chars().filter_map(key).collect()
}
