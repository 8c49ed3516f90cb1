//! Messages to the app socket.

use ostler_model::app_wire::Fault;
use serde::Serialize;
use serde_json::{Value, json};

/// Appends an answer to the output.
pub(crate) fn write_response(
    out: &mut Vec<u8>,
    number: u64,
    request_id: &str,
    outcome: &Result<Value, Fault>,
) {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Response<'a> {
        id: String,
        r#type: &'static str,
        timestamp: u64,
        request_id: &'a str,
        success: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a Fault>,
    }
    let response = Response {
        id: format!("r{number}"),
        r#type: "response",
        timestamp: ostler_os::wall_ms(),
        request_id,
        success: outcome.is_ok(),
        result: outcome.as_ref().ok(),
        error: outcome.as_ref().err(),
    };
    if serde_json::to_writer(&mut *out, &response).is_ok() {
        out.push(b'\n');
    }
}

pub(crate) fn write_event(out: &mut Vec<u8>, number: u64, event: &str, payload: &Value) {
    let message = json!({
        "id": format!("e{number}"),
        "type": "event",
        "timestamp": ostler_os::wall_ms(),
        "event": event,
        "payload": payload,
    });
    out.extend_from_slice(message.to_string().as_bytes());
    out.push(b'\n');
}
