//! Strings that must have a certain form.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

macro_rules! text {
    ($(#[$about:meta])* $name:ident, $expected:literal, $check:expr, $example:literal) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub String);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Quoted;
                impl Visitor<'_> for Quoted {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$name, E> {
                        let check: fn(&str) -> Result<(), String> = $check;
                        check(text).map_err(E::custom)?;
                        Ok($name(text.to_owned()))
                    }
                }
                deserializer.deserialize_any(Quoted)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                if $example.is_empty() {
                    return json_schema!({ "type": "string" });
                }
                json_schema!({ "type": "string", "examples": [$example] })
            }
        }
    };
}

text!(
    /// Any string without NUL.
    Text, "text in quotes", check_text, ""
);
text!(HttpUrl, "a URL in quotes", check_url, "http://127.0.0.1:8080/health");
text!(Address, "host:port in quotes", check_address, "127.0.0.1:5432");
text!(Pattern, "a regular expression in quotes", check_pattern, "listening on");
text!(Cron, "a schedule in quotes, such as \"*/5 * * * *\"", check_cron, "*/5 * * * *");
text!(TimeZone, "a time zone in quotes, such as \"Europe/Berlin\"", check_zone, "Europe/Berlin");
text!(VariableName, "a variable's name in quotes", check_variable, "PORT");

fn check_text(text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("this cannot contain a NUL character; remove \\u0000".to_owned());
    }
    Ok(())
}

/// A port: digits without a sign, and not 0.
pub fn parse_port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_plain && *port > 0)
}

fn check_url(url: &str) -> Result<(), String> {
    if url.starts_with("https://") {
        return Err(format!(
            "{url:?} is not supported, because this version has no TLS; use http://, or exec with a program that supports it"
        ));
    }
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(format!("{url:?} is not a URL; write it as http://127.0.0.1:8080/health"));
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port_right = match host.rsplit_once(':') {
        Some((_, port)) if !port.ends_with(']') => parse_port(port).is_some(),
        _ => true,
    };
    let is_plain = !url.chars().any(|c| c.is_control() || c == ' ');
    if host.is_empty() || host.starts_with(':') || !is_port_right || !is_plain {
        return Err(format!(
            "{url:?} has no valid host and port; write it as http://127.0.0.1:8080/health"
        ));
    }
    Ok(())
}

fn check_address(text: &str) -> Result<(), String> {
    let fits = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && parse_port(port).is_some());
    if fits {
        return Ok(());
    }
    Err(format!("{text:?} is not an address; write it as host:port, such as 127.0.0.1:5432"))
}

fn check_pattern(pattern: &str) -> Result<(), String> {
    regex::Regex::new(pattern).map(drop).map_err(|error| {
        let description = error.to_string();
        let cause = description.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("{pattern:?} is not a regular expression: {cause}; write a backslash before a literal ( [ * or ?, most easily inside '…'")
    })
}

fn check_cron(text: &str) -> Result<(), String> {
    text.parse::<croner::Cron>().map(drop).map_err(|error| {
        let description = error.to_string();
        let cause = description.rsplit(": ").next().unwrap_or_default().trim_end_matches('.').to_lowercase();
        format!("{text:?} is not a schedule: {cause}; write minute hour day month weekday, such as */5 * * * *")
    })
}

fn check_zone(text: &str) -> Result<(), String> {
    jiff::tz::TimeZone::get(text)
        .map(drop)
        .map_err(|_| format!("{text:?} is not a time zone; write a name like Europe/Berlin or UTC"))
}

fn check_variable(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!("{name:?} is not a valid variable name; use letters, digits and _"));
    }
    Ok(())
}

/// The factor by which a delay grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor(pub f64);

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = f64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, such as 2 or 1.5")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
                self.visit_f64(number as f64)
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
                if (1.0..=1_000.0).contains(&number) {
                    return Ok(number);
                }
                Err(E::custom(format!(
                    "the factor {number} is out of range; it must be between 1 and 1000"
                )))
            }
        }
        deserializer.deserialize_any(Number).map(Factor)
    }
}

impl JsonSchema for Factor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Factor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 1, "maximum": 1000 })
    }
}
