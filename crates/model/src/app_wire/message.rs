//! One message of the app socket.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FaultCode {
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Unauthorized,
    AppNotRegistered,
    Forbidden,
    NotFound,
    Conflict,
    Timeout,
    InternalError,
}

/// Why a request failed.
#[derive(Clone, Debug, Serialize)]
pub struct Fault {
    pub code: FaultCode,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Fault {
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }
}

#[derive(Debug)]
pub struct Request<'a> {
    pub id: Cow<'a, str>,
    pub method: Cow<'a, str>,
    params: Option<&'a RawValue>,
    pub token: Option<Cow<'a, str>>,
}

impl Request<'_> {
    /// The parameters; missing ones are null. They are valid JSON, but may be nested too deeply.
    pub fn params(&self) -> Result<Value, Fault> {
        let Some(raw) = self.params else { return Ok(Value::Null) };
        serde_json::from_str(raw.get())
            .map_err(|bad| Fault::new(FaultCode::InvalidParams, format!("params: {bad}")))
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<Id<'a>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    token: Option<Cow<'a, str>>,
}

/// Accepts an id that is a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Number(i64),
}

/// On error: what is wrong with the line, and the id of the request if it could be read.
pub fn read_request(line: &[u8]) -> Result<Request<'_>, (String, Fault)> {
    let invalid =
        |id: String, message: String| (id, Fault::new(FaultCode::InvalidRequest, message));
    let text = std::str::from_utf8(line).map_err(|bad| {
        invalid(String::new(), format!("not UTF-8 at byte {}", bad.valid_up_to()))
    })?;
    // A list would be parsed as the fields in order.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(invalid(String::new(), "not a request: it must be an object".to_owned()));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text)
        .map_err(|bad| invalid(id_of(text), format!("not a request: {bad}")))?;
    let id = match envelope.id {
        Some(Id::Text(text)) => text,
        Some(Id::Number(number)) => Cow::Owned(number.to_string()),
        None => return Err(invalid(String::new(), "a request needs an \"id\"".to_owned())),
    };
    if envelope.kind.as_deref() != Some("request") {
        let message = match envelope.kind {
            Some(kind) => format!("\"type\" is {kind:?}; it must be \"request\""),
            None => "a request needs \"type\": \"request\"".to_owned(),
        };
        return Err(invalid(id.into_owned(), message));
    }
    let Some(method) = envelope.method else {
        return Err(invalid(id.into_owned(), "a request needs a \"method\"".to_owned()));
    };
    Ok(Request { id, method, params: envelope.params, token: envelope.token })
}

/// The id in something that is JSON, but no request.
fn id_of(text: &str) -> String {
    #[derive(Deserialize)]
    struct OnlyId {
        id: String,
    }
    serde_json::from_str::<OnlyId>(text).map(|found| found.id).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fault(line: &str) -> (String, String) {
        let (id, fault) = read_request(line.as_bytes()).expect_err("no request");
        assert_eq!(fault.code, FaultCode::InvalidRequest);
        (id, fault.message)
    }

    #[test]
    fn a_request_is_parsed_and_an_invalid_one_says_why() {
        let line = r#"{"id":"1","type":"request","timestamp":5,"method":"app.ready","params":{"a":[1]},"token":"t","more":0}"#;
        let request = read_request(line.as_bytes()).expect("a request");
        assert_eq!(
            (&*request.id, &*request.method, request.token.as_deref()),
            ("1", "app.ready", Some("t"))
        );
        assert_eq!(request.params().expect("params"), json!({"a": [1]}));
        let numbered =
            read_request(br#"{"id":7,"type":"request","method":"m"}"#).expect("a request");
        assert_eq!((&*numbered.id, numbered.params().expect("none")), ("7", Value::Null));
        let deep = format!(
            r#"{{"id":"1","type":"request","method":"m","params":{}{}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        let deep =
            read_request(deep.as_bytes()).expect("a request").params().expect_err("too deep");
        assert_eq!(deep.code, FaultCode::InvalidParams);
        assert_eq!(fault("[]").0, "");
        assert_eq!(fault("{").0, "");
        assert_eq!(fault(r#"{"id":"9","type":"event"}"#).0, "9");
        assert_eq!(fault(r#"{"id":"9","type":"request"}"#).1, "a request needs a \"method\"");
        assert_eq!(fault(r#"{"id":"9","type":"request","method":1}"#).0, "9");
        assert!(fault(r#"["9","request","app.ready"]"#).1.contains("it must be an object"));
        assert!(fault(&"{\"a\":".repeat(100_000)).1.starts_with("not a request"));
        let (_, bad) = read_request(b"{\"id\":\"\xff\"}").expect_err("not UTF-8");
        assert!(bad.message.starts_with("not UTF-8"), "{}", bad.message);
    }
}
