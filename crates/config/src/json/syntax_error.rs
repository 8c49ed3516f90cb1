//! Messages for JSON syntax errors.

use super::read::SyntaxError;
use std::ops::Range;

fn broken(
    span: Range<usize>,
    description: impl Into<String>,
    hint: impl Into<String>,
) -> SyntaxError {
    SyntaxError { span, description: description.into(), hint: hint.into() }
}

/// The word that begins at `at`, or the character there.
fn word(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let long = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    match long.unwrap_or(rest.len()) {
        0 => rest.chars().next().map_or("", |sign| &rest[..sign.len_utf8()]),
        long => &rest[..long],
    }
}

/// An unexpected token. Some tokens that other formats allow have their own messages.
pub(super) fn unexpected(text: &str, at: usize, description: &str, hint: &str) -> SyntaxError {
    let rest = text.get(at..).unwrap_or_default();
    let word = word(text, at);
    let span = at..at + word.len();
    if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        return broken(at..at + end, "JSON has no comments", "remove the comment");
    }
    if rest.starts_with('\'') {
        return broken(span, "JSON needs double quotes", "write \"…\" instead of '…'");
    }
    if description.starts_with("a comma") && rest.starts_with('}') {
        return broken(span, "the list above is not closed", "add ] before this");
    }
    if description.starts_with("a comma") && rest.starts_with(']') {
        return broken(span, "the object above is not closed", "add } before this");
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
            "expected text in quotes, a number, true, false or null",
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
        return broken(at..at + 1, "extra comma", "remove it");
    }
    unexpected(text, at, "a key is missing here", "write \"key\": value")
}

pub(super) fn no_number(span: Range<usize>, written: &str) -> SyntaxError {
    let digits = written.trim_start_matches('-');
    let hint = if digits.starts_with("0x") || digits.starts_with("0X") {
        "JSON has no hexadecimal numbers; write it in decimal, or put it in quotes"
    } else if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") {
        "a number cannot begin with 0; put text in quotes"
    } else if written.matches('.').count() > 1 {
        "put text in quotes"
    } else if written.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        "write a number such as 30, -1, 1.5 or 1e3; the maximum is 1e308"
    } else {
        "put text in quotes"
    };
    broken(span, "this is not a number", hint)
}

pub(super) fn unclosed_text(span: Range<usize>) -> SyntaxError {
    broken(span, "the text is not closed", "add \" at its end; write a new line as \\n")
}

pub(super) fn control(at: usize, sign: char) -> SyntaxError {
    let code = u32::from(sign);
    let hint = match sign {
        '\t' => "write a tab as \\t inside text".to_owned(),
        _ => format!("remove it, or write it as \\u{code:04x} inside text"),
    };
    let description = format!("unexpected control character U+{code:04X}");
    broken(at..at + sign.len_utf8(), description, hint)
}

pub(super) fn no_escape(span: Range<usize>) -> SyntaxError {
    let hint = "write a backslash as \\\\";
    broken(span, "unknown escape", hint)
}
