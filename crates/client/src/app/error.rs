//! Errors between an app and Ostler.

use serde_json::Value;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// The error of an app's own functions; `?` converts any error and any string.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An error from Ostler, from the client, or from the app itself.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AppError {
    #[error(
        "OPENCLAWOS_SOCKET is not set: this program is an app and is started by Ostler. Put [units.NAME] manifest = \
         \"openclawos.manifest.json\" into ostler.toml and run `ostler up`"
    )]
    NoSocket,
    #[error("could not read the manifest {}", path.display())]
    UnreadManifest { path: PathBuf, source: io::Error },
    #[error("{place} must have the strings id, type and protocol.version")]
    BadManifest { place: String },
    #[error("could not connect to {}", path.display())]
    ConnectFailed { path: PathBuf, source: io::Error },
    #[error("{method}: {message}")]
    Refused { method: String, code: Code, message: String, details: Option<Value> },
    #[error("the answer to {method} has no {missing}")]
    BadAnswer { method: String, missing: &'static str },
    #[error("{method} was not answered within {} s", after.as_secs_f64())]
    Timeout { method: String, after: Duration },
    #[error("the connection was lost before {method} was answered; it may have been done")]
    ConnectionLost { method: String },
    #[error("{method} would be a line of {bytes} bytes; at most {} are allowed", super::MAX_LINE)]
    LineTooLong { method: String, bytes: usize },
    #[error("busy for {} s: it may be 0 to 3600 (one hour) at a time", asked.as_secs_f64())]
    BusyTooLong { asked: Duration },
    #[error("another connection of this app has taken over")]
    Superseded,
    #[error("the connection to Ostler is closed")]
    Closed,
    #[error("{what} failed")]
    Failed { what: &'static str, source: Failure },
    #[error("the system refused {what}")]
    System { what: &'static str, source: io::Error },
}

impl AppError {
    /// The error code, which is the same in all SDKs and on the wire.
    pub fn code(&self) -> &str {
        match self {
            Self::NoSocket => "NO_SOCKET",
            Self::UnreadManifest { .. } | Self::BadManifest { .. } => "BAD_MANIFEST",
            Self::ConnectFailed { .. } => "CONNECT_FAILED",
            Self::Refused { code, .. } => code.word(),
            Self::BadAnswer { .. } => "BAD_ANSWER",
            Self::Timeout { .. } => "TIMEOUT",
            Self::ConnectionLost { .. } => "CONNECTION_LOST",
            Self::LineTooLong { .. } => "LINE_TOO_LONG",
            Self::BusyTooLong { .. } => "INVALID_PARAMS",
            Self::Superseded => "SUPERSEDED",
            Self::Closed => "CLOSED",
            Self::Failed { .. } => "FAILED",
            Self::System { .. } => "INTERNAL_ERROR",
        }
    }

    /// Whether the token is unknown to Ostler, so that the app must register again.
    pub(super) fn is_forgotten(&self) -> bool {
        let Self::Refused { code, .. } = self else { return false };
        matches!(code, Code::Unauthorized | Code::AppNotRegistered)
    }

    /// The message with its causes.
    pub(super) fn description(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text += &format!(": {error}");
            cause = error.source();
        }
        format!("{text} ({})", self.code())
    }
}

/// The code of a refusal by Ostler.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
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
    /// A code of a newer Ostler.
    Other(String),
}

impl Code {
    const NAMED: [(Self, &'static str); 10] = [
        (Self::InvalidRequest, "INVALID_REQUEST"),
        (Self::MethodNotFound, "METHOD_NOT_FOUND"),
        (Self::InvalidParams, "INVALID_PARAMS"),
        (Self::Unauthorized, "UNAUTHORIZED"),
        (Self::AppNotRegistered, "APP_NOT_REGISTERED"),
        (Self::Forbidden, "FORBIDDEN"),
        (Self::NotFound, "NOT_FOUND"),
        (Self::Conflict, "CONFLICT"),
        (Self::Timeout, "TIMEOUT"),
        (Self::InternalError, "INTERNAL_ERROR"),
    ];

    pub(super) fn of(word: &str) -> Self {
        let known = Self::NAMED.into_iter().find(|(_, name)| *name == word);
        known.map_or_else(|| Self::Other(word.to_owned()), |(code, _)| code)
    }

    /// The code on the wire.
    pub fn word(&self) -> &str {
        match self {
            Self::Other(word) => word,
            named => {
                Self::NAMED.iter().find(|(code, _)| code == named).map_or("", |(_, name)| name)
            }
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}
