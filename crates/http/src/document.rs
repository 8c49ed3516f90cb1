//! Generates the OpenAPI document from the routes and the schemas of the catalogue.

use crate::routes::{Route as AppRoute, routes};
use crate::v1::{HttpOperation, operations};
use ostler_ops::{Kind, Route, schemas};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const JSON: &str = "application/json";

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// The document, with those schemas that it uses.
fn document() -> Value {
    let catalogue = schemas();
    let mut paths: Map<String, Value> = Map::new();
    let mut put = |path: &str, method: &str, operation: Value| {
        let methods = paths.entry(path.to_owned()).or_insert_with(|| json!({}));
        methods[method] = operation;
    };
    for route in routes() {
        put(route.path, route.method, of_app_route(&route));
    }
    let operations = operations();
    for operation in &operations {
        let entry = operation.entry;
        let Some(path) = entry.route.path() else { continue };
        let path = format!("{}{path}", Route::ROOT);
        match entry.kind {
            Kind::Stream => {}
            Kind::Query => put(&path, "get", query(operation, &operations, &catalogue)),
            Kind::Command => put(&path, "post", command(operation, &catalogue)),
        }
    }
    let mut schemas = own_schemas();
    for (name, schema) in catalogue["$defs"].as_object().expect("schemas") {
        schemas.entry(name.clone()).or_insert_with(|| schema.clone());
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ostler",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Every operation of Ostler, below /api/v1; and the routes of OpenClawOS for apps. HTTP is off unless OSTLER_HTTP names an address; create a token with `ostler token`.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:7420" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "parameters": parameters(),
            "responses": responses(),
            "schemas": {},
        },
    });
    point_at_components(&mut document);
    let mut schemas = Value::Object(schemas);
    point_at_components(&mut schemas);
    document["components"]["schemas"] = used(&document, &schemas);
    document
}

fn of_app_route(route: &AppRoute) -> Value {
    let (content, schema) = route.gives;
    let given = json!({ content: { "schema": reference("schemas", schema) } });
    let mut answers = json!({ "200": { "description": "Done", "content": given } });
    let mut statuses = vec![403];
    statuses.extend((!route.is_open).then_some(401));
    statuses.extend(route.also);
    for status in statuses {
        answers[status.to_string()] = match status {
            204 => json!({ "description": "No answer is needed" }),
            status => reference("responses", &format!("Status{status}")),
        };
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "tags": ["openclawos"],
        "responses": answers,
    });
    if !route.parameters.is_empty() {
        let parameters = route.parameters.iter().map(|name| reference("parameters", name));
        operation["parameters"] = parameters.collect();
    }
    if let Some(schema) = route.takes {
        let content = json!({ JSON: { "schema": reference("schemas", schema) } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    if route.is_open {
        operation["security"] = json!([]);
    }
    operation
}

/// What a query and a command have in common.
fn of_operation(operation: &HttpOperation, response: Value, errors: &[u16]) -> Value {
    let entry = operation.entry;
    let mut about = entry.about.to_owned();
    about[..1].make_ascii_uppercase();
    let content = json!({ JSON: { "schema": response } });
    let mut answers = json!({ "200": { "description": "Done", "content": content } });
    for status in errors {
        answers[status.to_string()] = reference("responses", &format!("Problem{status}"));
    }
    json!({
        "operationId": entry.name,
        "summary": about,
        "tags": [entry.name.split('.').next()],
        "x-right": entry.right,
        "responses": answers,
    })
}

const ERRORS: [u16; 7] = [400, 401, 403, 404, 409, 500, 503];

fn query(operation: &HttpOperation, all: &[HttpOperation], catalogue: &Value) -> Value {
    let described = &catalogue["operations"][operation.entry.name];
    let route = operation.entry.route;
    let mut response = described["response"].clone();
    let mut parameters = path_parameters(operation, catalogue);
    let in_path = in_path(operation);
    let request = request_of(operation, catalogue);
    for (name, schema) in properties(&request) {
        if !in_path.contains(name) {
            let required = is_required(&request, name);
            parameters.push(parameter(name, "query", schema, required));
        }
    }
    if let Route::List(..) | Route::Pages(..) = route {
        parameters.push(reference("parameters", "limit"));
        parameters.push(reference("parameters", "cursor"));
        let next = json!({ "type": ["string", "null"], "description": "The cursor of the next page; null at the end" });
        response = json!({
            "type": "object",
            "required": ["items", "next"],
            "properties": { "items": response, "next": next },
        });
    }
    let follows = |other: &&HttpOperation| matches!(other.entry.route, Route::Follow(path, ..) if Some(path) == route.path());
    let followed = all.iter().find(follows);
    parameters.push(reference("parameters", "ifNoneMatch"));
    if followed.is_some() {
        for name in ["follow", "output", "lastEventId"] {
            parameters.push(reference("parameters", name));
        }
    }
    let mut query = of_operation(operation, response, &ERRORS);
    query["parameters"] = json!(parameters);
    query["responses"]["200"]["headers"]["ETag"] = json!({ "schema": { "type": "string" } });
    query["responses"]["304"] = json!({ "description": "The client has this answer already" });
    if let Some(followed) = followed {
        query["responses"]["200"]["content"]["text/event-stream"] = json!({ "schema": {
            "type": "string",
            "description": format!("With follow=true: {} (operation `{}`)", followed.entry.about, followed.entry.name),
        } });
    }
    query
}

fn command(operation: &HttpOperation, catalogue: &Value) -> Value {
    let described = &catalogue["operations"][operation.entry.name];
    let mut command = of_operation(operation, described["response"].clone(), &ERRORS);
    for status in [408, 413] {
        command["responses"][status.to_string()] =
            reference("responses", &format!("Problem{status}"));
    }
    let parameters = path_parameters(operation, catalogue);
    let in_path = in_path(operation);
    if !parameters.is_empty() {
        command["parameters"] = json!(parameters);
    }
    let request = request_of(operation, catalogue);
    let mut body = request.clone();
    if let Some(properties) = body["properties"].as_object_mut() {
        properties.retain(|name, _| !in_path.contains(name));
    }
    let required: Vec<&str> = request["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| !in_path.contains(*name))
        .collect();
    if properties(&body).next().is_none() {
        return command;
    }
    let is_required = !required.is_empty();
    body["required"] = json!(required);
    command["requestBody"] =
        json!({ "required": is_required, "content": { JSON: { "schema": body } } });
    command
}

/// The schema of the request itself.
fn request_of(operation: &HttpOperation, catalogue: &Value) -> Value {
    let mut schema = &catalogue["operations"][operation.entry.name]["request"];
    while let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        schema = &catalogue["$defs"][name];
    }
    schema.clone()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name))
}

/// The fields that are in the path.
fn in_path(operation: &HttpOperation) -> BTreeSet<String> {
    let parameters = operation.entry.route.path_parameters();
    parameters.map(|name| operation.field_of(name).name().to_owned()).collect()
}

fn path_parameters(operation: &HttpOperation, catalogue: &Value) -> Vec<Value> {
    let request = request_of(operation, catalogue);
    let parameters = operation.entry.route.path_parameters();
    parameters
        .map(|name| {
            let field = operation.field_of(name);
            let mut schema = request["properties"][field.name()].clone();
            assert!(schema.is_object(), "{}: no field for {{{name}}}", operation.entry.name);
            if field.name() != name {
                schema = schema["items"].clone();
            }
            parameter(name, "path", &schema, true)
        })
        .collect()
}

fn parameter(name: &str, place: &str, schema: &Value, required: bool) -> Value {
    let mut schema = schema.clone();
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let mut parameter = json!({ "name": name, "in": place, "schema": without_null(schema) });
    if required {
        parameter["required"] = json!(true);
    }
    if let Some(description) = description {
        parameter["description"] = description;
    }
    parameter
}

/// A parameter that is absent is not null.
fn without_null(mut schema: Value) -> Value {
    let kinds: Vec<Value> = schema["type"].as_array().cloned().unwrap_or_default();
    if let [kind] = &kinds.iter().filter(|kind| *kind != "null").collect::<Vec<_>>()[..] {
        schema["type"] = (*kind).clone();
    }
    let choices: Vec<Value> = schema["anyOf"].as_array().cloned().unwrap_or_default();
    let choices: Vec<Value> = choices.into_iter().filter(|one| one["type"] != "null").collect();
    if let [choice] = &choices[..] {
        return choice.clone();
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    schema
}

fn point_at_components(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(path)) = fields.get_mut("$ref")
                && let Some(name) = path.strip_prefix("#/$defs/")
            {
                *path = format!("#/components/schemas/{name}");
            }
            fields.values_mut().for_each(point_at_components);
        }
        Value::Array(items) => items.iter_mut().for_each(point_at_components),
        _ => {}
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Those schemas that the document refers to, directly or not.
fn used(document: &Value, schemas: &Value) -> Value {
    let mut kept = Map::new();
    let mut open = BTreeSet::new();
    references(document, &mut open);
    while let Some(path) = open.pop_first() {
        let Some(name) = path.strip_prefix("#/components/schemas/") else { continue };
        if kept.contains_key(name) {
            continue;
        }
        let schema = schemas.get(name).unwrap_or_else(|| panic!("{path} does not exist"));
        references(schema, &mut open);
        kept.insert(name.to_owned(), schema.clone());
    }
    Value::Object(kept)
}

fn parameters() -> Value {
    let query = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "description": description, "schema": schema });
    let header = |name: &str, description: &str| json!({ "name": name, "in": "header", "description": description, "schema": { "type": "string" } });
    json!({
        "id": {
            "name": "id", "in": "path", "required": true, "schema": { "type": "string" },
            "description": "The id of the manifest, or the unit's name; @scope/name as it is or percent-encoded",
        },
        "lines": query("lines", "Maximum number of lines", json!({ "type": "integer", "minimum": 0, "maximum": 10_000, "default": 100 })),
        "wait": query("wait", "false: answer at once", json!({ "type": "boolean", "default": true })),
        "state": query("state", "Only apps in this state", reference("schemas", "AppPhase")),
        "search": query("search", "Only apps whose id contains this text", json!({ "type": "string" })),
        "limit": query("limit", "Maximum number of items", json!({ "type": "integer", "minimum": 1, "maximum": 1_000, "default": 500 })),
        "cursor": query("cursor", "The `next` of the page before", json!({ "type": "string" })),
        "follow": query("follow", "Send each item as a server-sent event, also future ones; the id of an event is the cursor after it", json!({ "type": "boolean", "default": false })),
        "output": query("output", "With follow: also report, every few seconds, which runs have written output", json!({ "type": "boolean", "default": false })),
        "lastEventId": header("Last-Event-ID", "With follow: continue after this event"),
        "ifNoneMatch": header("If-None-Match", "The ETag of an answer that the client has: if it is the same, the answer is 304"),
    })
}

fn responses() -> Value {
    let texts = [
        (400, "The request is invalid; the message says what is expected"),
        (401, "The token is missing, wrong or revoked"),
        (403, "Host or Origin is not this machine"),
        (404, "It does not exist"),
        (408, "The request was not sent within the time limit"),
        (409, "It cannot be done in the present state; the message has the reason"),
        (413, "The request is too large"),
        (500, "The supervisor failed"),
        (503, "Temporarily unavailable"),
    ];
    let mut all = Map::new();
    for (status, description) in texts {
        let of = |kind: &str, schema: &str| {
            let content = json!({ kind: { "schema": reference("schemas", schema) } });
            json!({ "description": description, "content": content })
        };
        all.insert(format!("Problem{status}"), of("application/problem+json", "Problem"));
        if status != 500 {
            all.insert(format!("Status{status}"), of(JSON, "Error"));
        }
    }
    Value::Object(all)
}

/// Those that are no types of the catalogue.
fn own_schemas() -> Map<String, Value> {
    let call = json!({
        "type": "object",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": { "type": ["string", "number", "null"] },
            "method": { "enum": ["apps.list", "apps.info", "apps.logs", "apps.start", "apps.stop", "apps.restart"] },
            "params": { "type": "object" },
        },
    });
    let all = json!({
        "Any": { "type": "object" },
        "Text": { "type": "string" },
        "Error": {
            "type": "object",
            "required": ["error"],
            "properties": { "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": { "code": { "type": "string" }, "message": { "type": "string" } },
            } },
        },
        "Problem": {
            "type": "object",
            "description": "An error, as RFC 9457 defines it",
            "required": ["type", "title", "status", "detail", "code"],
            "properties": {
                "type": { "type": "string" },
                "title": { "type": "string" },
                "status": { "type": "integer" },
                "detail": { "type": "string", "description": "What failed on what, and why" },
                "code": { "type": "string", "description": "A word for programs, such as `NOT_FOUND`" },
                "field": { "type": "string", "description": "The parameter that is wrong" },
            },
        },
        "RpcCall": { "oneOf": [call.clone(), { "type": "array", "minItems": 1, "maxItems": 100, "items": call }] },
        "RpcAnswer": { "type": ["object", "array"] },
    });
    match all {
        Value::Object(all) => all,
        _ => Map::new(),
    }
}

/// The program contains the document, so a path, a method or a schema is one line.
fn print(value: &Value, depth: usize, text: &mut String) {
    match value.as_object().filter(|fields| depth > 0 && !fields.is_empty()) {
        None => *text += &value.to_string(),
        Some(fields) => {
            *text += "{\n";
            for (index, (name, value)) in fields.iter().enumerate() {
                *text += &format!("{}:", json!(name));
                print(value, depth - 1, text);
                *text += if index + 1 < fields.len() { ",\n" } else { "\n" };
            }
            *text += "}";
        }
    }
}

/// `OSTLER_BLESS=1 cargo test -p ostler-http` updates the file.
#[test]
fn the_document_is_that_of_the_router() {
    let mut made = String::new();
    print(&document(), 3, &mut made);
    made.push('\n');
    if std::env::var_os("OSTLER_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        std::fs::write(path, &made).expect("written");
    } else {
        assert!(
            made == include_str!("../../../docs/openapi.json"),
            "docs/openapi.json is out of date; run the test with OSTLER_BLESS=1"
        );
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference} does not exist");
    }
}
