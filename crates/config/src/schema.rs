//! The JSON Schema of `ostler.toml`, generated from the types that read it.

use crate::file::ConfigFile;
use serde_json::{Value, json};

pub fn schema() -> String {
    let mut schema = schemars::schema_for!(ConfigFile).to_value();
    without_null(&mut schema);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Removes null: TOML has none.
fn without_null(schema: &mut Value) {
    let null = json!({ "type": "null" });
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| key != "default" || !value.is_null());
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            let choices = object.get("anyOf").and_then(Value::as_array);
            if let Some([Value::Object(only), other]) = choices.map(Vec::as_slice)
                && *other == null
            {
                let only = only.clone();
                object.remove("anyOf");
                object.extend(only);
            }
            object.values_mut().for_each(without_null);
        }
        Value::Array(list) => list.iter_mut().for_each(without_null),
        _ => {}
    }
}
