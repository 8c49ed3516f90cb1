//! JSON values with their positions in the file.

mod fields;
mod read;
mod syntax_error;

pub(crate) use fields::{Unknown, file, known, list, number, object, text, texts, whole};
pub(crate) use read::parse;

use serde_json::{Map, Number, Value};
use std::ops::Range;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub span: Range<usize>,
    pub json: Json,
}

#[derive(Clone, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Object(Object),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub span: Range<usize>,
    pub name: String,
}

/// Entries in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object {
    /// The position of `{`, where a missing key is reported.
    pub begin: Range<usize>,
    pub entries: Vec<(Key, Node)>,
}

impl Object {
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|(_, node)| node)
    }

    pub fn entry(&self, name: &str) -> Option<&(Key, Node)> {
        self.entries.iter().find(|(key, _)| key.name == name)
    }
}

impl Node {
    pub fn value(&self) -> Value {
        match &self.json {
            Json::Null => Value::Null,
            Json::Bool(yes) => Value::Bool(*yes),
            Json::Number(number) => Value::Number(number.clone()),
            Json::Text(text) => Value::String(text.clone()),
            Json::List(list) => Value::Array(list.iter().map(Node::value).collect()),
            Json::Object(object) => Value::Object(
                object
                    .entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// The name of its type, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.json {
            Json::Null => "null",
            Json::Bool(true) => "true",
            Json::Bool(false) => "false",
            Json::Number(_) => "a number",
            Json::Text(_) => "text",
            Json::List(_) => "a list",
            Json::Object(_) => "an object",
        }
    }
}
