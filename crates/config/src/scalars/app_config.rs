//! Values of an app's configuration.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;

/// Any TOML value, as JSON. A date becomes a string.
#[derive(Clone, Debug, PartialEq)]
pub struct AnyValue(pub Value);

/// The parser's name for a date.
const DATE: &str = "$__toml_private_datetime";

fn plain(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(date) = object.remove(DATE) {
                *value = date;
                return;
            }
            object.values_mut().for_each(plain);
        }
        Value::Array(list) => list.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        plain(&mut value);
        Ok(AnyValue(value))
    }
}

impl JsonSchema for AnyValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Free".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}
