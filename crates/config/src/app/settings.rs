//! Checks an app's configuration against the `configSchema` of its manifest: required keys and their types. The app
//! checks all else of JSON Schema.

use crate::findings::Findings;
use crate::json::{self, Json, Node, Object};
use serde_json::{Map, Value};

const KINDS: &[(&str, &str)] = &[
    ("string", "text"),
    ("number", "a number"),
    ("integer", "a whole number"),
    ("boolean", "true or false"),
    ("array", "a list"),
    ("object", "a table"),
    ("null", "null"),
];

/// Checks the form of the schema itself.
pub(super) fn check_schema(findings: &mut Findings<'_>, node: &Node) {
    let Some(schema) = json::object(findings, node, "configSchema") else { return };
    if let Some(node) = schema.get("type")
        && let Some(kind) = json::text(findings, node, "configSchema.type")
        && kind != "object"
    {
        let description = format!("a configuration must be an object, not {kind:?}");
        findings.add(node.span.clone(), description, "write \"object\"");
    }
    if let Some(node) = schema.get("required") {
        json::texts(findings, node, "required");
    }
    let Some(node) = schema.get("properties") else { return };
    let Some(properties) = json::object(findings, node, "properties") else { return };
    for (key, node) in &properties.entries {
        if matches!(node.json, Json::Bool(_)) {
            continue;
        }
        let Some(property) = json::object(findings, node, &key.name) else { continue };
        match property.get("type") {
            Some(Node { json: Json::List(kinds), .. }) => {
                kinds.iter().for_each(|node| check_kind(findings, node));
            }
            Some(node) => check_kind(findings, node),
            None => {}
        }
        if let Some(node) = property.get("default") {
            check_default(findings, &key.name, &property_value(property), node);
        }
    }
}

/// The property's type, if it has one.
fn property_value(property: &Object) -> Value {
    let kind = property.get("type").map(|node| ("type".to_owned(), node.value()));
    Value::Object(kind.into_iter().collect())
}

fn check_default(findings: &mut Findings<'_>, name: &str, property: &Value, node: &Node) {
    let Some(needed) = kinds(property) else { return };
    if !is_one_of(property, &node.value()) {
        let description = format!("the default of {name:?} must be {needed}, not {}", node.kind());
        findings.add(node.span.clone(), description, "or correct its type");
    }
}

fn check_kind(findings: &mut Findings<'_>, node: &Node) {
    let Some(kind) = json::text(findings, node, "type") else { return };
    if KINDS.iter().any(|(known, _)| *known == kind) {
        return;
    }
    let known: Vec<&str> = KINDS.iter().map(|(known, _)| *known).collect();
    let hint = match crate::problem::nearest(kind, known.iter().copied()) {
        Some(word) => format!("did you mean {word:?}?"),
        None => format!("known types: {}", known.join(", ")),
    };
    let shown: String = kind.chars().take(60).collect();
    findings.add(node.span.clone(), format!("{shown:?} is not a known type"), hint);
}

/// An error in one key, which may be missing in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongSetting {
    pub key: String,
    pub description: String,
    pub hint: String,
}

/// Fills in the defaults of missing keys and reports the errors.
pub(crate) fn check_settings(
    schema: &Value,
    settings: &mut Map<String, Value>,
) -> Vec<WrongSetting> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for (key, property) in properties {
        if let Some(default) = property.get("default").filter(|_| !settings.contains_key(key)) {
            settings.insert(key.clone(), default.clone());
        }
    }
    let mut wrong = Vec::new();
    let required = schema.get("required").and_then(Value::as_array);
    for key in required.into_iter().flatten().filter_map(Value::as_str) {
        if settings.contains_key(key) {
            continue;
        }
        let kind = properties.get(key).and_then(kinds).unwrap_or_else(|| "a value".to_owned());
        wrong.push(WrongSetting {
            key: key.to_owned(),
            description: format!("the app needs the configuration key {key:?}"),
            hint: format!("add config = {{ {key} = … }}; it is {kind}"),
        });
    }
    for (key, value) in &*settings {
        let Some(property) = properties.get(key) else { continue };
        let Some(needed) = kinds(property) else { continue };
        if !is_one_of(property, value) {
            wrong.push(WrongSetting {
                key: key.clone(),
                description: format!("{key:?} must be {needed}, not {}", kind_of(value)),
                hint: "the type is in the manifest's configSchema".to_owned(),
            });
        }
    }
    wrong
}

fn named(property: &Value) -> Vec<&str> {
    match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn kinds(property: &Value) -> Option<String> {
    let words: Vec<&str> = named(property)
        .into_iter()
        .filter_map(|kind| KINDS.iter().find(|(known, _)| *known == kind))
        .map(|(_, word)| *word)
        .collect();
    (!words.is_empty()).then(|| words.join(" or "))
}

fn is_one_of(property: &Value, value: &Value) -> bool {
    named(property).into_iter().any(|kind| match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    })
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}
