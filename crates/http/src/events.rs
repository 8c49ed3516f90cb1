//! Server-sent events: first every app, then every change. The server does not buffer for a slow reader: it reports
//! the number of missed events, and the client may ask again.

use crate::http_error::HttpProblem;
use crate::rest::actor;
use crate::routes::{RequestContext, Shared};
use crate::token::{TokenDigest, Verdict};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ostler_api::Topic;
use ostler_model::app_wire::FaultCode;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// The interval of keep-alive comments, which let both sides detect a lost connection.
pub const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// A slot for one event stream; dropping it releases the slot.
pub fn follower_slot(context: &RequestContext) -> Result<OwnedSemaphorePermit, HttpProblem> {
    Arc::clone(&context.followers).try_acquire_owned().map_err(|_| {
        let description = "too many event streams are open; close one";
        HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, FaultCode::Conflict, description)
    })
}

struct Follower {
    context: Arc<RequestContext>,
    topics: Receiver<Topic>,
    token: TokenDigest,
    /// The first event: all apps.
    first: Option<Bytes>,
    _slot: OwnedSemaphorePermit,
}

pub async fn follow(
    context: Shared,
    Extension(token): Extension<TokenDigest>,
) -> Result<Response, HttpProblem> {
    let slot = follower_slot(&context)?;
    // Subscribe before the list is read, so that no change between the two is missed.
    let topics = context.gateway.subscribe();
    let now = context.gateway.call_app("apps.list", Value::Null, actor()).await?;
    let apps = now["apps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let first: String = apps.iter().map(|app| event("app", app)).collect();
    let first = Some(Bytes::from(format!("retry: 1000\n\n{first}")));
    let follower = Follower { context: Arc::clone(&context), topics, token, first, _slot: slot };
    let said = stream::unfold(follower, |mut follower| async {
        let said = follower.next().await?;
        Some((Ok::<_, Infallible>(said), follower))
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(said)).into_response())
}

impl Follower {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let mut closed = self.context.closed.clone();
        let said = tokio::select! {
            topic = self.topics.recv() => match topic {
                Ok(Topic::App(status)) => event("app", &json!(status)),
                Err(RecvError::Lagged(missed)) => event("lagged", &json!({ "missed": missed })),
                Err(RecvError::Closed) => return None,
            },
            () = tokio::time::sleep(KEEP_ALIVE_EVERY) => ":\n\n".to_owned(),
            _ = closed.wait_for(|closed| *closed) => return None,
        };
        // The token may have been revoked since the connection was accepted.
        (self.context.tokens.judge(self.token) == Verdict::Right).then(|| Bytes::from(said))
    }
}

/// JSON contains no line breaks, so one data line is enough.
fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
