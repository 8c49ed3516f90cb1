//! A JSON parser with positions. It stops at the first error, because later errors are often consequences of it.

use super::syntax_error;
use super::{Json, Key, Node, Object};
use crate::findings::Findings;
use serde_json::Number;
use std::collections::BTreeMap;
use std::ops::Range;

/// No configuration is deeper, and each level needs stack space.
const DEPTH_MOST: usize = 64;

/// The position of an error, its description, and a hint.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub span: Range<usize>,
    pub description: String,
    pub hint: String,
}

type Outcome<T> = Result<T, SyntaxError>;

pub(crate) fn parse(findings: &mut Findings<'_>) -> Option<Node> {
    let mut reader = Reader { text: findings.text, at: 0, depth: 0, twice: Vec::new() };
    let outcome = reader.file();
    for (span, description, hint) in reader.twice {
        findings.add(span, description, hint);
    }
    match outcome {
        Ok(node) => Some(node),
        Err(broken) => {
            findings.add(broken.span, broken.description, broken.hint);
            None
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Keys that are defined twice.
    twice: Vec<(Range<usize>, String, String)>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn broken<T>(&self, description: &str, hint: &str) -> Outcome<T> {
        let wide = self.peek().map_or(0, char::len_utf8);
        Err(SyntaxError {
            span: self.at..self.at + wide,
            description: description.to_owned(),
            hint: hint.to_owned(),
        })
    }

    fn unexpected<T>(&self, description: &str, hint: &str) -> Outcome<T> {
        Err(syntax_error::unexpected(self.text, self.at, description, hint))
    }

    fn file(&mut self) -> Outcome<Node> {
        self.blank();
        if self.rest().is_empty() {
            return self.broken("the file is empty", "write a JSON object: { … }");
        }
        let node = self.value()?;
        self.blank();
        if self.rest().is_empty() {
            return Ok(node);
        }
        self.unexpected("expected the end of the file", "the file must be one object: { … }")
    }

    fn value(&mut self) -> Outcome<Node> {
        let begin = self.at;
        let json = match self.peek() {
            Some('{') => self.nested(Self::object)?,
            Some('[') => self.nested(Self::list)?,
            Some('"') => Json::Text(self.string()?),
            Some('-' | '0'..='9') => Json::Number(self.number()?),
            _ => self.word()?,
        };
        Ok(Node { span: begin..self.at, json })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Outcome<Json>) -> Outcome<Json> {
        if self.depth == DEPTH_MOST {
            let hint = format!("at most {DEPTH_MOST} levels are allowed");
            return self.broken("this is nested too deeply", &hint);
        }
        self.depth += 1;
        let json = read(self)?;
        self.depth -= 1;
        Ok(json)
    }

    fn word(&mut self) -> Outcome<Json> {
        let rest = self.rest();
        let long = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let json = match &rest[..long] {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "null" => Json::Null,
            _ => return self.unexpected("a value is missing here", ""),
        };
        self.at += long;
        Ok(json)
    }

    fn list(&mut self) -> Outcome<Json> {
        let begin = self.at;
        self.at += 1;
        let mut list = Vec::new();
        loop {
            self.blank();
            match self.peek() {
                Some(']') if list.is_empty() => break,
                Some(']') => return self.comma_too_many(),
                None => return self.unclosed(begin, "the list is not closed", "add ]"),
                Some(_) => list.push(self.value()?),
            }
            self.blank();
            match self.peek() {
                Some(',') => self.at += 1,
                Some(']') => break,
                None => return self.unclosed(begin, "the list is not closed", "add ]"),
                Some(_) => {
                    return self
                        .unexpected("a comma is missing before this", "or ] to close the list");
                }
            }
        }
        self.at += 1;
        Ok(Json::List(list))
    }

    fn object(&mut self) -> Outcome<Json> {
        let begin = self.at;
        self.at += 1;
        let mut object = Object { begin: begin..self.at, entries: Vec::new() };
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            self.blank();
            let key_at = self.at;
            match self.peek() {
                Some('}') if object.entries.is_empty() => break,
                Some('}') => return self.comma_too_many(),
                None => return self.unclosed(begin, "the object is not closed", "add }"),
                Some('"') => {}
                Some(_) => return Err(syntax_error::no_key(self.text, self.at)),
            }
            let name = self.string()?;
            let key = Key { span: key_at..self.at, name };
            self.blank();
            if self.peek() != Some(':') {
                return self.unexpected("a : is missing before this", "write \"key\": value");
            }
            self.at += 1;
            self.blank();
            let node = self.value()?;
            match seen.insert(key.name.clone(), key_at) {
                None => object.entries.push((key, node)),
                Some(first) => self.is_twice(&key, first),
            }
            self.blank();
            match self.peek() {
                Some(',') => self.at += 1,
                Some('}') => break,
                None => return self.unclosed(begin, "the object is not closed", "add }"),
                Some(_) => {
                    return self
                        .unexpected("a comma is missing before this", "or } to close the object");
                }
            }
        }
        self.at += 1;
        Ok(Json::Object(object))
    }

    fn is_twice(&mut self, key: &Key, first: usize) {
        // More are not shown, and each one counts the lines above it.
        if self.twice.len() > 100 {
            return;
        }
        let line = self.text[..first].bytes().filter(|byte| *byte == b'\n').count() + 1;
        let description = format!("{:?} is defined twice", key.name);
        let hint = format!("first defined on line {line}; remove one of them");
        self.twice.push((key.span.clone(), description, hint));
    }

    /// Reports the comma before the closing bracket.
    fn comma_too_many<T>(&mut self) -> Outcome<T> {
        self.at = self.text[..self.at].rfind(',').unwrap_or(self.at);
        self.broken("extra comma", "JSON has no comma before a closing bracket")
    }

    fn unclosed<T>(&self, begin: usize, description: &str, hint: &str) -> Outcome<T> {
        Err(SyntaxError {
            span: begin..begin + 1,
            description: description.to_owned(),
            hint: hint.to_owned(),
        })
    }

    fn number(&mut self) -> Outcome<Number> {
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || "+-._".contains(c);
        let long = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let span = self.at..self.at + long;
        let written = &rest[..long];
        self.at = span.end;
        serde_json::from_str(written).map_err(|_| syntax_error::no_number(span, written))
    }

    fn string(&mut self) -> Outcome<String> {
        let begin = self.at;
        self.at += 1;
        let mut whole = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c < ' ');
            let Some(plain) = plain else {
                let end = rest.find(['\n', '\r']).map_or(self.text.len(), |end| self.at + end);
                return Err(syntax_error::unclosed_text(begin..end));
            };
            whole.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some('"') => break,
                Some('\\') => whole.push(self.escape()?),
                Some('\n' | '\r') | None => {
                    return Err(syntax_error::unclosed_text(begin..self.at));
                }
                Some(sign) => return Err(syntax_error::control(self.at, sign)),
            }
        }
        self.at += 1;
        Ok(whole)
    }

    fn escape(&mut self) -> Outcome<char> {
        let begin = self.at;
        let sign = self.rest().chars().nth(1);
        let plain = match sign {
            Some(same @ ('"' | '\\' | '/')) => same,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode(begin),
            other => {
                let end = begin + 1 + other.map_or(0, char::len_utf8);
                return Err(syntax_error::no_escape(begin..end));
            }
        };
        self.at += 2;
        Ok(plain)
    }

    fn unicode(&mut self, begin: usize) -> Outcome<char> {
        let first = self.four()?;
        let code = match first {
            0xd800..=0xdbff if self.rest().starts_with("\\u") => {
                let second = self.four()?;
                match second {
                    0xdc00..=0xdfff => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    _ => first,
                }
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| SyntaxError {
            span: begin..self.at,
            description: "incomplete surrogate pair".to_owned(),
            hint: "add the second \\u… escape, or write the character itself".into(),
        })
    }

    /// The four digits after `\u`.
    fn four(&mut self) -> Outcome<u32> {
        let digits = self.text.get(self.at + 2..self.at + 6);
        let code = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                self.at += 6;
                Ok(code)
            }
            None => Err(SyntaxError {
                span: self.at..self.at + 2,
                description: "the escape is too short".to_owned(),
                hint: "write \\u and four digits, for example \\u00e9".to_owned(),
            }),
        }
    }
}
