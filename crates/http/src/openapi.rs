//! Generates the OpenAPI document from the routes. `docs/openapi.json` is a copy.

use crate::openapi_parts::{answers, parameters, reference, schemas};
use crate::routes::{Route, routes};
use axum::Json;
use serde_json::{Map, Value, json};

pub async fn give() -> Json<Value> {
    Json(document())
}

fn operation(route: &Route) -> Value {
    let (content, schema) = route.gives;
    let mut answers = Map::new();
    let given = json!({ content: { "schema": reference("schemas", schema) } });
    answers.insert("200".to_owned(), json!({ "description": "Done", "content": given }));
    let mut statuses = vec![403];
    statuses.extend((!route.is_open).then_some(401));
    statuses.extend(route.also);
    for status in statuses {
        let answer = match status {
            204 => json!({ "description": "No answer is needed" }),
            status => reference("responses", &format!("Status{status}")),
        };
        answers.insert(status.to_string(), answer);
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "responses": answers,
    });
    if !route.parameters.is_empty() {
        let parameters = route.parameters.iter().map(|name| reference("parameters", name));
        operation["parameters"] = parameters.collect();
    }
    if let Some(schema) = route.takes {
        let content = json!({ "application/json": { "schema": reference("schemas", schema) } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    if route.is_open {
        operation["security"] = json!([]);
    }
    operation
}

fn document() -> Value {
    let mut paths = json!({});
    for route in routes() {
        paths[route.path][route.method] = operation(&route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ostler",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "HTTP API for apps. Off unless OSTLER_HTTP names an address; create a token with `ostler token`.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:7420" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "parameters": parameters(),
            "responses": answers(),
            "schemas": schemas(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::{AppPhase, AppStatus, AppUsage};
    use std::collections::BTreeSet;

    /// `OSTLER_BLESS=1 cargo test -p ostler-http` updates the file.
    #[test]
    fn the_document_is_that_of_the_router() {
        let made = format!("{:#}\n", document());
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
        fn walk<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
            match value {
                Value::Object(fields) => {
                    found.extend(fields.get("$ref").and_then(Value::as_str));
                    fields.values().for_each(|value| walk(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = BTreeSet::new();
        walk(&document, &mut found);
        assert!(found.len() > 10);
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{reference} does not exist");
        }
    }

    /// The schema of an app's status has the same keys and states as the type.
    #[test]
    fn a_status_is_as_described() {
        let keys = |value: &Value| -> BTreeSet<String> {
            value.as_object().expect("an object").keys().cloned().collect()
        };
        let schemas = schemas();
        let usage = AppUsage { memory_rss: 1, cpu_percent: 0.5 };
        let states: BTreeSet<String> = [
            AppPhase::Stopped,
            AppPhase::Starting,
            AppPhase::Ready,
            AppPhase::Stopping,
            AppPhase::Error,
        ]
        .map(|state| json!(state).as_str().expect("a word").to_owned())
        .into();
        let described = schemas["AppState"]["enum"].as_array().expect("a list");
        assert_eq!(
            states,
            described.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
        );
        let status = AppStatus {
            package_id: "@a/b".to_owned(),
            state: AppPhase::Ready,
            pid: None,
            started_at: None,
            restart_count: 0,
            last_heartbeat: None,
            last_error: None,
            resource_usage: Some(usage),
        };
        assert_eq!(keys(&json!(status)), keys(&schemas["AppStatus"]["properties"]));
        assert_eq!(keys(&json!(usage)), keys(&schemas["AppUsage"]["properties"]));
    }
}
