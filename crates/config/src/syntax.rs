//! Text that is no TOML, in plain words.

use crate::findings::{Findings, place};
use std::ops::Range;
use toml::de::{DeTable, DeValue, Error};

/// What the parser says, what we say, and what would be right.
const PLAIN: &[(&str, &str, &str)] = &[
    ("unclosed array table", "the brackets are not closed", "close them as [[name]]"),
    ("unclosed array", "the list is not closed", "a ] is missing"),
    ("unclosed inline table", "the table is not closed", "a } is missing"),
    ("unclosed table", "the bracket is not closed", "a ] is missing at the end of this line"),
    ("missing comma between array", "a comma is missing before this", "or the ] of the list"),
    ("missing comma between key", "a comma is missing before this", "or the } of the table"),
    ("extra comma", "there is a comma too many", "take one out"),
    ("extra `=`", "there is a = too many", "write key = value"),
    ("unexpected `=` in array", "a = cannot stand in a list", "perhaps a ] is missing before this"),
    ("key with no value", "a key without a value", "write key = value"),
    ("missing value", "the value is missing", "write key = value"),
    ("missing assignment", "a = is missing", "write key = value"),
    (
        "unexpected key or value",
        "the line should end here",
        "one key = value a line, and text in quotes",
    ),
    ("invalid basic string", "the text is not closed", "a \" is missing at its end"),
    ("invalid literal string", "the text is not closed", "a ' is missing at its end"),
    ("invalid multi-line", "the text is not closed", "three quotes are missing at its end"),
    (
        "missing escaped value",
        "this is no escape that is known",
        "inside \"…\" write a backslash as \\\\, or use '…'",
    ),
    ("too few unicode", "this escape is too short", "write it as \\u00e9, with four digits"),
    (
        "invalid unquoted key",
        "this key needs quotes",
        "without, only letters, digits, - and _ are possible",
    ),
    ("unquoted keys cannot be empty", "the key is missing", "name it before the = or the ]"),
    ("unexpected leading zero", "a number does not begin with 0", "text belongs into quotes"),
    (
        "carriage return",
        "a carriage return stands here alone",
        "save the file with Unix or Windows line ends",
    ),
    ("cannot recurse", "this is nested too deeply", ""),
    ("cannot extend", "this has a value already", "so it cannot be a table as well"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Sound,
    Broken,
}

/// Tells of the first break, because what follows is often only its echo, and of keys that are there twice.
pub(crate) fn description(findings: &mut Findings<'_>, errors: &[Error]) -> Syntax {
    let mut is_body_of_second = false;
    for (index, error) in errors.iter().enumerate() {
        let span = error.span().unwrap_or(findings.text.len()..findings.text.len());
        if error.message() != "duplicate key" {
            let next = errors.get(index + 1).map_or("", |error| error.message());
            broken(findings, error.message(), span, next);
            return Syntax::Broken;
        }
        let is_header = is_header(findings.text, span.start);
        // The keys under a second header clash with those under the first; the header says it all.
        if is_header || !is_body_of_second {
            twice(findings, span, is_header);
        }
        is_body_of_second = is_header || is_body_of_second;
    }
    Syntax::Sound
}

fn broken(findings: &mut Findings<'_>, message: &str, span: Range<usize>, next: &str) {
    let text = findings.text;
    let word = text.get(span.clone()).unwrap_or_default();
    let begin = line_begin(text, span.start);
    let line = text[begin..].lines().next().unwrap_or_default();
    if let Some((at, sign)) =
        line.char_indices().find(|(_, c)| c.is_control() && !"\t\r".contains(*c))
    {
        let description = format!("a control character stands here: U+{:04X}", u32::from(sign));
        findings.add(
            begin + at..begin + at + 1,
            description,
            "take it out, or see whether it is the right file",
        );
    } else if message.starts_with("string values must be quoted") && !word.is_empty() {
        let hint = match word.to_ascii_lowercase().as_str() {
            lower @ ("true" | "false") => format!("write {lower}"),
            _ => format!("text belongs into quotes: \"{word}\""),
        };
        findings.add(span, "this is neither text in quotes nor a number nor true or false", hint);
    } else if message.starts_with("missing comma") && next.starts_with("unexpected `=` in array") {
        findings.add(span, "the list above is not closed", "a ] is missing before this line");
    } else if message.starts_with("key with no value") && is_other_format(line) {
        let hint = "this file is TOML: key = value; `ostler import` reads a Procfile";
        findings.add(span, "this looks like a Procfile or YAML", hint);
    } else {
        let plain = PLAIN.iter().find(|(begin, ..)| message.starts_with(begin));
        match plain {
            Some((_, description, hint)) => findings.add(span, *description, *hint),
            None => findings.add(span, message.replace('\n', ", "), ""),
        }
    }
}

fn is_other_format(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, rest)| {
        !name.contains(['"', '\'', '=', '[']) && (rest.is_empty() || rest.starts_with(' '))
    })
}

fn twice(findings: &mut Findings<'_>, span: Range<usize>, is_header: bool) {
    let word = findings.text.get(span.clone()).unwrap_or_default();
    let name = word.trim_matches(['"', '\'']);
    // Each is another reading of the file.
    let is_asked = findings.len() < 5;
    let first = is_asked.then(|| first_of(findings.text, name, span.start, is_header)).flatten();
    let hint = match first {
        Some(line) => format!("the first one is in line {line}; keep one of them"),
        None => "keep one of them".to_owned(),
    };
    findings.add(span, format!("{name:?} is here for the second time"), hint);
}

/// The line of the same key above. The text up to there is read for itself: in the whole file the second may
/// have taken the first one's place.
fn first_of(text: &str, name: &str, until: usize, is_header: bool) -> Option<usize> {
    let until = if is_header { line_begin(text, until) } else { until };
    let (above, _) = DeTable::parse_recoverable(&text[..until]);
    let mut last = None;
    let mut tables = vec![above.get_ref()];
    while let Some(table) = tables.pop() {
        for (key, value) in table {
            let is_table = matches!(value.get_ref(), DeValue::Table(_));
            if key.get_ref() == name && (is_table || !is_header) {
                last = last.max(Some(key.span().start));
            }
            tables.extend(value.get_ref().as_table());
        }
    }
    last.map(|at| place(text, at..at).line)
}

fn is_header(text: &str, at: usize) -> bool {
    text[line_begin(text, at)..].trim_start().starts_with('[')
}

fn line_begin(text: &str, at: usize) -> usize {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}
