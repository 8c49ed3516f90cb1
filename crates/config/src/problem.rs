//! An error in a file: its position, a message, and a hint.

use std::fmt;
use std::path::PathBuf;

/// A position in a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
    /// The text of the line.
    pub text: String,
    /// How many characters to underline.
    pub width: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    pub place: Option<Position>,
    pub message: String,
    /// How to correct it.
    pub hint: Option<String>,
}

/// Longer lines are shown in part.
const SHOWN_MOST: usize = 120;
const SHOWN_BEFORE: usize = 40;

impl Position {
    /// The visible part of the line, and its underline.
    fn shown(&self) -> (String, String) {
        let all = self.text.chars().count();
        let first = if all > SHOWN_MOST { self.column.saturating_sub(SHOWN_BEFORE + 1) } else { 0 };
        let part: Vec<char> = self.text.chars().skip(first).take(SHOWN_MOST).collect();
        let before = if first > 0 { "…" } else { "" };
        let after = if first + part.len() < all { "…" } else { "" };
        let blank: String = before
            .chars()
            .chain(part.iter().copied())
            .take(before.chars().count() + self.column - 1 - first)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let space = (part.len() + 1).saturating_sub(self.column - 1 - first).max(1);
        let safe: String = part.into_iter().map(safe).collect();
        (format!("{before}{safe}{after}"), format!("{blank}{}", "^".repeat(self.width.min(space))))
    }
}

/// Replaces characters that could control the terminal or change the direction of text.
fn safe(c: char) -> char {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if turns || (c.is_control() && c != '\t') { '\u{fffd}' } else { c }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message: String = self.message.chars().map(safe).collect();
        let file = self.file.display();
        match &self.place {
            None => write!(f, "{file}: {message}")?,
            Some(place) => {
                let number = place.line.to_string();
                let margin = " ".repeat(number.len());
                let (line, under) = place.shown();
                let at = format!("{}:{}", place.line, place.column);
                write!(
                    f,
                    "{file}:{at}: {message}\n{margin} |\n{number} | {line}\n{margin} | {under}"
                )?;
            }
        }
        let margin = self.place.as_ref().map_or(1, |place| place.line.to_string().len());
        match &self.hint {
            Some(hint) => {
                let hint: String = hint.chars().map(safe).collect();
                write!(f, "\n{:margin$} = {hint}", "")
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// The most similar word, if there is one.
pub(crate) fn nearest<'a>(word: &str, right: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A longer text is not a misspelled word, and the comparison takes the product of both lengths.
    if word.len() > 100 {
        return None;
    }
    right
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1.max(candidate.chars().count() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Joins the first words, and counts the rest.
pub(crate) fn named<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let words: Vec<&str> = words.into_iter().collect();
    match words.len().checked_sub(MOST) {
        None | Some(0) => words.join(", "),
        Some(more) => format!("{} and {more} more", words[..MOST].join(", ")),
    }
}
