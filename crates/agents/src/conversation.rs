//! Where an agent records its own conversation. A message found there was read by the agent, which its screen cannot
//! prove.

use crate::Pattern;
use ostler_model::AgentState;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    pub root: Root,
    /// A file about one process, with `{pid}` in its path.
    #[serde(default)]
    pub process: Option<ProcessFile>,
    pub messages: Messages,
}

/// The folder that contains everything else.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// The environment variable of the agent that names the folder.
    #[serde(default)]
    pub env: Option<String>,
    /// A path below the variable's value.
    #[serde(default)]
    pub below_env: Option<String>,
    /// The path below the agent's `HOME`, used if the variable is not set.
    pub below_home: String,
}

/// What a program reports about itself while it runs. The fields are JSON pointers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessFile {
    pub path: String,
    /// The process's start time, as in field 22 of `/proc/PID/stat`: the file may be older than the process.
    #[serde(default)]
    pub started: Option<String>,
    pub session: String,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub states: BTreeMap<String, AgentState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Messages {
    /// One line of JSON per event.
    Jsonl {
        /// `*` stands for any part of a name, `{session}` for the session's id.
        files: String,
        rules: Vec<MessageRule>,
        /// What the agent writes around a text that was pasted. It is no part of the message.
        #[serde(default)]
        around: Vec<Pattern>,
        /// How many characters at the end of the file's stem are the session's id.
        #[serde(default)]
        session_tail: Option<usize>,
    },
    /// A database. The query returns the texts and sessions of the messages since `?1` (ms since 1970).
    Sqlite { file: String, query: String },
}

/// Which lines are a person's message, and where its text is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageRule {
    pub when: BTreeMap<String, String>,
    pub text: String,
}

/// The agent's process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentProcess {
    pub pid: i32,
    pub env: BTreeMap<String, String>,
    pub started: Option<u64>,
}

/// A message that the agent recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    pub session: Option<String>,
}

/// The content of the file about the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    pub session: Option<String>,
    pub state: Option<AgentState>,
}

impl Conversation {
    pub fn folder(&self, place: &AgentProcess) -> Option<PathBuf> {
        let named = self.root.env.as_ref().and_then(|name| place.env.get(name));
        match named.filter(|value| !value.is_empty()) {
            Some(value) => {
                let below = self.root.below_env.as_deref().unwrap_or_default();
                Some(Path::new(value).join(below))
            }
            None => Some(Path::new(place.env.get("HOME")?).join(&self.root.below_home)),
        }
    }

    pub fn process_file(&self, place: &AgentProcess) -> Option<PathBuf> {
        let path = self.process.as_ref()?.path.replace("{pid}", &place.pid.to_string());
        Some(self.folder(place)?.join(path))
    }

    /// Empty if the file belongs to an older process with the same pid.
    pub fn recorded(&self, text: &str, place: &AgentProcess) -> Recorded {
        let Some(about) = &self.process else { return Recorded::default() };
        let Ok(value) = serde_json::from_str::<Value>(text) else { return Recorded::default() };
        let word = |pointer: &str| value.pointer(pointer).and_then(plain);
        if let (Some(pointer), Some(started)) = (&about.started, place.started)
            && word(pointer).is_none_or(|said| said != started.to_string())
        {
            return Recorded::default();
        }
        let state = about.status.as_deref().and_then(word);
        Recorded {
            session: word(&about.session),
            state: state.and_then(|state| about.states.get(&state).copied()),
        }
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

impl MessageRule {
    /// The text of a line, if the line is a message.
    pub fn text_of(&self, line: &Value) -> Option<String> {
        let is_so = |(pointer, wanted): (&String, &String)| {
            line.pointer(pointer).and_then(plain).as_ref() == Some(wanted)
        };
        if !self.when.iter().all(is_so) {
            return None;
        }
        match line.pointer(&self.text)? {
            Value::String(text) => Some(text.clone()),
            // Parts: `[{"type": "text", "text": "…"}]`.
            Value::Array(parts) => {
                let texts: Vec<&str> =
                    parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
                (!texts.is_empty()).then(|| texts.join("\n"))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }
}

/// The messages in lines of JSON. An incomplete line is skipped; it is complete when the file is read again.
pub fn messages_in(text: &str, rules: &[MessageRule], around: &[Pattern]) -> Vec<String> {
    let of = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        let message = rules.iter().find_map(|rule| rule.text_of(&value))?;
        Some(around.iter().fold(message, |message, pattern| pattern.remove_from(&message)))
    };
    text.lines().filter_map(of).collect()
}
