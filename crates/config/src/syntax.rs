//! Messages for TOML syntax errors.

use crate::findings::{Findings, place};
use std::ops::Range;
use toml::de::{DeTable, DeValue, Error};

/// The parser's message, our message, and a hint.
const PLAIN: &[(&str, &str, &str)] = &[
    ("unclosed array table", "the brackets are not closed", "close them as [[name]]"),
    ("unclosed array", "the list is not closed", "add ]"),
    ("unclosed inline table", "the table is not closed", "add }"),
    ("unclosed table", "the bracket is not closed", "add ] at the end of this line"),
    ("missing comma between array", "a comma is missing before this", "or ] to close the list"),
    ("missing comma between key", "a comma is missing before this", "or } to close the table"),
    ("extra comma", "extra comma", "remove it"),
    ("extra `=`", "extra =", "write key = value"),
    ("unexpected `=` in array", "unexpected = in a list", "perhaps ] is missing before this"),
    ("key with no value", "the key has no value", "write key = value"),
    ("missing value", "the value is missing", "write key = value"),
    ("missing assignment", "a = is missing", "write key = value"),
    (
        "unexpected key or value",
        "expected the end of the line",
        "write one key = value per line, and text in quotes",
    ),
    ("invalid basic string", "the text is not closed", "add \" at its end"),
    ("invalid literal string", "the text is not closed", "add ' at its end"),
    ("invalid multi-line", "the text is not closed", "add three quotes at its end"),
    ("missing escaped value", "unknown escape", "in \"…\" write a backslash as \\\\, or use '…'"),
    (
        "too few unicode",
        "the escape is too short",
        "write \\u and four digits, for example \\u00e9",
    ),
    (
        "invalid unquoted key",
        "this key needs quotes",
        "without quotes, a key has only letters, digits, - and _",
    ),
    ("unquoted keys cannot be empty", "the key is missing", "write it before = or ]"),
    ("unexpected leading zero", "a number cannot begin with 0", "put text in quotes"),
    (
        "carriage return",
        "unexpected carriage return",
        "save the file with Unix or Windows line endings",
    ),
    ("cannot recurse", "this is nested too deeply", ""),
    ("cannot extend", "this key already has a value", "so it cannot be a table as well"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Sound,
    Broken,
}

/// Reports the first syntax error, because later ones are often consequences of it, and all duplicate keys.
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
        // Keys below a duplicate header are duplicates too; report only the header.
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
        let description = format!("unexpected control character U+{:04X}", u32::from(sign));
        findings.add(
            begin + at..begin + at + 1,
            description,
            "remove it, or check that this is the right file",
        );
    } else if message.starts_with("string values must be quoted") && !word.is_empty() {
        let hint = match word.to_ascii_lowercase().as_str() {
            lower @ ("true" | "false") => format!("write {lower}"),
            _ => format!("put text in quotes: \"{word}\""),
        };
        findings.add(span, "expected text in quotes, a number, true or false", hint);
    } else if message.starts_with("missing comma") && next.starts_with("unexpected `=` in array") {
        findings.add(span, "the list above is not closed", "add ] before this line");
    } else if message.starts_with("key with no value") && is_other_format(line) {
        let hint = "this file must be TOML: key = value; `ostler import` reads a Procfile";
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
    // Each search reads the file again.
    let is_asked = findings.len() < 5;
    let first = is_asked.then(|| first_of(findings.text, name, span.start, is_header)).flatten();
    let hint = match first {
        Some(line) => format!("first defined on line {line}; remove one of them"),
        None => "remove one of them".to_owned(),
    };
    findings.add(span, format!("{name:?} is defined twice"), hint);
}

/// The line of the first definition. Only the text above is parsed: in the whole file the second definition may have
/// replaced the first.
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
