//! Reduces a screen to a number that changes when the content changes.

use ostler_model::StableHasher;

/// Digits and spinner characters are left out: a ticking clock next to a hung program is not progress.
pub fn digest(lines: &[String]) -> u64 {
    let mut hasher = StableHasher::default();
    for line in lines {
        let mut is_blank = true;
        for c in line.chars().filter(|c| !is_ticking(*c)) {
            if !c.is_whitespace() {
                is_blank = false;
                hasher.write(&(c as u32).to_le_bytes());
            }
        }
        if !is_blank {
            hasher.write(b"\n");
        }
    }
    hasher.finish_64()
}

/// The text without whitespace and without characters that tick.
pub fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !is_ticking(*c)).collect()
}

/// True if `now` has more than `before`, apart from one copy of the typed text, which is its echo.
pub fn says_more(before: &str, now: &str, typed: &str) -> bool {
    let (before, now, typed) = (letters(before), letters(now), letters(typed));
    let rest = now.replacen(&typed, "", 1);
    // Lines that scrolled off the top are not new.
    !before.ends_with(&rest)
}

fn is_ticking(c: char) -> bool {
    c.is_ascii_digit()
        || matches!(c, '|' | '/' | '-' | '\\' | '*' | '·' | '•' | '.' | '…')
        // Braille patterns, and the stars of spinners.
        || ('\u{2800}'..='\u{28ff}').contains(&c)
        || ('\u{2720}'..='\u{274b}').contains(&c)
        || ('\u{25d0}'..='\u{25f7}').contains(&c)
}

/// The last non-blank lines, at most `most`, for triage.
pub fn tail(lines: &[String], most: usize) -> String {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    lines[end.saturating_sub(most)..end]
        .iter()
        .map(|line| line.trim_end())
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_spinner_and_its_clock_are_no_change() {
        let first = lines("> fix it\n✻ Thinking… (12s · esc to interrupt)\n\n");
        let later = lines("> fix it\n✽ Thinking… (59s · esc to interrupt)\n\n\n");
        assert_eq!(digest(&first), digest(&later));
        assert_eq!(digest(&lines("⠋ wait")), digest(&lines("⠹ wait")));
    }

    #[test]
    fn a_new_word_on_the_screen_is_a_change() {
        assert_ne!(digest(&lines("reading a")), digest(&lines("reading b")));
        assert_ne!(digest(&lines("a\nb")), digest(&lines("ab")));
    }

    #[test]
    fn an_echo_is_no_answer() {
        let ping = "PING: answer";
        assert!(!says_more("$ ", "$ PING: answer\n\n", ping));
        assert!(
            !says_more("old\nmore\n$ ", "more\n$ PING: an\nswer\n", ping),
            "wrapped and scrolled"
        );
        assert!(says_more("$ ", "$ PING: answer\nheard PING: answer", ping));
        assert!(says_more("$ ", "$ PING: answer\nyes", ping));
    }

    #[test]
    fn the_tail_is_the_last_that_was_written() {
        assert_eq!(tail(&lines("a\nb\nc  \n\n  \n"), 2), "b\nc");
        assert_eq!(tail(&lines(""), 5), "");
    }
}
