//! Percentages.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// `20%`, `7.5%`, `0`; stored in hundredths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent(pub u32);

fn parse(text: &str) -> Result<u32, String> {
    let wrong = || format!("{text:?} is not a percentage; write it as 20% (0 disables it)");
    let whole = text.trim();
    if whole == "0" {
        return Ok(0);
    }
    let number = whole.strip_suffix('%').ok_or_else(wrong)?.trim_end();
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let share: f64 = number.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
    if share > 100.0 {
        return Err(format!("{text:?} is too large; it must be at most 100%"));
    }
    Ok((share * 100.0).round() as u32)
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Percent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a percentage in quotes, such as \"20%\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Percent, E> {
                parse(text).map(Percent).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Percent {
    fn schema_name() -> Cow<'static, str> {
        "Percent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "For example 20% or 7.5%; 0 disables it",
            "examples": ["20%", "7.5%", "0"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_its_sign() {
        for (text, hundredths) in
            [("0", 0), ("0%", 0), ("20%", 2_000), ("7.5 %", 750), ("100%", 10_000)]
        {
            assert_eq!(parse(text), Ok(hundredths), "{text}");
        }
        for text in ["", "%", "20", "-1%", "1e1%", "101%", "1.2.3%", "nan%"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
