//! The OpenAPI document. A test of `document` writes and compares it.

use axum::http::header;
use axum::response::IntoResponse;

const DOCUMENT: &str = include_str!("../../../docs/openapi.json");

pub async fn give() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT)
}
