//! Reads values of an expected type, and reports errors.

use super::{Json, Node, Object};
use crate::findings::Findings;
use crate::problem::nearest;
use std::ops::{Range, RangeInclusive};

/// An example of each object.
const EXAMPLES: &[(&str, &str)] = &[
    ("protocol", "{ \"version\": \"1.0\" }"),
    ("capabilities", "{ \"resources\": { \"env\": [\"TOKEN\"] } }"),
    ("resources", "{ \"env\": [\"TOKEN\"] }"),
    ("limits", "{ \"maxMemory\": 536870912 }"),
    ("network", "{ \"hosts\": [\"example.com\"] }"),
    ("fs", "{ \"read\": [\"/var/data/*\"] }"),
    ("supervisor", "{ \"heartbeatInterval\": 30000 }"),
];

fn mistyped(findings: &mut Findings<'_>, node: &Node, what: &str, needed: &str, hint: String) {
    let description = format!("{what:?} must be {needed}, not {}", node.kind());
    findings.add(node.span.clone(), description, hint);
}

pub(crate) fn object<'n>(
    findings: &mut Findings<'_>,
    node: &'n Node,
    what: &str,
) -> Option<&'n Object> {
    if let Json::Object(object) = &node.json {
        return Some(object);
    }
    let example = EXAMPLES.iter().find(|(name, _)| *name == what).map(|(_, example)| *example);
    let hint = format!("write {}", example.unwrap_or("{ \"key\": … }"));
    mistyped(findings, node, what, "an object", hint);
    None
}

/// The file's top-level object.
pub(crate) fn file<'n>(findings: &mut Findings<'_>, node: &'n Node) -> Option<&'n Object> {
    if let Json::Object(object) = &node.json {
        return Some(object);
    }
    let description = format!("the file must be an object, not {}", node.kind());
    findings.add(node.span.clone(), description, "the file must begin with { and end with }");
    None
}

pub(crate) fn text<'n>(findings: &mut Findings<'_>, node: &'n Node, what: &str) -> Option<&'n str> {
    if let Json::Text(text) = &node.json {
        return Some(text);
    }
    let written = findings.text.get(node.span.clone()).unwrap_or_default();
    let hint = match &node.json {
        Json::Number(_) | Json::Bool(_) => format!("write \"{written}\""),
        _ => String::new(),
    };
    mistyped(findings, node, what, "text in quotes", hint);
    None
}

pub(crate) fn list<'n>(
    findings: &mut Findings<'_>,
    node: &'n Node,
    what: &str,
) -> Option<&'n [Node]> {
    if let Json::List(list) = &node.json {
        return Some(list);
    }
    let hint = match &node.json {
        Json::Text(text) if what == "command" && !text.contains(['\'', '"', '$', '\\']) => {
            let words: Vec<String> =
                text.split_whitespace().map(|word| format!("{word:?}")).collect();
            format!("write [{}]", words.join(", "))
        }
        Json::Text(_) => {
            let written = findings.text.get(node.span.clone()).unwrap_or_default();
            format!("write [{written}]")
        }
        _ => "write [\"one\", \"two\"]".to_owned(),
    };
    mistyped(findings, node, what, "a list", hint);
    None
}

/// A list of strings with their positions. Any other element is reported and skipped.
pub(crate) fn texts<'n>(
    findings: &mut Findings<'_>,
    node: &'n Node,
    what: &str,
) -> Option<Vec<(&'n str, Range<usize>)>> {
    let mut found = Vec::new();
    for node in list(findings, node, what)? {
        if let Json::Text(text) = &node.json {
            found.push((text.as_str(), node.span.clone()));
            continue;
        }
        let written = findings.text.get(node.span.clone()).unwrap_or_default();
        let hint = match &node.json {
            Json::Number(_) | Json::Bool(_) => format!("write \"{written}\""),
            _ => String::new(),
        };
        let description = format!("each of {what:?} must be text in quotes, not {}", node.kind());
        findings.add(node.span.clone(), description, hint);
    }
    Some(found)
}

/// `right` is the hint for a wrong value.
pub(crate) fn number(
    findings: &mut Findings<'_>,
    node: &Node,
    what: &str,
    right: &str,
) -> Option<f64> {
    if let Json::Number(number) = &node.json {
        return number.as_f64();
    }
    let hint = match &node.json {
        Json::Text(text) if text.trim().parse::<f64>().is_ok_and(f64::is_finite) => {
            format!("remove the quotes: {}", text.trim())
        }
        _ => right.to_owned(),
    };
    mistyped(findings, node, what, "a number", hint);
    None
}

/// A whole number in this range.
pub(crate) fn whole(
    findings: &mut Findings<'_>,
    node: &Node,
    what: &str,
    range: RangeInclusive<u64>,
    right: &str,
) -> Option<u64> {
    /// Above this, a float cannot represent every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let floating = number(findings, node, what, right)?;
    let exact = match &node.json {
        Json::Number(number) => number.as_u64(),
        _ => None,
    };
    let is_whole = floating.fract() == 0.0 && (0.0..=EXACT).contains(&floating);
    let found = exact.or(is_whole.then_some(floating as u64));
    if let Some(found) = found.filter(|found| range.contains(found)) {
        return Some(found);
    }
    let written = findings.text.get(node.span.clone()).unwrap_or_default();
    let description = match found {
        None if floating.fract() != 0.0 => {
            format!("{what:?} must be a whole number, not {written}")
        }
        None if floating < 0.0 => format!("{what:?} cannot be negative"),
        Some(found) if found < *range.start() => format!("{what:?} is too small: {written}"),
        None | Some(_) => format!("{what:?} is too large: {written}"),
    };
    findings.add(node.span.clone(), description, right);
    None
}

/// Reports unknown keys.
pub(crate) fn known(findings: &mut Findings<'_>, object: &Object, known: &[&str], which: Unknown) {
    for (key, _) in &object.entries {
        if known.contains(&key.name.as_str()) {
            continue;
        }
        let is_shown = !findings.is_full();
        let near = nearest(&key.name, known.iter().copied().filter(|_| is_shown));
        let hint = match (near, which) {
            (Some(word), _) => format!("did you mean {word:?}?"),
            (None, Unknown::Wrong) => format!("known keys: {}", known.join(", ")),
            (None, Unknown::Ignored) => continue,
            (None, Unknown::Warned) => {
                let description = format!("{:?} is not a known key and is ignored", key.name);
                findings.warn(
                    key.span.clone(),
                    description,
                    format!("known keys: {}", known.join(", ")),
                );
                continue;
            }
        };
        let description = format!("{:?} is not a known key", key.name);
        findings.add(key.span.clone(), description, hint);
    }
}

/// How an unknown key is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Wrong,
    /// The key belongs to another program. It is an error only if it is similar to one of ours.
    Ignored,
    /// Like `Ignored`, but with a warning, because the author may rely on the key.
    Warned,
}
