//! Compares a value with a JSON schema, as far as the OpenAPI document uses it.

use serde_json::Value;

/// Also refuses fields that the schema does not have.
pub fn check(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    at("", document, schema, value)
}

fn at(place: &str, document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{place}: {what}: {value}"));
    let Some(fields) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Ok(()) } else { wrong("no schema") };
    };
    if let Some(path) = schema["$ref"].as_str() {
        let pointed = document.pointer(path.trim_start_matches('#'));
        return at(place, document, pointed.unwrap_or(&Value::Null), value);
    }
    let is_kind = |kind: &Value| match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    };
    match fields.get("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(is_kind) => return wrong("another type"),
        Some(kind @ Value::String(_)) if !is_kind(kind) => return wrong("another type"),
        _ => {}
    }
    if fields.get("const").is_some_and(|only| only != value) {
        return wrong("another value");
    }
    if fields.get("enum").and_then(Value::as_array).is_some_and(|words| !words.contains(value)) {
        return wrong("none of the words");
    }
    if let (Some(items), Some(list)) = (fields.get("items"), value.as_array()) {
        for (index, item) in list.iter().enumerate() {
            at(&format!("{place}[{index}]"), document, items, item)?;
        }
    }
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                return wrong(&format!("{name} is missing"));
            }
        }
        let known = fields.get("properties").and_then(Value::as_object);
        for (name, value) in object {
            let place = format!("{place}.{name}");
            match (known.and_then(|known| known.get(name)), fields.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema)) => at(&place, document, schema, value)?,
                (None, None) if known.is_some() => return Err(format!("{place} is not described")),
                (None, None) => {}
            }
        }
    }
    let choices = |name: &str| fields.get(name).and_then(Value::as_array);
    for schema in choices("allOf").into_iter().flatten() {
        at(place, document, schema, value)?;
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(choices) = choices(name) {
            let tried: Vec<_> = choices.iter().map(|one| at(place, document, one, value)).collect();
            let fitting = tried.iter().filter(|outcome| outcome.is_ok()).count();
            if fitting == 0 || (name == "oneOf" && fitting > 1) {
                let why: Vec<String> = tried.into_iter().filter_map(Result::err).collect();
                return wrong(&format!("{fitting} of {name} fit ({})", why.join("; ")));
            }
        }
    }
    Ok(())
}

#[test]
fn a_wrong_value_is_found() {
    use serde_json::json;
    let document = json!({ "components": { "schemas": { "Unit": {
        "type": "object", "required": ["unit"],
        "properties": { "unit": { "type": "string" }, "pid": { "type": ["integer", "null"] } },
    } } } });
    let schema = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Unit" } });
    for right in [json!([]), json!([{ "unit": "a" }, { "unit": "b", "pid": 7 }])] {
        assert_eq!(check(&document, &schema, &right), Ok(()));
    }
    for wrong in
        [json!({}), json!([{}]), json!([{ "unit": 1 }]), json!([{ "unit": "a", "name": "a" }])]
    {
        assert!(check(&document, &schema, &wrong).is_err(), "{wrong}");
    }
    let choice = json!({ "oneOf": [{ "const": "a" }, { "type": "integer" }] });
    assert!(
        check(&document, &choice, &json!("a")).is_ok()
            && check(&document, &choice, &json!(1)).is_ok()
    );
    assert!(check(&document, &choice, &json!("b")).is_err());
}
