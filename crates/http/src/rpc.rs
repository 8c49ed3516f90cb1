//! JSON-RPC 2.0 over POST: single calls and batches.

use crate::body;
use crate::http_error::HttpProblem;
use crate::rest::actor;
use crate::routes::Shared;
use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ostler_api::Gateway;
use ostler_model::app_wire::{Fault, FaultCode};
use serde_json::{Value, json};

/// The batch size is limited, because each answer may be long.
const BATCH_MOST: usize = 100;

pub async fn call(
    context: Shared,
    headers: HeaderMap,
    request_body: Body,
) -> Result<Response, HttpProblem> {
    let bytes = body::read(&headers, request_body).await?;
    let answer = match serde_json::from_slice(&bytes) {
        Ok(Value::Array(calls)) => batch(&context.gateway, calls).await,
        Ok(call) => one(&context.gateway, call).await,
        Err(bad) => Some(refused(Value::Null, -32700, &format!("not JSON: {bad}"), None)),
    };
    Ok(match answer {
        Some(answer) => Json(answer).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Calls in order. Returns `None` if no call needs an answer.
async fn batch(gateway: &Gateway, calls: Vec<Value>) -> Option<Value> {
    if calls.is_empty() {
        return Some(refused(Value::Null, -32600, "a batch must have at least one call", None));
    }
    if calls.len() > BATCH_MOST {
        let description = format!("a batch may have at most {BATCH_MOST} calls");
        return Some(refused(Value::Null, -32600, &description, None));
    }
    let mut answers = Vec::new();
    for call in calls {
        answers.extend(one(gateway, call).await);
    }
    (!answers.is_empty()).then_some(Value::Array(answers))
}

async fn one(gateway: &Gateway, mut call: Value) -> Option<Value> {
    let invalid = |id: Value, description: &str| Some(refused(id, -32600, description, None));
    let Some(fields) = call.as_object_mut() else {
        return invalid(Value::Null, "a call must be an object");
    };
    let id = fields.remove("id");
    if let Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) = id {
        return invalid(Value::Null, "\"id\" must be a string, a number or null");
    }
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(id.unwrap_or_default(), "a call must have \"jsonrpc\": \"2.0\"");
    }
    let Some(Value::String(method)) = fields.remove("method") else {
        return invalid(id.unwrap_or_default(), "a call must have a \"method\" string");
    };
    let outcome = match fields.remove("params").unwrap_or_default() {
        _ if method == "apps.subscribe" => Err(Fault::new(
            FaultCode::MethodNotFound,
            "over HTTP, use GET /api/events to receive changes",
        )),
        Value::Array(params) if params.is_empty() => {
            gateway.call_app(&method, Value::Null, actor()).await
        }
        params @ (Value::Object(_) | Value::Null) => {
            gateway.call_app(&method, params, actor()).await
        }
        _ => Err(Fault::new(FaultCode::InvalidParams, "\"params\" must be an object")),
    };
    let id = id?;
    Some(match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(fault) => refused(id, number(fault.code), &fault.message, Some(&fault)),
    })
}

/// The standard codes of JSON-RPC, and Ostler's own.
fn number(code: FaultCode) -> i64 {
    match code {
        FaultCode::InvalidRequest => -32600,
        FaultCode::MethodNotFound => -32601,
        FaultCode::InvalidParams => -32602,
        FaultCode::InternalError => -32603,
        FaultCode::Unauthorized => -32001,
        FaultCode::Forbidden => -32003,
        FaultCode::NotFound => -32004,
        FaultCode::Timeout => -32008,
        FaultCode::Conflict => -32009,
        FaultCode::AppNotRegistered => -32010,
    }
}

fn refused(id: Value, number: i64, message: &str, fault: Option<&Fault>) -> Value {
    let mut error = json!({ "code": number, "message": message });
    if let Some(fault) = fault {
        error["data"] = json!({ "code": fault.code, "details": fault.details });
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}
