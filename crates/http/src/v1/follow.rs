//! A list, item by item as server-sent events. The id of an event is the key of its item, so a client that reconnects
//! continues after the last item that it has.

use super::operations::{HttpOperation, Pairs};
use super::page::Key;
use super::query::take;
use crate::events::{KEEP_ALIVE_EVERY, follower_slot};
use crate::http_error::HttpProblem;
use crate::routes::{RequestContext, Shared};
use crate::token::{TokenDigest, Verdict};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ostler_api::Outcome;
use ostler_ops::Route;
use ostler_ops::wire::{ErrorCode, WireError};
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

struct Follower {
    context: Arc<RequestContext>,
    items: mpsc::Receiver<Outcome>,
    key: &'static str,
    token: TokenDigest,
    /// Sent at once, so that the client knows that it is connected.
    first: Option<Bytes>,
    _slot: OwnedSemaphorePermit,
}

pub async fn stream(
    context: &Shared,
    token: TokenDigest,
    operation: HttpOperation,
    mut pairs: Pairs,
    headers: &HeaderMap,
) -> Result<Response, HttpProblem> {
    let Route::Follow(_, key, after) = operation.entry.route else {
        return Err(HttpProblem::invalid("this list cannot be followed"));
    };
    let slot = follower_slot(context)?;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let asked = take(&mut pairs, "cursor")?;
    if let Some(cursor) = resumed.or(asked) {
        pairs.retain(|(name, _)| name != after);
        pairs.push((after.to_owned(), cursor));
    }
    let params = (operation.read)(&pairs)?;
    let mut items = context.gateway.follow(params);
    // The first message comes at once: the entries so far, or a refusal.
    let Some(outcome) = items.recv().await else {
        return Err(WireError::new(ErrorCode::ShuttingDown, "the supervisor is stopping").into());
    };
    let first = format!("retry: 1000\n\n{}", events(outcome?.get(), key));
    let first = Some(Bytes::from(first));
    let follower = Follower { context: Arc::clone(context), items, key, token, first, _slot: slot };
    let events = stream::unfold(follower, |mut follower| async {
        let bytes = follower.next().await?;
        Some((Ok::<_, Infallible>(bytes), follower))
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response())
}

impl Follower {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let mut closed = self.context.closed.clone();
        let text = tokio::select! {
            item = self.items.recv() => events(item?.ok()?.get(), self.key),
            () = tokio::time::sleep(KEEP_ALIVE_EVERY) => ":\n\n".to_owned(),
            _ = closed.wait_for(|closed| *closed) => return None,
        };
        // The token may have been revoked since the connection was accepted.
        (self.context.tokens.judge(self.token) == Verdict::Right).then(|| Bytes::from(text))
    }
}

/// JSON contains no line breaks, so one data line is enough. An item that is not stored has the key 0 and no id.
fn events(list: &str, key: &str) -> String {
    let items: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    let mut text = String::new();
    for item in items {
        // Writing to a String does not fail.
        let _ = match Key::of(item, key) {
            Key::Number(0) => write!(text, "data: {item}\n\n"),
            key => write!(text, "id: {}\ndata: {item}\n\n", key.text()),
        };
    }
    text
}
