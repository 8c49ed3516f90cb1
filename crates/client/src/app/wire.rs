//! The lines on the socket.

use super::clock;
use super::error::{AppError, Code};
use serde_json::{Value, json};

pub const PROTOCOL_VERSION: &str = "1.0";

/// The longest line that Ostler accepts, in bytes, including the newline.
pub const MAX_LINE: usize = 256 << 10;

/// No answer is this long. Without a limit, a broken peer could fill the memory.
pub(super) const MAX_INCOMING: usize = 16 << 20;

#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Answer { request: String, result: Value },
    Refusal { request: String, refusal: Refusal },
    Event { name: String, payload: Value },
}

#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) details: Option<Value>,
}

impl Refusal {
    fn of(error: &Value) -> Self {
        let text = |name: &str, without: &str| error[name].as_str().unwrap_or(without).to_owned();
        Self {
            code: Code::of(&text("code", "INTERNAL_ERROR")),
            message: text("message", "Ostler refused it and did not say why"),
            details: error.get("details").filter(|details| !details.is_null()).cloned(),
        }
    }

    pub(super) fn to(self, method: &str) -> AppError {
        let Self { code, message, details } = self;
        AppError::Refused { method: method.to_owned(), code, message, details }
    }
}

pub(super) fn encode(
    id: u64,
    method: &str,
    params: &Value,
    token: Option<&str>,
) -> Result<Vec<u8>, AppError> {
    let mut request = json!({
        "id": id.to_string(),
        "type": "request",
        "timestamp": clock::wall_ms(),
        "method": method,
        "params": params,
    });
    if let Some(token) = token {
        request["token"] = token.into();
    }
    let mut line = request.to_string().into_bytes();
    line.push(b'\n');
    if line.len() > MAX_LINE {
        return Err(AppError::LineTooLong { method: method.to_owned(), bytes: line.len() });
    }
    Ok(line)
}

/// Decodes a line; `None` if it is neither an answer nor an event.
pub(super) fn decode(line: &[u8]) -> Option<Message> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    match value["type"].as_str()? {
        "response" => {
            let request = value["requestId"].as_str()?.to_owned();
            if value["success"] == true {
                return Some(Message::Answer { request, result: value["result"].take() });
            }
            Some(Message::Refusal { request, refusal: Refusal::of(&value["error"]) })
        }
        "event" => {
            let name = value["event"].as_str()?.to_owned();
            Some(Message::Event { name, payload: value["payload"].take() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line() {
        let params = json!({ "text": "a\nb", "more": "grün" });
        let line = encode(7, "x.y", &params, Some("t")).expect("a line");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let value: Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!((&value["id"], &value["type"]), (&json!("7"), &json!("request")));
        assert_eq!((&value["method"], &value["params"]), (&json!("x.y"), &params));
        assert_eq!(value["token"], "t");
        assert!(value["timestamp"].as_u64() > Some(1_600_000_000_000));
        let without = encode(7, "x.y", &params, None).expect("a line");
        assert!(!String::from_utf8_lossy(&without).contains("token"));
    }

    #[test]
    fn a_line_may_have_the_maximum_length() {
        let lengths = |text: usize| encode(1, "m", &json!("x".repeat(text)), None).map(|l| l.len());
        let rest = lengths(0).expect("a line");
        assert_eq!(lengths(MAX_LINE - rest).expect("at the limit"), MAX_LINE);
        let error = lengths(MAX_LINE - rest + 1).expect_err("over the limit");
        assert_eq!(error.code(), "LINE_TOO_LONG");
    }

    #[test]
    fn answers_refusals_and_events_are_distinguished() {
        let answer = br#"{"type":"response","requestId":"1","success":true,"result":{"a":1}}"#;
        let result = json!({ "a": 1 });
        assert_eq!(decode(answer), Some(Message::Answer { request: "1".to_owned(), result }));
        let refused = br#"{"type":"response","requestId":"","success":false,"error":{"code":"NEW","message":"m"}}"#;
        let refusal =
            Refusal { code: Code::Other("NEW".to_owned()), message: "m".to_owned(), details: None };
        assert_eq!(decode(refused), Some(Message::Refusal { request: String::new(), refusal }));
        let Some(Message::Refusal { refusal, .. }) =
            decode(br#"{"type":"response","requestId":"1"}"#)
        else {
            panic!("a response without success is a refusal");
        };
        assert_eq!(refusal.code, Code::InternalError);
        let event = br#"{"type":"event","event":"later","payload":null}"#;
        let payload = Value::Null;
        assert_eq!(decode(event), Some(Message::Event { name: "later".to_owned(), payload }));
        for line in ["", "[]", "7", "{}", r#"{"type":"request"}"#, r#"{"type":"event"}"#, "{\"a\":"]
        {
            assert_eq!(decode(line.as_bytes()), None, "{line}");
        }
        assert_eq!(decode(b"\xff"), None);
        assert_eq!(decode("[".repeat(100_000).as_bytes()), None);
    }
}
