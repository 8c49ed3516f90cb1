//! The letters that stand for the lines of a box (DEC special graphics). The emulator does not know this set, so they
//! are replaced before it reads them.

use std::borrow::Cow;

const FIRST: u8 = b'_';
/// From `_` to `~`.
const DRAWN: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
    '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

/// The sets that a program has chosen, and where in its output it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Charsets {
    chosen: Chosen,
    saved: Chosen,
    within: Within,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Chosen {
    /// Whether G0 and G1 are the set of lines.
    draws: [bool; 2],
    is_shifted: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Text,
    Escape,
    /// After `ESC (` or `ESC )`: the next byte names the set.
    Designation(usize),
    /// After another intermediate byte of an escape sequence.
    Intermediate,
    Control,
    /// `CSI !`, whose `p` is a soft reset.
    SoftReset,
    Command,
    /// A string that BEL does not end.
    String,
}

impl Chosen {
    fn is_drawing(self) -> bool {
        self.draws[usize::from(self.is_shifted)]
    }
}

impl Charsets {
    pub(crate) fn translated<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let is_plain = self.within == Within::Text && !self.chosen.is_drawing();
        if is_plain && !bytes.iter().any(|byte| matches!(byte, 0x0e | 0x0f | 0x1b)) {
            return Cow::Borrowed(bytes);
        }
        let mut replaced: Option<Vec<u8>> = None;
        for (at, byte) in bytes.iter().enumerate() {
            match self.read(*byte) {
                Some(drawn) => {
                    let mut buffer = [0; 4];
                    let drawn = drawn.encode_utf8(&mut buffer).as_bytes();
                    replaced.get_or_insert_with(|| bytes[..at].to_vec()).extend(drawn);
                }
                None => {
                    if let Some(replaced) = &mut replaced {
                        replaced.push(*byte);
                    }
                }
            }
        }
        replaced.map_or(Cow::Borrowed(bytes), Cow::Owned)
    }

    /// The sequences that choose the same sets on another terminal; none for the usual ones.
    pub(crate) fn picture(&self) -> Vec<u8> {
        let [first, second] = self.chosen.draws;
        let parts: [(bool, &[u8]); 3] =
            [(first, b"\x1b(0"), (second, b"\x1b)0"), (self.chosen.is_shifted, b"\x0e")];
        parts.iter().filter(|(is_set, _)| *is_set).flat_map(|(_, part)| part.to_vec()).collect()
    }

    /// Returns the character that replaces the byte, if any.
    fn read(&mut self, byte: u8) -> Option<char> {
        let before = self.within;
        self.within = match (before, byte) {
            (_, 0x1b) => Within::Escape,
            (_, 0x18 | 0x1a) => Within::Text,
            (Within::Text, _) => Within::Text,
            (Within::Escape, b'(') => Within::Designation(0),
            (Within::Escape, b')') => Within::Designation(1),
            (Within::Escape, b'[') => Within::Control,
            (Within::Escape, b']') => Within::Command,
            (Within::Escape, b'P' | b'X' | b'^' | b'_') => Within::String,
            (Within::Escape | Within::Intermediate, 0x20..=0x2f) => Within::Intermediate,
            (Within::Designation(_), 0x20..=0x2f) => Within::Intermediate,
            (Within::Control, b'!') => Within::SoftReset,
            (Within::Control | Within::SoftReset, 0x20..=0x3f) => Within::Control,
            (Within::Command, 0x07) => Within::Text,
            (Within::Command, _) => Within::Command,
            (Within::String, _) => Within::String,
            // A control character inside a sequence takes effect, and the sequence goes on.
            (within, 0x00..=0x1f) => within,
            _ => Within::Text,
        };
        match (before, byte) {
            (Within::Command | Within::String, _) => {}
            (_, 0x0e) => self.chosen.is_shifted = true,
            (_, 0x0f) => self.chosen.is_shifted = false,
            (Within::Escape, b'7') => self.saved = self.chosen,
            (Within::Escape, b'8') => self.chosen = self.saved,
            (Within::Escape, b'c') | (Within::SoftReset, b'p') => *self = Self::default(),
            (Within::Designation(set), 0x30..=0x7e) => self.chosen.draws[set] = byte == b'0',
            (Within::Text, FIRST..=b'~') if self.chosen.is_drawing() => {
                return DRAWN.get(usize::from(byte - FIRST)).copied();
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        // In any pieces.
        let mut whole = Charsets::default();
        let at_once = whole.translated(text.as_bytes()).into_owned();
        let mut single = Charsets::default();
        let in_pieces: Vec<u8> =
            text.bytes().flat_map(|byte| single.translated(&[byte]).into_owned()).collect();
        assert_eq!(at_once, in_pieces);
        String::from_utf8(at_once).expect("UTF-8")
    }

    #[test]
    fn letters_are_lines_while_the_set_is_chosen() {
        assert_eq!(read("\x1b(0lqk\x1b(Blqk"), "\x1b(0┌─┐\x1b(Blqk");
        assert_eq!(read("\x1b)0q\x0eq\x0fq"), "\x1b)0q\x0e─\x0fq");
        assert_eq!(read("\x1b(0\x1b7\x1b(Bq\x1b8q\x1bcq"), "\x1b(0\x1b7\x1b(Bq\x1b8─\x1bcq");
        assert_eq!(read("\x1b(0q\x1b[!pq"), "\x1b(0─\x1b[!pq");
        assert_eq!(read("\x1b(0é中A+"), "\x1b(0é中A+");
    }

    #[test]
    fn sequences_are_left_as_they_are() {
        let text =
            "\x1b(0\x1b[1;2mq\x1b]0;lqk\x07x\x1bPqqq\x1b\\x\x1b#8x\x1b[?25lx\x1b]8;;lqk\x1b\\x";
        let drawn =
            "\x1b(0\x1b[1;2m─\x1b]0;lqk\x07│\x1bPqqq\x1b\\│\x1b#8│\x1b[?25l│\x1b]8;;lqk\x1b\\│";
        assert_eq!(read(text), drawn);
    }

    #[test]
    fn the_chosen_sets_can_be_chosen_again() {
        let mut sets = Charsets::default();
        assert!(sets.picture().is_empty());
        sets.translated(b"\x1b(0\x1b)0\x0e");
        assert_eq!(sets.picture(), b"\x1b(0\x1b)0\x0e");
    }
}
