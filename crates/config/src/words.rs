//! Values with a meaning of their own.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// Milliseconds. A bare number is not a duration: of what?
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is not a duration; write it as 500ms, 30s, 10m or 1h30m (0 is off)");
    if text.trim() == "0" {
        return Ok(0);
    }
    let duration: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    u64::try_from(duration.as_millis()).map_err(|_| wrong())
}

/// `500ms`, `30s`, `1h30m`, `0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration(pub u64);

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Duration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration in quotes, such as \"30s\", \"500ms\" or \"1h30m\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
                parse_duration(text).map(Duration).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "500ms, 30s, 10m, 1h30m; 0 is off",
            "examples": ["30s", "500ms", "1h30m", "0"]
        })
    }
}

/// A list of words, or one string for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Words(Vec<String>),
    Shell(String),
}

impl Command {
    pub fn argv(&self) -> Vec<String> {
        match self {
            Command::Words(words) => words.clone(),
            Command::Shell(text) => {
                vec!["/bin/sh".to_owned(), "-c".to_owned(), format!("exec {text}")]
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Command::Words(words) => words.first().is_none_or(String::is_empty),
            Command::Shell(text) => text.trim().is_empty(),
        }
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Command;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command: [\"program\", \"argument\"] or \"a line for the shell\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Command, E> {
                Ok(Command::Shell(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Command, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(Command::Words(words))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Command {
    fn schema_name() -> Cow<'static, str> {
        "Command".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A program and its arguments, or one line for the shell",
            "oneOf": [
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
                { "type": "string", "minLength": 1 }
            ]
        })
    }
}

/// `TERM` or `SIGTERM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalName(pub i32);

pub(crate) const SIGNALS: &[(&str, i32)] =
    &[("TERM", 15), ("INT", 2), ("QUIT", 3), ("HUP", 1), ("USR1", 10), ("USR2", 12), ("KILL", 9)];

impl<'de> Deserialize<'de> for SignalName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let name = text.strip_prefix("SIG").unwrap_or(&text);
        let known = SIGNALS.iter().find(|(known, _)| *known == name);
        known.map(|(_, number)| SignalName(*number)).ok_or_else(|| {
            let names: Vec<&str> = SIGNALS.iter().map(|(known, _)| *known).collect();
            D::Error::custom(format!("{text:?} is no signal here; one of {}", names.join(", ")))
        })
    }
}

impl JsonSchema for SignalName {
    fn schema_name() -> Cow<'static, str> {
        "Signal".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
