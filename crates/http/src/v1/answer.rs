//! JSON answers. Those to queries have an entity tag, so that a client need not read again what it has.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::fmt::Write;

pub fn json(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Answers 304 without a body if the client has this answer already.
pub fn tagged(body: String, headers: &HeaderMap) -> Response {
    let tag = tag_of(&body);
    let mut response = json(body);
    if has(headers, &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_TYPE);
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Half of a digest is enough to tell two answers apart.
fn tag_of(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    let mut tag = "\"".to_owned();
    for byte in &digest[..16] {
        // Writing to a String does not fail.
        let _ = write!(tag, "{byte:02x}");
    }
    tag + "\""
}

fn has(headers: &HeaderMap, tag: &str) -> bool {
    let known =
        headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_answer_is_not_sent_again() {
        let mut headers = HeaderMap::new();
        let first = tagged("{}".to_owned(), &headers);
        assert_eq!(first.status(), StatusCode::OK);
        let tag = first.headers()[header::ETAG].to_str().expect("text").to_owned();
        for (known, status) in [
            (tag.clone(), 304),
            (format!("\"other\", W/{tag}"), 304),
            ("*".to_owned(), 304),
            ("\"other\"".to_owned(), 200),
        ] {
            headers.insert(header::IF_NONE_MATCH, known.parse().expect("a value"));
            assert_eq!(tagged("{}".to_owned(), &headers).status(), status, "{known}");
        }
        headers.insert(header::IF_NONE_MATCH, tag.parse().expect("a value"));
        assert_eq!(tagged("[]".to_owned(), &headers).status(), StatusCode::OK);
    }
}
