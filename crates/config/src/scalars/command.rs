use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// A list of words, or one string for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Words(Vec<String>),
    Shell(String),
}

/// Shell builtins and keywords, which `exec` cannot start.
const SHELL_OWN: &[&str] = &[
    ".", ":", "alias", "cd", "eval", "exec", "exit", "export", "if", "for", "case", "while",
    "until", "set", "source", "trap", "ulimit", "umask", "unset", "!", "{",
];

impl Command {
    pub fn argv(&self) -> Vec<String> {
        match self {
            Command::Words(words) => words.clone(),
            Command::Shell(text) => {
                // `exec` avoids a shell process between Ostler and the program.
                let line = if is_one_program(text) { format!("exec {text}") } else { text.clone() };
                vec!["/bin/sh".to_owned(), "-c".to_owned(), line]
            }
        }
    }

    /// Applies `change` to each word.
    pub(crate) fn with(&self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Command::Words(words) => {
                Command::Words(words.iter().map(|word| change(word)).collect())
            }
            Command::Shell(text) => Command::Shell(change(text)),
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let (is_empty, has_nul) = match self {
            Command::Words(words) => (
                words.first().is_none_or(String::is_empty),
                words.iter().any(|word| word.contains('\0')),
            ),
            Command::Shell(text) => (text.trim().is_empty(), text.contains('\0')),
        };
        if is_empty {
            return Err(
                "the command is empty; write the program first: [\"program\", \"argument\"]",
            );
        }
        if has_nul {
            return Err("a command cannot contain a NUL character; remove \\u0000");
        }
        Ok(())
    }
}

/// Whether the line only starts one program.
pub(crate) fn is_one_program(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let assigns = first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    !assigns && !SHELL_OWN.contains(&first) && !line.contains([';', '&', '|', '(', '\n', '`'])
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
        let command = deserializer.deserialize_any(Either)?;
        command.check().map_err(D::Error::custom)?;
        Ok(command)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_becomes_the_program_only_if_there_is_one() {
        for (line, expected) in [
            ("node bot.js -p $PORT", true),
            ("node bot.js > log 2> errors", true),
            ("cd app && node bot.js", false),
            ("PORT=80 node bot.js", false),
            ("a; b", false),
            ("./run --level=3", true),
            ("while true; do x; done", false),
        ] {
            assert_eq!(is_one_program(line), expected, "{line}");
        }
    }
}
