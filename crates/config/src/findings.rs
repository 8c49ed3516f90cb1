//! Collects the errors and warnings of one file.

use crate::problem::{Position, Problem};
use std::ops::Range;
use std::path::Path;

/// At most this many errors of a file are shown.
const MOST: usize = 100;

pub(crate) struct Findings<'a> {
    pub file: &'a Path,
    pub text: &'a str,
    found: Vec<Finding>,
    /// Warnings: no errors, but probably mistakes.
    warned: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    span: Range<usize>,
    message: String,
    hint: String,
}

impl<'a> Findings<'a> {
    pub fn new(file: &'a Path, text: &'a str) -> Self {
        Self { file, text, found: Vec::new(), warned: Vec::new() }
    }

    pub fn add(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.found.push(Finding { span, message: message.into(), hint: hint.into() });
    }

    /// Adds a warning; the value is used as it is.
    pub fn warn(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if self.warned.len() < MOST {
            self.warned.push(Finding { span, message: message.into(), hint: hint.into() });
        }
    }

    pub fn warnings(&self) -> Vec<Problem> {
        self.warned.iter().map(|found| self.problem(found.clone())).collect()
    }

    fn problem(&self, found: Finding) -> Problem {
        Problem {
            file: self.file.to_owned(),
            place: Some(place(self.text, found.span)),
            message: found.message,
            hint: Some(found.hint).filter(|hint| !hint.is_empty()),
        }
    }

    /// Whether another error would not be shown. Callers then skip the expensive search for a similar name.
    pub fn is_full(&self) -> bool {
        self.found.len() >= MOST
    }

    pub fn len(&self) -> usize {
        self.found.len()
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All problems in the order of the file, without duplicates.
    pub fn problems(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|found| (found.span.start, found.span.end));
        self.found.dedup();
        let left_out = self.found.len().saturating_sub(MOST);
        let found = std::mem::take(&mut self.found);
        let mut problems: Vec<Problem> =
            found.into_iter().take(MOST).map(|found| self.problem(found)).collect();
        if left_out > 0 {
            problems.push(Problem {
                file: self.file.to_owned(),
                place: None,
                message: format!("{left_out} more problems are not shown"),
                hint: None,
            });
        }
        problems
    }
}

/// The line and column of a span.
pub(crate) fn place(text: &str, span: Range<usize>) -> Position {
    let start = floor(text, span.start);
    let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let until = floor(text, span.end.max(start)).min(end);
    Position {
        line: text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1,
        column: text[begin..start].chars().count() + 1,
        text: text[begin..end].trim_end_matches('\r').to_owned(),
        width: text[start..until].trim_end_matches('\r').chars().count().max(1),
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
