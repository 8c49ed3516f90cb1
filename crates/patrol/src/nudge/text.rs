//! Converts texts to a form that can be typed, and to a form that can be found on a screen.

use super::terminal::Paste;

/// Removes all characters that act as keys. In a program without bracketed paste, a line break would send the first
/// half of the text: there it becomes a space.
pub fn clean(text: &str, paste: Paste) -> String {
    let typed = |c: char| match (c, paste) {
        ('\n', Paste::Bracketed) => Some('\n'),
        ('\n', Paste::Plain) | ('\t', _) => Some(' '),
        (c, _) if c.is_control() => None,
        (c, _) => Some(c),
    };
    text.chars().filter_map(typed).collect()
}

/// How many characters of the text's end are searched on the screen.
const TAIL: usize = 24;

/// The end of a text, in the form that `visible` returns.
pub fn tail(text: &str) -> String {
    let visible: Vec<char> = text.chars().filter(|c| is_visible(*c)).collect();
    visible[visible.len().saturating_sub(TAIL)..].iter().collect()
}

/// The characters of `lines` that every terminal shows in the same way. Programs wrap a text where they like and draw
/// boxes around it, so blanks and the characters of boxes and prompts are left out.
pub fn visible<'a>(lines: impl IntoIterator<Item = &'a String>) -> String {
    lines.into_iter().flat_map(|line| line.chars()).filter(|c| is_visible(*c)).collect()
}

fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_graphic() && !matches!(c, '|' | '>');
    }
    // Of other scripts, only letters that stand alone, not marks that combine with a letter.
    let is_simple = c < '\u{0300}'
        || ('\u{0370}'..'\u{0483}').contains(&c)
        || ('\u{048a}'..'\u{0590}').contains(&c)
        || ('\u{3041}'..'\u{3097}').contains(&c)
        || ('\u{30a1}'..'\u{30fb}').contains(&c)
        || ('\u{4e00}'..'\u{a000}').contains(&c)
        || ('\u{ac00}'..'\u{d7a4}').contains(&c);
    is_simple && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_from_a_text() {
        let text = "a\tb\x1b[2J\r\nc\x08\x7f\x03\u{9b}31m\0d";
        assert_eq!(clean(text, Paste::Bracketed), "a b[2J\nc31md");
        assert_eq!(clean(text, Paste::Plain), "a b[2J c31md");
        assert_eq!(clean("\x1b\x03", Paste::Plain), "");
        assert_eq!(clean("„Grüße“ 你好 e\u{301} 👩‍🚀", Paste::Plain), "„Grüße“ 你好 e\u{301} 👩‍🚀");
    }

    #[test]
    fn a_tail_is_found_however_it_is_wrapped_and_framed() {
        let text = "please look at the build of today > it is red";
        let screen: Vec<String> = [
            "╭─────────╮",
            "│ > please look at the build of tod │",
            "│   ay > it │",
            "│   is red│",
            "╰────╯",
        ]
        .map(str::to_owned)
        .into();
        assert!(visible(&screen).contains(&tail(text)));
        assert_eq!(tail("🎉 e\u{301}"), "e");
        assert_eq!(tail("🎉\n"), "");
        assert_eq!(tail(&"x".repeat(100)).len(), TAIL);
    }
}
