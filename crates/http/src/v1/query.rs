//! A query: `GET` with parameters in the path and in the query.

use super::operations::{HttpOperation, Pairs};
use super::{answer, follow, page};
use crate::http_error::HttpProblem;
use crate::rest::actor;
use crate::routes::Shared;
use crate::token::TokenDigest;
use axum::http::HeaderMap;
use axum::response::Response;
use ostler_ops::{BadParam, Route};

pub async fn answer(
    context: &Shared,
    token: TokenDigest,
    operation: HttpOperation,
    followed: Option<HttpOperation>,
    path: Pairs,
    mut pairs: Pairs,
    headers: &HeaderMap,
) -> Result<Response, HttpProblem> {
    for (name, text) in path {
        let field = operation.field_of(&name);
        if pairs.iter().any(|(given, _)| given == field.name()) {
            return Err(twice(field.name()));
        }
        pairs.push((field.name().to_owned(), text));
    }
    if let Some(followed) = followed
        && take_flag(&mut pairs, "follow")?
    {
        return follow::stream(context, token, followed, pairs, headers).await;
    }
    let paging = page::Paging::take(operation.entry.route, &mut pairs)?;
    let params = (operation.read)(&pairs)?;
    let whole = context.gateway.call(operation.entry.name, params, actor()).await?;
    let body = match operation.entry.route {
        Route::List(_, key) => paging.cut_sorted(whole.get(), key)?,
        Route::Pages(_, key, _) => paging.cut(whole.get(), key)?,
        Route::At(_) | Route::Follow(..) | Route::Internal(_) => whole.get().to_owned(),
    };
    Ok(answer::tagged(body, headers))
}

pub fn twice(field: &str) -> HttpProblem {
    let message = "is in the path already".to_owned();
    BadParam { field: Some(field.to_owned()), message }.into()
}

/// Removes the parameter, which may be there once.
pub fn take(pairs: &mut Pairs, name: &str) -> Result<Option<String>, BadParam> {
    let mut found: Pairs = pairs.extract_if(.., |(given, _)| given == name).collect();
    match found.len() {
        0 | 1 => Ok(found.pop().map(|(_, text)| text)),
        _ => Err(bad(name, "is there more than once".to_owned())),
    }
}

fn take_flag(pairs: &mut Pairs, name: &str) -> Result<bool, BadParam> {
    match take(pairs, name)?.as_deref() {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(text) => Err(bad(name, format!("{text:?} is neither true nor false"))),
    }
}

pub fn bad(name: &str, message: String) -> BadParam {
    BadParam { field: Some(name.to_owned()), message }
}
