//! The messages on the control socket: one JSON object per line, and frames once a stream is open.

use crate::{BadParam, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The longest request line. Larger than the kernel's limit on arguments and environment together, so that a client
/// gets the kernel's error (E2BIG).
pub const MAX_LINE: usize = 16 << 20;

/// A request as received. Unknown fields are ignored, so that requests of a newer client are understood.
#[derive(Debug, Deserialize)]
pub struct Request<'a> {
    pub id: u64,
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl<'a> Request<'a> {
    pub fn new(id: u64, method: &'a str, params: &'a RawValue) -> Self {
        Self { id, method: Cow::Borrowed(method), params: Some(params) }
    }

    /// The operation with its parameters; absent parameters are the same as `{}`. They must be an object: a list
    /// would be parsed as fields in order.
    pub fn read<O: Operation>(&self) -> Result<O, BadParam> {
        let params = self.params.map_or("{}", RawValue::get);
        if !params.starts_with('{') {
            return Err(BadParam {
                field: None,
                message: "the parameters must be an object".to_owned(),
            });
        }
        serde_json::from_str(params).map_err(|cause| BadParam::in_json(params, &cause))
    }

    /// The line of a request.
    pub fn line<O: Operation>(id: u64, params: &O) -> Result<Vec<u8>, serde_json::Error> {
        #[derive(Serialize)]
        struct Line<'a, O> {
            id: u64,
            method: &'static str,
            params: &'a O,
        }
        with_end(&Line { id, method: O::NAME, params })
    }
}

/// A response as received.
#[derive(Debug, Deserialize)]
pub struct Response<R> {
    /// The id of the request; 0 if none could be read.
    #[serde(default)]
    pub id: u64,
    pub ok: Option<R>,
    pub error: Option<WireError>,
}

/// The line of a response.
pub fn response_line<R: Serialize>(id: u64, outcome: &Result<R, WireError>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Ok<'a, R> {
        id: u64,
        ok: &'a R,
    }
    #[derive(Serialize)]
    struct Refused<'a> {
        id: u64,
        error: &'a WireError,
    }
    match outcome {
        Result::Ok(ok) => with_end(&Ok { id, ok }),
        Err(error) => with_end(&Refused { id, error }),
    }
    .unwrap_or_default()
}

fn with_end(line: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    Ok(line)
}

/// An error: a code for programs and a message for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WireError {
    pub code: ErrorCode,
    pub message: String,
    /// The parameter that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl WireError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    InvalidRequest,
    NotFound,
    Ambiguous,
    ShuttingDown,
    Conflict,
    /// Another supervisor owns the run.
    Elsewhere,
    RegistryFailed,
    /// Too many requests at this moment, or too many connections of this caller.
    Busy,
    Internal,
}

/// The content of a frame: one byte kind, four bytes length (little endian), then the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Supervisor → viewer.
    Stdout,
    Stderr,
    /// JSON: `{"from":…,"to":…}`, bytes that were not kept.
    Gap,
    /// JSON: the run's result. The last frame.
    Ended,
    /// No more output for now, and the view does not follow. The last frame.
    Caught,
    /// JSON `{"atMs":…}`: when the following bytes were written.
    Time,
    /// Viewer → supervisor.
    Input,
    EndOfInput,
    /// JSON: `TerminalSize`.
    Resize,
    Detach,
    /// JSON: `WireError`.
    Error,
}

impl FrameKind {
    const ALL: [FrameKind; 11] = [
        FrameKind::Stdout,
        FrameKind::Stderr,
        FrameKind::Gap,
        FrameKind::Ended,
        FrameKind::Caught,
        FrameKind::Time,
        FrameKind::Input,
        FrameKind::EndOfInput,
        FrameKind::Resize,
        FrameKind::Detach,
        FrameKind::Error,
    ];

    pub const MAX_PAYLOAD: usize = 1 << 20;
    pub const HEADER: usize = 5;

    pub fn header(self, length: usize) -> [u8; Self::HEADER] {
        let length = (length as u32).to_le_bytes();
        [self as u8, length[0], length[1], length[2], length[3]]
    }

    /// The kind and the payload's length, or the error in the header.
    pub fn parse(header: [u8; Self::HEADER]) -> Result<(FrameKind, usize), String> {
        let kind = *Self::ALL
            .get(header[0] as usize)
            .ok_or_else(|| format!("unknown frame kind {}", header[0]))?;
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if length > Self::MAX_PAYLOAD {
            return Err(format!(
                "a frame of {length} bytes exceeds the limit of {} bytes",
                Self::MAX_PAYLOAD
            ));
        }
        Ok((kind, length))
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    pub from: u64,
    pub to: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeMark {
    pub at_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Show;

    #[test]
    fn frame_headers_read_back_and_bad_ones_are_refused() {
        for kind in FrameKind::ALL {
            assert_eq!(FrameKind::parse(kind.header(77)), Ok((kind, 77)));
        }
        assert!(FrameKind::parse([99, 0, 0, 0, 0]).is_err());
        assert!(FrameKind::parse([0, 255, 255, 255, 255]).is_err());
    }

    #[test]
    fn a_request_reads_back_also_with_fields_of_a_newer_version() {
        let line = Request::line(7, &Show::of("abc")).expect("encodes");
        let request: Request<'_> = serde_json::from_slice(&line).expect("reads");
        assert_eq!((request.id, &*request.method), (7, "runs.show"));
        assert_eq!(request.read::<Show>().expect("its parameters").run, "abc");
        let newer =
            r#"{"id":1,"method":"runs.list","params":{"liveOnly":true,"of":"later"},"trace":3}"#;
        let request: Request<'_> = serde_json::from_str(newer).expect("reads");
        assert!(request.read::<crate::runs::List>().expect("its parameters").live_only);
        let bare: Request<'_> =
            serde_json::from_str(r#"{"id":1,"method":"daemon.ping"}"#).expect("reads");
        assert_eq!(bare.read::<crate::daemon::Ping>().expect("no parameters").version, "");
    }
}
