//! Answers of Ostler.

use super::error::AppError;
use serde_json::{Map, Value};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Registration {
    pub(super) token: String,
    /// The heartbeat interval, if the answer contains one.
    pub(super) interval: Option<Duration>,
}

impl Registration {
    pub(super) fn of(result: &Value) -> Result<Self, AppError> {
        let token = result["token"].as_str().ok_or_else(|| AppError::BadAnswer {
            method: "app.register".to_owned(),
            missing: "token",
        })?;
        let ms = result["heartbeatInterval"].as_f64().filter(|ms| *ms > 0.0);
        let interval = ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok());
        Ok(Self { token: token.to_owned(), interval })
    }
}

/// The unit's `config`.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// An object; it is empty if the app has no configuration.
    pub config: Value,
    /// Equal for equal configurations.
    pub version: Value,
}

impl Configuration {
    pub(super) fn of(value: &Value) -> Self {
        let config = match &value["config"] {
            object @ Value::Object(_) => object.clone(),
            _ => Value::Object(Map::new()),
        };
        Self { config, version: value["version"].clone() }
    }

    pub(super) fn none() -> Self {
        Self::of(&Value::Null)
    }
}
