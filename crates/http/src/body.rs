//! Reads the body of a request, up to a limit in bytes and in time.

use crate::http_error::HttpProblem;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use ostler_model::app_wire::FaultCode;
use std::time::Duration;

const BODY_MOST: usize = 1 << 20;
const BODY_WITHIN: Duration = Duration::from_secs(10);

pub async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, HttpProblem> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let announced: Option<usize> = announced.and_then(|length| length.parse().ok());
    let too_large = || {
        let description = format!("a request may have at most {BODY_MOST} bytes");
        HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, FaultCode::InvalidRequest, description)
    };
    if announced.is_some_and(|length| length > BODY_MOST) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_WITHIN, to_bytes(body, BODY_MOST)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => {
            let description = format!("a request must be sent within {} s", BODY_WITHIN.as_secs());
            Err(HttpProblem::new(StatusCode::REQUEST_TIMEOUT, FaultCode::Timeout, description))
        }
    }
}
