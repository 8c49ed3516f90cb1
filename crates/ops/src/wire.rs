//! What goes over the control socket: one JSON object a line, and, once a stream is open, frames.

use crate::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The longest request line that is read. Larger than the kernel's own limit on arguments and environment together, so
/// that a caller gets the kernel's error (E2BIG).
pub const MAX_LINE: usize = 16 << 20;

/// A request as it is read. Fields that are not known here are ignored, so that a newer client is understood.
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

    /// The operation with its parameters; none are the same as `{}`. They are an object: a list would be read as its fields in
    /// their order.
    pub fn read<O: Operation>(&self) -> Result<O, serde_json::Error> {
        let params = self.params.map_or("{}", RawValue::get);
        if !params.starts_with('{') {
            return Err(serde::de::Error::custom("params: an object is needed"));
        }
        serde_json::from_str(params)
    }

    /// The line that asks for an operation.
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

/// A response as it is read.
#[derive(Debug, Deserialize)]
pub struct Response<R> {
    /// Of the request; 0 where none could be read.
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

/// A refusal, with a code a program can tell apart and a message a person can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WireError {
    pub code: ErrorCode,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    InvalidRequest,
    NotFound,
    Ambiguous,
    ShuttingDown,
    Conflict,
    /// The run is another supervisor's.
    Elsewhere,
    RegistryFailed,
    /// Too many callers at this moment, or too many connections of this one.
    Busy,
    Internal,
}

/// What a frame carries: one byte of kind, four of length (little endian), then the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Supervisor → viewer.
    Stdout,
    Stderr,
    /// JSON: `{"from":…,"to":…}`, bytes that are no longer (or never were) kept.
    Gap,
    /// JSON: the run's result. The last frame.
    Ended,
    /// Nothing more for now and the view does not follow. The last frame.
    Caught,
    /// JSON `{"atMs":…}`: when the bytes that follow were written.
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

    /// The kind and the payload's length, or what is wrong with the header.
    pub fn parse(header: [u8; Self::HEADER]) -> Result<(FrameKind, usize), String> {
        let kind = *Self::ALL
            .get(header[0] as usize)
            .ok_or_else(|| format!("unknown frame kind {}", header[0]))?;
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if length > Self::MAX_PAYLOAD {
            return Err(format!(
                "a frame of {length} bytes is longer than {} bytes",
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
