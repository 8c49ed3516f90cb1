//! A command: `POST` with parameters in the path and in a JSON body.

use super::answer;
use super::operations::{HttpOperation, Pairs, PathField};
use super::query::{bad, twice};
use crate::body;
use crate::http_error::HttpProblem;
use crate::rest::actor;
use crate::routes::Shared;
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use ostler_ops::BadParam;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

pub async fn answer(
    context: &Shared,
    operation: HttpOperation,
    path: Pairs,
    pairs: Pairs,
    headers: &HeaderMap,
    request_body: Body,
) -> Result<Response, HttpProblem> {
    if let Some((name, _)) = pairs.first() {
        let message = "a command takes its parameters in its body".to_owned();
        return Err(bad(name, message).into());
    }
    let bytes = body::read(headers, request_body).await?;
    let mut fields = read(&bytes)?;
    let known = (operation.fields)();
    if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(bad(name, "there is no such parameter".to_owned()).into());
    }
    for (name, text) in path {
        let field = operation.field_of(&name);
        let value = match field {
            PathField::One(_) => raw(&text)?,
            PathField::OnlyOf(_) => raw(&[text])?,
        };
        if fields.insert(field.name().to_owned(), value).is_some() {
            return Err(twice(field.name()));
        }
    }
    let params = raw(&fields)?;
    let response = context.gateway.call(operation.entry.name, params, actor()).await?;
    Ok(answer::json(response.get().to_owned()))
}

/// No body is the same as `{}`.
fn read(bytes: &[u8]) -> Result<BTreeMap<String, Box<RawValue>>, HttpProblem> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(BTreeMap::new());
    }
    serde_json::from_slice(bytes).map_err(|cause| {
        HttpProblem::from(BadParam {
            field: None,
            message: format!("the body must be a JSON object: {cause}"),
        })
    })
}

fn raw<T: serde::Serialize + ?Sized>(value: &T) -> Result<Box<RawValue>, HttpProblem> {
    to_raw_value(value).map_err(|cause| BadParam { field: None, message: cause.to_string() }.into())
}
