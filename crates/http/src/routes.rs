//! The routes for apps as OpenClawOS has them, and the router of all routes.

use crate::guard::{Names, guard};
use crate::http_error::HttpProblem;
use crate::token::Tokens;
use crate::{events, openapi, rest, rpc, v1};
use axum::Router;
use axum::body::Body;
use axum::http::uri::PathAndQuery;
use axum::http::{Request, StatusCode, Uri};
use axum::routing::{MethodRouter, get, post};
use ostler_api::Gateway;
use ostler_model::app_wire::FaultCode;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// What every request needs.
pub struct RequestContext {
    pub gateway: Gateway,
    pub tokens: Tokens,
    pub names: Names,
    pub followers: Arc<Semaphore>,
    /// Paths that need no token.
    pub open: Vec<&'static str>,
    pub closed: watch::Receiver<bool>,
}

pub type Shared = axum::extract::State<Arc<RequestContext>>;

/// An operation and its documentation.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "only the test that writes the OpenAPI document reads all of it")
)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub id: &'static str,
    pub summary: &'static str,
    /// Names in `components.parameters`.
    pub parameters: &'static [&'static str],
    /// Content types and names in `components.schemas`, for the request and the answer.
    pub takes: Option<&'static str>,
    pub gives: (&'static str, &'static str),
    /// Statuses in addition to 200 and those of every operation.
    pub also: &'static [u16],
    /// Needs no token. Such a route only reports that the process lives, for monitoring.
    pub is_open: bool,
    handler: fn() -> MethodRouter<Arc<RequestContext>>,
}

const JSON: &str = "application/json";

const fn app(
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    gives: &'static str,
    handler: fn() -> MethodRouter<Arc<RequestContext>>,
) -> Route {
    Route {
        method,
        path,
        id,
        summary,
        parameters: &["id"],
        takes: None,
        gives: (JSON, gives),
        also: &[400, 404],
        is_open: false,
        handler,
    }
}

pub fn routes() -> Vec<Route> {
    let text = ("text/plain; version=0.0.4; charset=utf-8", "Text");
    let asked = |path, id, summary, handler| Route {
        parameters: &["id", "wait"],
        also: &[400, 404, 409],
        ..app("post", path, id, summary, "Accepted", handler)
    };
    let plain = |path, id, summary, gives, handler| Route {
        parameters: &[],
        also: &[],
        ..app("get", path, id, summary, gives, handler)
    };
    vec![
        Route {
            parameters: &["state", "search"],
            also: &[400],
            ..plain("/api/apps", "listApps", "Every app", "Apps", || get(rest::list))
        },
        app("get", "/api/apps/{id}", "getApp", "All information about an app", "AppInfo", || {
            get(rest::info)
        }),
        Route {
            parameters: &["id", "lines"],
            ..app(
                "get",
                "/api/apps/{id}/logs",
                "getAppLogs",
                "The last output lines of an app",
                "AppLog",
                || get(rest::logs),
            )
        },
        asked("/api/apps/{id}/start", "startApp", "Start an app; answers when it is ready", || {
            post(rest::start)
        }),
        asked("/api/apps/{id}/stop", "stopApp", "Stop an app; answers when it has stopped", || {
            post(rest::stop)
        }),
        asked(
            "/api/apps/{id}/restart",
            "restartApp",
            "Restart an app; answers when it is ready again",
            || post(rest::restart),
        ),
        Route {
            gives: ("text/event-stream", "Text"),
            also: &[503],
            ..plain(
                "/api/events",
                "followApps",
                "Every app, then every change: events `app` with an AppStatus; `lagged` \
                 if events were missed",
                "Text",
                || get(events::follow),
            )
        },
        Route {
            method: "post",
            takes: Some("RpcCall"),
            also: &[204, 408, 413],
            ..plain(
                "/rpc",
                "callRpc",
                "JSON-RPC 2.0, also in batches: apps.list info logs start stop restart",
                "RpcAnswer",
                || post(rpc::call),
            )
        },
        Route {
            gives: text,
            ..plain(
                "/metrics",
                "getMetrics",
                "Counters and apps in Prometheus format",
                "Text",
                || get(rest::metrics),
            )
        },
        Route {
            is_open: true,
            ..plain("/healthz", "isAlive", "The process lives", "Accepted", || get(rest::healthz))
        },
        Route {
            is_open: true,
            also: &[503],
            ..plain("/readyz", "isReady", "The engine answers", "Accepted", || get(rest::readyz))
        },
        plain("/openapi.json", "getDocument", "This document", "Any", || get(openapi::give)),
    ]
}

pub fn open_paths() -> Vec<&'static str> {
    routes().iter().filter(|route| route.is_open).map(|route| route.path).collect()
}

pub fn router(context: Arc<RequestContext>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        router = router.route(route.path, (route.handler)());
    }
    for (path, methods) in v1::routes() {
        router = router.route(&path, methods);
    }
    let nothing = async |uri: Uri| {
        let description =
            format!("there is nothing at {}; GET /openapi.json lists the paths", uri.path());
        HttpProblem::new(StatusCode::NOT_FOUND, FaultCode::NotFound, description)
    };
    let otherwise = async || {
        let description = "this method is not allowed; GET /openapi.json lists the methods";
        HttpProblem::new(StatusCode::METHOD_NOT_ALLOWED, FaultCode::InvalidRequest, description)
    };
    router
        .fallback(nothing)
        .method_not_allowed_fallback(otherwise)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&context), guard))
        .with_state(context)
}

const APPS: [&str; 2] = ["/api/apps/", "/api/v1/apps/"];

/// Encodes the slash of `@scope/name`, so that the router sees one path segment.
pub fn with_whole_id(mut request: Request<Body>) -> Request<Body> {
    if let Some(uri) = whole_id(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

fn whole_id(uri: &Uri) -> Option<Uri> {
    let (apps, rest) = APPS.iter().find_map(|apps| Some((apps, uri.path().strip_prefix(apps)?)))?;
    let (scope, name) = rest.split_once('/')?;
    let is_scope = (scope.starts_with('@') || scope.starts_with("%40"))
        && !scope.to_ascii_lowercase().contains("%2f");
    if !is_scope {
        return None;
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let whole: PathAndQuery = format!("{apps}{scope}%2F{name}{query}").parse().ok()?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(whole);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_and_a_name_are_one_id() {
        for (given, whole) in [
            ("/api/apps/@a/b", Some("/api/apps/@a%2Fb")),
            ("/api/apps/%40a/b/logs?lines=3", Some("/api/apps/%40a%2Fb/logs?lines=3")),
            ("/api/apps/@a/logs/logs", Some("/api/apps/@a%2Flogs/logs")),
            ("/api/v1/apps/@a/b/start", Some("/api/v1/apps/@a%2Fb/start")),
            ("/api/apps/@a%2fb/logs", None),
            ("/api/apps/a/logs", None),
            ("/api/apps", None),
            ("/rpc", None),
        ] {
            let uri: Uri = given.parse().expect("a path");
            let joined = whole_id(&uri).map(|uri| uri.to_string());
            assert_eq!(joined.as_deref(), whole, "{given}");
        }
    }
}
