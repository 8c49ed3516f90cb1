use ostler_model::Limits;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// Returns milliseconds. A number without a unit is an error.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!("{text:?} is not a duration; write it as 500ms, 30s, 10m or 1h30m (0 disables it)")
    };
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
                f.write_str("a duration in quotes, such as \"30s\"")
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
            "description": "For example 500ms, 30s, 10m or 1h30m; 0 disables it",
            "examples": ["30s", "500ms", "1h30m", "0"]
        })
    }
}

/// The time between the stop signal and KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace(pub u64);

impl<'de> Deserialize<'de> for Grace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Duration(grace) = Duration::deserialize(deserializer)?;
        if grace > Limits::MAX_GRACE_MS {
            let most = Limits::MAX_GRACE_MS / 1_000;
            return Err(D::Error::custom(format!(
                "this grace is too long; it must be at most {most}s"
            )));
        }
        Ok(Grace(grace))
    }
}

impl JsonSchema for Grace {
    fn schema_name() -> Cow<'static, str> {
        "Grace".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A duration of at most 60s",
            "examples": ["10s", "500ms"]
        })
    }
}
