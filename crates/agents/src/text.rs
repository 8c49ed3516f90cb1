//! Forms of a text that can be compared with a screen.

/// Without blanks and line breaks: programs wrap and indent as they like.
pub fn letters(text: &str) -> String {
    text.chars().filter(|c| is_compared(*c)).collect()
}

/// Blanks are drawn in many ways, and joining marks are not visible on a screen.
fn is_compared(c: char) -> bool {
    !c.is_whitespace()
        && !c.is_control()
        && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}')
        && !('\u{300}'..='\u{36f}').contains(&c)
        && !('\u{1f3fb}'..='\u{1f3ff}').contains(&c)
}

/// The characters that every terminal draws in the same way.
pub fn plain_letters(text: &str) -> String {
    text.chars().filter(|c| is_compared(*c) && is_plain(*c)).collect()
}

/// Terminals disagree on the width of other characters, and draw some of them as two.
fn is_plain(c: char) -> bool {
    c < '\u{300}'
        || ('\u{370}'..'\u{590}').contains(&c)
        || ('\u{2010}'..'\u{2028}').contains(&c)
        || ('\u{2030}'..'\u{205f}').contains(&c)
        || ('\u{3041}'..'\u{30fb}').contains(&c)
        || ('\u{4e00}'..'\u{a000}').contains(&c)
        || ('\u{ac00}'..'\u{d7a4}').contains(&c)
}

/// True if two texts are the same message: agents trim, turn tabs into blanks, and compose accents.
pub fn same(one: &str, other: &str) -> bool {
    let has_marks = |text: &str| text.chars().any(is_mark);
    letters(one) == letters(other)
        || ((has_marks(one) || has_marks(other)) && without_accents(one) == without_accents(other))
}

fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// Leaves out letters with accents, whether written as one character or as two.
pub(crate) fn without_accents(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_accented = |at: usize, c: char| {
        ('\u{c0}'..='\u{24f}').contains(&c)
            || ('\u{1e00}'..='\u{1eff}').contains(&c)
            || chars.get(at + 1).is_some_and(|next| is_mark(*next))
    };
    let kept = chars.iter().enumerate().filter(|(at, c)| !is_accented(*at, **c)).map(|(_, c)| *c);
    letters(&kept.collect::<String>())
}

/// True if the text has characters that combine with others. Terminals and programs disagree on their width, so the
/// text after them may be overwritten.
pub fn is_hard_to_draw(text: &str) -> bool {
    text.chars().any(|c| {
        matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{1f1e6}'..='\u{1f1ff}')
            || is_mark(c)
            || ('\u{590}'..='\u{1fff}').contains(&c)
    })
}

/// True if `shown` can be what is left of `typed` on a screen: its letters in order, some missing.
pub fn is_remainder(shown: &str, typed: &str) -> bool {
    let plain = |text: &str| plain_letters(&without_accents(text));
    let (shown, typed) = (plain(shown), plain(typed));
    let mut rest = typed.chars();
    shown.chars().all(|c| rest.any(|other| other == c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_however_they_are_wrapped_or_composed() {
        assert!(same("a b\tc", "a b    c "));
        assert!(same("one\r\ntwo", "one\ntwo"));
        assert!(same("cafe\u{301} is open", "caf\u{e9} is open"));
        assert!(!same("a b", "a b d"));
        assert!(!same("gr\u{fc}n", "rot"));
        assert!(is_remainder("look end", "look \u{1f469}\u{200d}\u{1f680} at the end"));
        assert!(is_remainder(
            "\u{e9}t\u{e9} ^ \u{1f469}\u{200d} $HOME",
            "e\u{301}te\u{301} ^ \u{1f469}\u{200d}\u{1f680} $HOME"
        ));
        assert!(!is_remainder("look at me", "look \u{1f44d}\u{1f3fd} end"));
        assert!(!same("\u{e4}pfel 1", "\u{e4}pfel 2"));
    }
}
