//! One app of an ecosystem file. It is read by hand, so that every error has its line and no key is dropped silently.

use super::shell_words::split;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

pub struct Ecosystem {
    pub apps: Vec<App>,
    pub notes: Vec<String>,
}

#[derive(Default)]
pub struct App {
    pub name: Option<String>,
    pub script: String,
    pub args: Arguments,
    pub interpreter: Option<String>,
    pub interpreter_args: Arguments,
    pub cwd: Option<String>,
    pub env: Vec<(String, String)>,
    pub env_file: Option<String>,
    /// `None` means one per processor.
    pub instances: Option<u64>,
    pub autorestart: bool,
    pub max_restarts: Option<u32>,
    pub restart_delay: Option<u64>,
    pub exp_backoff_restart_delay: Option<u64>,
    pub kill_timeout: Option<u64>,
    pub cron_restart: Option<String>,
    pub max_memory_restart: Option<String>,
    pub ignored: Vec<String>,
}

/// More copies of one app are probably a mistake.
const INSTANCES_MOST: i64 = 1_000;

impl<'de> Deserialize<'de> for Ecosystem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl<'de> Visitor<'de> for Whole {
            type Value = Ecosystem;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("{ \"apps\": [ … ] }")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Ecosystem, A::Error> {
                let mut apps = Vec::new();
                while let Some(app) = list.next_element()? {
                    apps.push(app);
                }
                Ok(Ecosystem { apps, notes: Vec::new() })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ecosystem, A::Error> {
                let mut ecosystem = Ecosystem { apps: Vec::new(), notes: Vec::new() };
                let mut single = Reading::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "apps" => ecosystem.apps.append(&mut map.next_value::<Apps>()?.0),
                        "deploy" => {
                            map.next_value::<IgnoredAny>()?;
                            ecosystem.notes.push("deploy is not imported".to_owned());
                        }
                        _ => single.key(key, &mut map)?,
                    }
                }
                if ecosystem.apps.is_empty() || single.has_script() {
                    let wrong = "expected \"apps\" or \"script\"";
                    ecosystem
                        .apps
                        .push(single.done().map_err(|_: A::Error| A::Error::custom(wrong))?);
                }
                Ok(ecosystem)
            }
        }
        deserializer.deserialize_any(Whole)
    }
}

/// One app, or a list of apps.
struct Apps(Vec<App>);

impl<'de> Deserialize<'de> for Apps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Apps;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of apps")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Apps, A::Error> {
                let mut apps = Vec::new();
                while let Some(app) = list.next_element()? {
                    apps.push(app);
                }
                Ok(Apps(apps))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Apps, A::Error> {
                Ok(Apps(vec![OneApp.visit_map(map)?]))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

struct OneApp;

impl<'de> Visitor<'de> for OneApp {
    type Value = App;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an app: { \"script\": … }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<App, A::Error> {
        let mut reading = Reading::default();
        while let Some(key) = map.next_key::<String>()? {
            reading.key(key, &mut map)?;
        }
        reading.done()
    }
}

impl<'de> Deserialize<'de> for App {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OneApp)
    }
}

/// An app whose keys are still being read.
struct Reading {
    app: App,
    script: Option<String>,
}

impl Default for Reading {
    fn default() -> Self {
        let app = App { instances: Some(1), autorestart: true, ..App::default() };
        Self { app, script: None }
    }
}

impl Reading {
    fn key<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        let app = &mut self.app;
        match key.as_str() {
            "name" => app.name = Some(map.next_value::<Scalar>()?.0),
            "script" => self.script = Some(map.next_value()?),
            "args" => app.args = map.next_value()?,
            "interpreter" | "exec_interpreter" => app.interpreter = Some(map.next_value()?),
            "interpreter_args" | "node_args" => app.interpreter_args = map.next_value()?,
            "cwd" => app.cwd = Some(map.next_value()?),
            "env" => app.env = map.next_value::<Variables>()?.0,
            "env_file" => app.env_file = Some(map.next_value()?),
            "instances" => {
                let count = map.next_value::<Scalar>()?.0;
                app.instances = match count.parse::<i64>() {
                    Ok(count @ 1..=INSTANCES_MOST) => Some(count.unsigned_abs()),
                    Ok(count) if count > INSTANCES_MOST => {
                        return Err(A::Error::custom("instances is too large"));
                    }
                    Ok(_) => None,
                    Err(_) if count == "max" => None,
                    Err(_) => {
                        return Err(A::Error::custom("instances must be a number or \"max\""));
                    }
                };
            }
            "autorestart" => app.autorestart = map.next_value()?,
            "max_restarts" => app.max_restarts = Some(map.next_value()?),
            "restart_delay" => app.restart_delay = Some(map.next_value()?),
            "exp_backoff_restart_delay" => app.exp_backoff_restart_delay = Some(map.next_value()?),
            "kill_timeout" => app.kill_timeout = Some(map.next_value()?),
            "cron_restart" => app.cron_restart = Some(map.next_value()?),
            "max_memory_restart" => app.max_memory_restart = Some(map.next_value::<Scalar>()?.0),
            _ => {
                // A feature that is off needs no note.
                let value = map.next_value::<serde_json::Value>()?;
                if !value.is_null() && value != serde_json::Value::Bool(false) {
                    app.ignored.push(key);
                }
            }
        }
        Ok(())
    }

    fn has_script(&self) -> bool {
        self.script.is_some()
    }

    fn done<E: Error>(self) -> Result<App, E> {
        let script = self.script.filter(|script| !script.trim().is_empty());
        let script = script.ok_or_else(|| E::custom("the app has no script"))?;
        Ok(App { script, ..self.app })
    }
}

/// Words in one string, or in a list.
#[derive(Default)]
pub enum Arguments {
    #[default]
    None,
    CommandText(String),
    List(Vec<String>),
}

impl Arguments {
    pub fn words(&self, name: &str, notes: &mut Vec<String>) -> Vec<String> {
        match self {
            Arguments::None => Vec::new(),
            Arguments::List(words) => words.clone(),
            Arguments::CommandText(line) => split(line).unwrap_or_else(|| {
                notes.push(format!("{name}: a quote in its arguments is not closed: {line}"));
                line.split_whitespace().map(str::to_owned).collect()
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Arguments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, or a list of texts")
            }

            fn visit_str<E: Error>(self, line: &str) -> Result<Arguments, E> {
                Ok(Arguments::CommandText(line.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Arguments, A::Error> {
                let mut words = Vec::new();
                while let Some(Scalar(word)) = list.next_element()? {
                    words.push(word);
                }
                Ok(Arguments::List(words))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A string, or a value that JavaScript would convert to one.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde_json::Value;
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Scalar(text)),
            Value::Number(number) => Ok(Scalar(number.to_string())),
            Value::Bool(word) => Ok(Scalar(word.to_string())),
            Value::Null => Ok(Scalar(String::new())),
            Value::Array(_) | Value::Object(_) => {
                Err(D::Error::custom("expected text or a number"))
            }
        }
    }
}

/// In the order of the file.
struct Variables(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Variables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = Variables;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("variables: { \"NAME\": \"value\" }")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Variables, A::Error> {
                let mut variables: Vec<(String, String)> = Vec::new();
                while let Some((name, Scalar(value))) = map.next_entry::<String, Scalar>()? {
                    // As in JavaScript, the last value counts.
                    variables.retain(|(other, _)| *other != name);
                    variables.push((name, value));
                }
                Ok(Variables(variables))
            }
        }
        deserializer.deserialize_map(Table)
    }
}
