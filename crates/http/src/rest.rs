//! REST: each route makes one call to the gateway.

use crate::http_error::HttpProblem;
use crate::routes::Shared;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use ostler_api::Gateway;
use ostler_model::Actor;
use ostler_model::app_wire::FaultCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// An engine that needs longer to answer is not healthy.
const READY_WITHIN: Duration = Duration::from_secs(2);

type Answer = Result<Json<Value>, HttpProblem>;
type Id = Result<Path<String>, PathRejection>;
type QueryResult<T> = Result<Query<T>, QueryRejection>;

/// A client that has shown a token acts as this user.
pub fn actor() -> Actor {
    Actor::Caller { uid: ostler_os::user_id(), pid: 0 }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppsQuery {
    state: Option<String>,
    search: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogsQuery {
    lines: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitQuery {
    wait: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoQuery {}

fn read<T>(query: QueryResult<T>) -> Result<T, HttpProblem> {
    query.map(|Query(query)| query).map_err(|bad| HttpProblem::invalid(bad.body_text()))
}

async fn call(gateway: &Gateway, method: &str, params: Map<String, Value>) -> Answer {
    Ok(Json(gateway.call_app(method, Value::Object(params), actor()).await?))
}

/// Returns one key of an app's information.
fn of_app(id: Id, key: &str, value: Option<Value>) -> Result<Map<String, Value>, HttpProblem> {
    let Path(id) = id.map_err(|bad| HttpProblem::invalid(bad.body_text()))?;
    let mut params = Map::from_iter([("packageId".to_owned(), Value::String(id))]);
    params.extend(value.map(|value| (key.to_owned(), value)));
    Ok(params)
}

pub async fn list(context: Shared, query: QueryResult<AppsQuery>) -> Answer {
    let AppsQuery { state, search } = read(query)?;
    let mut params = Map::new();
    params.extend(state.map(|state| ("state".to_owned(), Value::String(state))));
    params.extend(search.map(|search| ("search".to_owned(), Value::String(search))));
    call(&context.gateway, "apps.list", params).await
}

pub async fn info(context: Shared, id: Id, query: QueryResult<NoQuery>) -> Answer {
    read(query)?;
    call(&context.gateway, "apps.info", of_app(id, "", None)?).await
}

pub async fn logs(context: Shared, id: Id, query: QueryResult<LogsQuery>) -> Answer {
    let lines = read(query)?.lines.map(Value::from);
    call(&context.gateway, "apps.logs", of_app(id, "lines", lines)?).await
}

pub async fn start(context: Shared, id: Id, query: QueryResult<WaitQuery>) -> Answer {
    ask(context, "apps.start", id, query).await
}

pub async fn stop(context: Shared, id: Id, query: QueryResult<WaitQuery>) -> Answer {
    ask(context, "apps.stop", id, query).await
}

pub async fn restart(context: Shared, id: Id, query: QueryResult<WaitQuery>) -> Answer {
    ask(context, "apps.restart", id, query).await
}

async fn ask(context: Shared, method: &str, id: Id, query: QueryResult<WaitQuery>) -> Answer {
    let wait = read(query)?.wait.map(Value::from);
    call(&context.gateway, method, of_app(id, "wait", wait)?).await
}

pub async fn metrics(context: Shared) -> Result<impl IntoResponse, HttpProblem> {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], context.gateway.metrics().await?))
}

pub async fn healthz() -> Json<Value> {
    Json(json!({ "ok": true }))
}

pub async fn readyz(context: Shared) -> Answer {
    match tokio::time::timeout(READY_WITHIN, context.gateway.ping()).await {
        Ok(true) => Ok(Json(json!({ "ok": true }))),
        Ok(false) | Err(_) => {
            let description = "the engine does not answer";
            Err(HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, FaultCode::Timeout, description))
        }
    }
}
