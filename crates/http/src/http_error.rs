//! An error as JSON, with its HTTP status.

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_model::app_wire::{Fault, FaultCode};
use ostler_ops::BadParam;
use ostler_ops::wire::{ErrorCode, WireError};
use serde::Serialize;
use serde_json::json;

#[derive(Clone, Debug)]
pub struct HttpProblem {
    pub status: StatusCode,
    /// A word for programs.
    code: String,
    message: String,
    /// The parameter that is wrong.
    field: Option<String>,
}

impl HttpProblem {
    pub fn new(status: StatusCode, code: FaultCode, message: impl Into<String>) -> Self {
        Self { status, code: word(&code), message: message.into(), field: None }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Fault::new(FaultCode::InvalidParams, message).into()
    }

    /// Rewrites the response as RFC 9457 defines it, and keeps its headers.
    pub fn describe(self, response: &mut Response) {
        let mut problem = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.message,
            "code": self.code,
        });
        if let Some(field) = self.field {
            problem["field"] = json!(field);
        }
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response.headers_mut().remove(header::CONTENT_LENGTH);
        *response.body_mut() = Body::from(problem.to_string());
    }
}

fn word(code: &impl Serialize) -> String {
    json!(code).as_str().unwrap_or_default().to_owned()
}

impl From<Fault> for HttpProblem {
    fn from(fault: Fault) -> Self {
        let status = match fault.code {
            FaultCode::InvalidRequest | FaultCode::InvalidParams => StatusCode::BAD_REQUEST,
            FaultCode::Unauthorized => StatusCode::UNAUTHORIZED,
            FaultCode::Forbidden => StatusCode::FORBIDDEN,
            FaultCode::MethodNotFound | FaultCode::NotFound => StatusCode::NOT_FOUND,
            FaultCode::AppNotRegistered | FaultCode::Conflict => StatusCode::CONFLICT,
            FaultCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
            FaultCode::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, fault.code, fault.message)
    }
}

impl From<WireError> for HttpProblem {
    fn from(refusal: WireError) -> Self {
        let status = match refusal.code {
            ErrorCode::InvalidRequest => StatusCode::BAD_REQUEST,
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::Ambiguous | ErrorCode::Conflict | ErrorCode::Elsewhere => {
                StatusCode::CONFLICT
            }
            ErrorCode::ShuttingDown | ErrorCode::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::RegistryFailed | ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let WireError { code, message, field } = refusal;
        Self { status, code: word(&code), message, field }
    }
}

impl From<BadParam> for HttpProblem {
    fn from(bad: BadParam) -> Self {
        let refusal = WireError::new(ErrorCode::InvalidRequest, bad.to_string());
        WireError { field: bad.field, ..refusal }.into()
    }
}

/// The form of OpenClawOS. The guard rewrites it for `/api/v1`.
impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let body = json!({ "error": { "code": self.code, "message": self.message } });
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"ostler\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response.extensions_mut().insert(self);
        response
    }
}
