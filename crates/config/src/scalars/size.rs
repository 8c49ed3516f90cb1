//! Sizes in bytes.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

const UNITS: &[(&str, u32)] = &[
    ("KiB", 10),
    ("MiB", 20),
    ("GiB", 30),
    ("TiB", 40),
    ("K", 10),
    ("M", 20),
    ("G", 30),
    ("T", 40),
];

const LEAST: u64 = 1 << 20;
const MOST: u64 = 1 << 50;

/// Returns bytes; 0 is off. 1K is 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is not a size; write it as 512M, 1.5G or 256MiB (0 disables it)");
    let whole = text.trim();
    let unit = UNITS.iter().find_map(|(unit, shift)| Some((whole.strip_suffix(unit)?, *shift)));
    let (number, shift) = unit.unwrap_or((whole, 0));
    let number = number.trim_end();
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || (c == '.' && shift > 0));
    let number: f64 = number.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
    let bytes = number * (1_u64 << shift) as f64;
    match bytes {
        0.0 => Ok(0),
        _ if bytes < LEAST as f64 => Err(format!("{text:?} is too small; it must be at least 1M")),
        _ if bytes > MOST as f64 => {
            Err(format!("{text:?} is too large; remove the key for no limit"))
        }
        _ => Ok(bytes as u64),
    }
}

/// `512M`, `1.5G`, `256MiB`, `0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size in quotes, such as \"512M\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                parse_size(text).map(Size).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "For example 512M, 1.5G or 256MiB; 1K is 1024; 0 disables it",
            "examples": ["512M", "1.5G", "256MiB", "0"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_as_the_kernel_counts() {
        for (text, bytes) in [
            ("0", 0),
            ("512M", 512 << 20),
            ("512 MiB", 512 << 20),
            ("1.5G", 3 << 29),
            ("2048K", 2 << 20),
            ("1T", 1 << 40),
            ("1048576", 1 << 20),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in
            ["", "M", "512MB", "-1M", "1e9", "1.5", "512", "1..5G", "99999999T", "nan", "١M"]
        {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
