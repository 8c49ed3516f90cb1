//! An error as JSON, with its HTTP status.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_model::app_wire::{Fault, FaultCode};
use serde_json::json;

pub struct HttpProblem {
    pub status: StatusCode,
    pub fault: Fault,
}

impl HttpProblem {
    pub fn new(status: StatusCode, code: FaultCode, message: impl Into<String>) -> Self {
        Self { status, fault: Fault::new(code, message) }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Fault::new(FaultCode::InvalidParams, message).into()
    }
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
        Self { status, fault }
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.fault }))).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"ostler\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
