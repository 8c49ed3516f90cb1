//! Shared parts of the OpenAPI document: parameters, answers and schemas.

use serde_json::{Map, Value, json};

pub fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

pub fn parameters() -> Value {
    let query = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "description": description, "schema": schema });
    json!({
        "id": {
            "name": "id", "in": "path", "required": true, "schema": { "type": "string" },
            "description": "The id of the manifest, or the unit's name; @scope/name as it is or percent-encoded",
        },
        "lines": query("lines", "Maximum number of lines", json!({ "type": "integer", "minimum": 0, "maximum": 10_000, "default": 100 })),
        "wait": query("wait", "false: answer at once", json!({ "type": "boolean", "default": true })),
        "state": query("state", "Only apps in this state", reference("schemas", "AppState")),
        "search": query("search", "Only apps whose id contains this text", json!({ "type": "string" })),
    })
}

pub fn answers() -> Value {
    let answer_text = [
        (400, "The request is invalid; the message says what is expected"),
        (401, "The token is missing, wrong or revoked"),
        (403, "Host or Origin is not this machine"),
        (404, "The app does not exist"),
        (408, "The request was not sent within the time limit"),
        (409, "The app did not become ready; the message has the reason"),
        (413, "The request is too large"),
        (503, "Temporarily unavailable"),
    ];
    let answer = |(status, description): (u16, &str)| {
        let content = json!({ "application/json": { "schema": reference("schemas", "Error") } });
        (format!("Status{status}"), json!({ "description": description, "content": content }))
    };
    Value::Object(answer_text.into_iter().map(answer).collect())
}

pub fn schemas() -> Value {
    let or_null = |kind: &str| json!({ "type": [kind, "null"] });
    let object = |properties: Value| {
        let keys: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
        json!({ "type": "object", "required": keys, "properties": properties })
    };
    let status = object(json!({
        "packageId": { "type": "string" },
        "state": reference("schemas", "AppState"),
        "pid": or_null("integer"),
        "startedAt": or_null("integer"),
        "restartCount": { "type": "integer" },
        "lastHeartbeat": or_null("integer"),
        "lastError": or_null("string"),
        "resourceUsage": { "oneOf": [reference("schemas", "AppUsage"), { "type": "null" }] },
    }));
    let more = json!({
        "type": "object",
        "properties": {
            "unit": { "type": "string" },
            "why": { "type": "string" },
            "since": { "type": "integer" },
            "manifest": { "type": "object" },
            "manifestPath": { "type": "string" },
            "ends": { "type": "array", "items": { "type": "object" } },
        },
    });
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
    let error = object(json!({ "code": { "type": "string" }, "message": { "type": "string" } }));
    json!({
        "Any": { "type": "object" },
        "Text": { "type": "string" },
        "Done": object(json!({ "ok": { "const": true } })),
        "Error": object(json!({ "error": error })),
        "AppState": { "enum": ["stopped", "starting", "ready", "stopping", "error"] },
        "AppUsage": object(json!({
            "memoryRss": { "type": "integer" },
            "cpuPercent": { "type": "number" },
        })),
        "AppStatus": status,
        "AppInfo": { "allOf": [reference("schemas", "AppStatus"), more] },
        "AppList": object(json!({
            "apps": { "type": "array", "items": reference("schemas", "AppStatus") },
        })),
        "Log": object(json!({
            "lines": { "type": "array", "items": object(json!({
                "stream": { "enum": ["stdout", "stderr"] },
                "text": { "type": "string" },
            })) },
        })),
        "RpcCall": { "oneOf": [call.clone(), { "type": "array", "minItems": 1, "maxItems": 100, "items": call }] },
        "RpcAnswer": { "type": ["object", "array"] },
    })
}
