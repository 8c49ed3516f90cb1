//! Skin tones of emoji. Programs count an emoji with its skin tone as one character of two columns, as most terminals draw
//! it. The emulator would draw the tone as a second wide character, and at the right edge of the screen on a line of its
//! own, so that every line below would be in the wrong place. While it draws, a tone behind another character is replaced by
//! a variation selector, which has no width and as many bytes.

use std::borrow::Cow;

/// The bytes of U+1F3FB to U+1F3FF, without the last one.
const TONE: [u8; 3] = [0xf0, 0x9f, 0x8f];
const TONES: std::ops::RangeInclusive<u8> = 0xbb..=0xbf;
/// The bytes of U+E01E0 to U+E01E4, without the last one.
const STAND_IN: [u8; 3] = [0xf3, 0xa0, 0x87];
const STAND_INS: std::ops::RangeInclusive<u8> = 0xa0..=0xa4;

#[derive(Clone, Debug, Default)]
pub(crate) struct SkinTones {
    /// The last byte belongs to a character that a tone may follow.
    is_behind: bool,
    /// How many bytes of a tone have been read.
    read: usize,
}

impl SkinTones {
    /// Keeps the first bytes of an incomplete tone until the next call.
    pub(crate) fn replaced<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.read == 0 && !bytes.contains(&TONE[0]) {
            self.is_behind = bytes.last().map_or(self.is_behind, |byte| *byte >= 0x80);
            return Cow::Borrowed(bytes);
        }
        let mut replaced = Vec::with_capacity(bytes.len() + TONE.len());
        for byte in bytes {
            if self.is_behind && TONE.get(self.read) == Some(byte) {
                self.read += 1;
                continue;
            }
            let is_tone = self.read == TONE.len() && TONES.contains(byte);
            match is_tone {
                true => replaced
                    .extend([&STAND_IN[..], &[byte - TONES.start() + STAND_INS.start()]].concat()),
                false => {
                    replaced.extend(&TONE[..self.read]);
                    replaced.push(*byte);
                }
            }
            self.read = 0;
            self.is_behind = *byte >= 0x80;
        }
        Cow::Owned(replaced)
    }
}

/// The bytes with the tones that were replaced.
pub(crate) fn restored(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = STAND_IN.len();
    for at in 0..bytes.len().saturating_sub(length) {
        let last = bytes[at + length];
        if bytes[at..].starts_with(&STAND_IN) && STAND_INS.contains(&last) {
            bytes[at..at + length].copy_from_slice(&TONE);
            bytes[at + length] = last - STAND_INS.start() + TONES.start();
        }
    }
    bytes
}

/// The same for a text.
pub(crate) fn restored_text(text: String) -> String {
    if text.is_ascii() {
        return text;
    }
    String::from_utf8(restored(text.into_bytes())).unwrap_or_default()
}
