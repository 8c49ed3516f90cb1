//! A value out of a fixed set of words.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// Uses serde's form, so that `shape_error` handles both.
fn unknown(text: &str, known: impl Iterator<Item = String>) -> String {
    let known: Vec<String> = known.collect();
    format!("unknown variant `{text}`, expected one of {}", known.join(", "))
}

/// Reads one of the known words.
struct OneOf<T: 'static>(&'static [(&'static str, T)]);

impl<T: Copy> Visitor<'_> for OneOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|(word, _)| format!("{word:?}")).collect();
        match words.as_slice() {
            [most @ .., last] if !most.is_empty() => write!(f, "{} or {last}", most.join(", ")),
            words => f.write_str(&words.join(", ")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let known = self.0.iter().find(|(word, _)| *word == text);
        known.map(|(_, value)| *value).ok_or_else(|| {
            E::custom(unknown(text, self.0.iter().map(|(word, _)| format!("`{word}`"))))
        })
    }
}

macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($word:literal => $variant:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant),+ }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(OneOf(&[$(($word, $name::$variant)),+]))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": [$($word),+] })
            }
        }
    };
}

choice!(AdoptWord { "adopt" => Adopt, "terminate" => Terminate });
choice!(BackendWord { "pipe" => Pipe, "pty" => Pty, "container" => Container, "tmux" => Tmux });
choice!(WhenWord { "always" => Always, "on-failure" => OnFailure, "never" => Never });
choice!(SuspendWord { "stop" => Stop });
choice!(ExpectWord { "healthy" => Healthy });
choice!(MissedWord { "skip" => Skip, "once" => Once });
choice!(OverlapWord { "skip" => Skip, "replace" => Replace, "queue" => Queue });
choice!(PresetWord {
    "goclaw" => Goclaw,
    "openclawos" => Openclawos,
    "ploinky" => Ploinky,
    "crashloop" => Crashloop,
    "gastown" => Gastown,
});

/// A stop signal: `TERM` or `SIGTERM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalName(pub i32);

const SIGNALS: &[(&str, i32)] =
    &[("TERM", 15), ("INT", 2), ("QUIT", 3), ("HUP", 1), ("USR1", 10), ("USR2", 12), ("KILL", 9)];

impl<'de> Deserialize<'de> for SignalName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Short;
        impl Visitor<'_> for Short {
            type Value = i32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                OneOf(SIGNALS).expecting(f)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<i32, E> {
                let begin = if text.starts_with("SIG") { "SIG" } else { "" };
                let name = &text[begin.len()..];
                let known = SIGNALS.iter().find(|(known, _)| *known == name);
                known.map(|(_, number)| *number).ok_or_else(|| {
                    let names = SIGNALS.iter().map(|(known, _)| format!("`{begin}{known}`"));
                    E::custom(unknown(text, names))
                })
            }
        }
        deserializer.deserialize_any(Short).map(SignalName)
    }
}

impl JsonSchema for SignalName {
    fn schema_name() -> Cow<'static, str> {
        "Signal".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let long = SIGNALS.iter().map(|(name, _)| format!("SIG{name}"));
        let names: Vec<String> =
            SIGNALS.iter().map(|(name, _)| (*name).to_owned()).chain(long).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
