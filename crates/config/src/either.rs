//! Values with two forms. They are read by hand: serde's untagged enums lose the error and its position.

use crate::file::{RestartTable, ScheduleTable, UrlTable};
use crate::scalars::{Command, Cron, WhenWord};
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

/// `"always"`, or a table with delays and a limit.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum RestartWord {
    When(WhenWord),
    Table(RestartTable),
}

impl RestartWord {
    pub(crate) fn table(&self) -> RestartTable {
        match self {
            Self::When(when) => RestartTable { when: Some(*when), ..RestartTable::default() },
            Self::Table(table) => table.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for RestartWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RestartWord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"always\", \"on-failure\" or \"never\", or a table such as { when = \"on-failure\", initial = \"1s\", max = \"30s\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RestartWord, E> {
                WhenWord::deserialize(StrDeserializer::new(text)).map(RestartWord::When)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RestartWord, A::Error> {
                RestartTable::deserialize(MapAccessDeserializer::new(table)).map(RestartWord::Table)
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
