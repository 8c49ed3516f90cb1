//! Text that is no JSON, in plain words.

use super::read::SyntaxError;
use std::ops::Range;

fn broken(
    span: Range<usize>,
    description: impl Into<String>,
    hint: impl Into<String>,
) -> SyntaxError {
    SyntaxError { span, description: description.into(), hint: hint.into() }
}

/// The word that begins there, or its first character.
fn word(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let long = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    match long.unwrap_or(rest.len()) {
        0 => rest.chars().next().map_or("", |sign| &rest[..sign.len_utf8()]),
        long => &rest[..long],
    }
}

/// Something stands where it cannot; what others allow there is known by its look.
pub(super) fn unexpected(text: &str, at: usize, description: &str, hint: &str) -> SyntaxError {
    let rest = text.get(at..).unwrap_or_default();
    let word = word(text, at);
    let span = at..at + word.len();
    if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        return broken(at..at + end, "JSON has no comments", "take it out");
    }
    if rest.starts_with('\'') {
        return broken(span, "text has double quotes in JSON", "write \"…\" instead of '…'");
    }
    if description.starts_with("a comma") && rest.starts_with('}') {
        return broken(span, "the list above is not closed", "a ] is missing before this");
    }
    if description.starts_with("a comma") && rest.starts_with(']') {
        return broken(span, "the object above is not closed", "a } is missing before this");
    }
    if let Some(sign) = rest.chars().next().filter(|sign| sign.is_control()) {
        return control(at, sign);
    }
    let right = match word.to_ascii_lowercase().as_str() {
        lower @ ("true" | "false" | "null") => Some(lower.to_owned()),
        "none" | "nil" | "undefined" => Some("null".to_owned()),
        _ if word.chars().next().is_some_and(char::is_alphabetic) => Some(format!("\"{word}\"")),
        _ => None,
    };
    match right {
        Some(right) if description.starts_with("a value") => broken(
            span,
            "this is neither text in quotes nor a number nor true, false or null",
            format!("write {right}"),
        ),
        _ => broken(span, description, hint),
    }
}

pub(super) fn no_key(text: &str, at: usize) -> SyntaxError {
    let word = word(text, at);
    if word.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return broken(at..at + word.len(), "this key needs quotes", format!("write \"{word}\""));
    }
    if word == "," {
        return broken(at..at + 1, "there is a comma too many", "take one out");
    }
    unexpected(text, at, "a key is missing here", "write \"key\": value")
}

pub(super) fn no_number(span: Range<usize>, written: &str) -> SyntaxError {
    let digits = written.trim_start_matches('-');
    let hint = if digits.starts_with("0x") || digits.starts_with("0X") {
        "JSON has no hexadecimal numbers; write it in digits, or in quotes if text is meant"
    } else if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") {
        "a number does not begin with 0; text belongs into quotes"
    } else if written.matches('.').count() > 1 {
        "text belongs into quotes"
    } else if written.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        "it is as in 30, -1, 1.5 or 1e3, and not larger than 1e308"
    } else {
        "text belongs into quotes"
    };
    broken(span, "this is not a number", hint)
}

pub(super) fn unclosed_text(span: Range<usize>) -> SyntaxError {
    broken(span, "the text is not closed", "a \" is missing at its end; a new line inside is \\n")
}

pub(super) fn control(at: usize, sign: char) -> SyntaxError {
    let code = u32::from(sign);
    let hint = match sign {
        '\t' => "inside text a tab is written \\t".to_owned(),
        _ => format!("take it out, or write it as \\u{code:04x} inside text"),
    };
    let description = format!("a control character stands here: U+{code:04X}");
    broken(at..at + sign.len_utf8(), description, hint)
}

pub(super) fn no_escape(span: Range<usize>) -> SyntaxError {
    let hint = "write a backslash itself as \\\\";
    broken(span, "this is no escape that is known", hint)
}
