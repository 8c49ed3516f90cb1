//! What is wrong, where, and what would be right.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A place in a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    /// The line itself.
    pub text: String,
    /// How many characters of it are meant.
    pub width: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    pub place: Option<Place>,
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(file: &Path, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: None, message: message.into(), hint: None }
    }

    pub(crate) fn at(mut self, text: &str, span: Range<usize>) -> Self {
        self.place = Some(Place::of(text, span));
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Place {
    fn of(text: &str, span: Range<usize>) -> Self {
        let start = floor(text, span.start);
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let until = floor(text, span.end.max(start)).min(end);
        Self {
            line: text[..start].matches('\n').count() + 1,
            column: text[begin..start].chars().count() + 1,
            text: text[begin..end].trim_end_matches('\r').to_owned(),
            width: text[start..until].chars().count().max(1),
        }
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.place {
            None => write!(f, "{file}: {}", self.message)?,
            Some(place) => {
                let number = place.line.to_string();
                let margin = " ".repeat(number.len());
                let blank: String = place
                    .text
                    .chars()
                    .take(place.column - 1)
                    .map(|c| if c == '\t' { '\t' } else { ' ' })
                    .collect();
                write!(
                    f,
                    "{file}:{}:{}: {}\n{margin} |\n{number} | {}\n{margin} | {blank}{}",
                    place.line,
                    place.column,
                    self.message,
                    place.text,
                    "^".repeat(place.width)
                )?;
            }
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  = {hint}"),
            None => Ok(()),
        }
    }
}

/// The word that was probably meant.
pub(crate) fn nearest<'a>(word: &str, right: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    right
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1.max(candidate.chars().count() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
