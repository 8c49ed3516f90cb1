//! Values with two forms. They are read by hand: serde's untagged enums lose the error and its position.

use crate::file::{ScheduleTable, UrlTable};
use crate::scalars::{Command, Cron};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// A command, or `{ url = "http://…" }`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum HookTarget {
    Command(Command),
    Url(UrlTable),
}

impl<'de> Deserialize<'de> for HookTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = HookTarget;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command: [\"program\", \"argument\"], or { url = \"http://…\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<HookTarget, E> {
                Command::deserialize(StrDeserializer::new(text)).map(HookTarget::Command)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<HookTarget, A::Error> {
                Command::deserialize(SeqAccessDeserializer::new(list)).map(HookTarget::Command)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<HookTarget, A::Error> {
                UrlTable::deserialize(MapAccessDeserializer::new(table)).map(HookTarget::Url)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// `"*/5 * * * *"`, or a table with a time zone.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum ScheduleWord {
    Cron(Cron),
    Table(ScheduleTable),
}

impl<'de> Deserialize<'de> for ScheduleWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ScheduleWord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a schedule in quotes, such as \"*/5 * * * *\", or { cron = \"…\", time_zone = \"…\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ScheduleWord, E> {
                Cron::deserialize(StrDeserializer::new(text)).map(ScheduleWord::Cron)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<ScheduleWord, A::Error> {
                ScheduleTable::deserialize(MapAccessDeserializer::new(table))
                    .map(ScheduleWord::Table)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
