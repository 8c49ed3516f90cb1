//! Checks requests. A web page in a browser on this machine can send requests to this server, and with DNS rebinding
//! it could read the answers. So the server answers only to its own host names.

use crate::http_error::HttpProblem;
use crate::routes::RequestContext;
use crate::slots::TokenShown;
use crate::token::{Verdict, digest};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, HOST, ORIGIN, X_CONTENT_TYPE_OPTIONS};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ostler_model::app_wire::FaultCode;
use ostler_ops::Route;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The host names of this server.
pub struct Names {
    address: SocketAddr,
    hosts: Vec<String>,
}

impl Names {
    pub fn new(address: SocketAddr, hosts: Vec<String>) -> Self {
        Self { address, hosts }
    }

    /// The port must be the server's own, or be missing.
    fn are_ours(&self, authority: &str) -> bool {
        let Some((host, port)) = split(authority) else { return false };
        port.unwrap_or(80) == self.address.port() && self.is_ours(&host)
    }

    /// Whether a page was served by this machine, on any port.
    fn is_own_origin(&self, origin: &str) -> bool {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.and_then(split).is_some_and(|(host, _)| self.is_ours(&host))
    }

    fn is_ours(&self, host: &str) -> bool {
        match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip == self.address.ip(),
            Err(_) => host == "localhost" || self.hosts.iter().any(|name| name == host),
        }
    }
}

/// Splits host and port. User information and paths are not allowed.
fn split(authority: &str) -> Option<(String, Option<u16>)> {
    if authority.contains(['@', '/']) {
        return None;
    }
    let read: Authority = authority.parse().ok()?;
    let port = match read.port() {
        Some(port) => Some(port.as_str().parse().ok()?),
        None => None,
    };
    Some((read.host().to_ascii_lowercase(), port))
}

pub async fn guard(
    State(context): State<Arc<RequestContext>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_v1 = request.uri().path().starts_with(Route::ROOT);
    let mut response = match admit(&context, &mut request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    if is_v1 && let Some(problem) = response.extensions_mut().remove::<HttpProblem>() {
        problem.describe(&mut response);
    }
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn admit(context: &RequestContext, request: &mut Request) -> Result<(), HttpProblem> {
    is_for_us(&context.names, request.uri(), request.headers())?;
    if context.open.contains(&request.uri().path()) {
        return Ok(());
    }
    let refused = |message: &str| {
        Err(HttpProblem::new(StatusCode::UNAUTHORIZED, FaultCode::Unauthorized, message))
    };
    let given = only(request.headers(), &AUTHORIZATION).ok().flatten().and_then(bearer);
    let Some(given) = given.map(digest) else {
        return refused(if context.tokens.is_made() {
            "send a token as `Authorization: Bearer TOKEN`; create one with `ostler token`"
        } else {
            NONE_MADE
        });
    };
    match context.tokens.judge(given) {
        Verdict::Right => {
            if let Some(proven) = request.extensions().get::<TokenShown>() {
                proven.set();
            }
            request.extensions_mut().insert(given);
            Ok(())
        }
        Verdict::NoneMade => refused(NONE_MADE),
        Verdict::Wrong => {
            refused("the token is invalid or revoked; create a new one with `ostler token`")
        }
    }
}

const NONE_MADE: &str = "no token exists; create one with `ostler token`";

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn is_for_us(names: &Names, uri: &Uri, headers: &HeaderMap) -> Result<(), HttpProblem> {
    let refused = |message: String| {
        Err(HttpProblem::new(StatusCode::FORBIDDEN, FaultCode::Forbidden, message))
    };
    let host = match only(headers, &HOST) {
        Ok(Some(host)) if names.are_ours(host) => host,
        Ok(Some(host)) => {
            return refused(format!("{host:?} is not this server; use {}", names.address));
        }
        Ok(None) | Err(()) => {
            return refused("the request must have exactly one Host header".to_owned());
        }
    };
    if let Some(named) = uri.authority()
        && !names.are_ours(named.as_str())
    {
        return refused(format!(
            "{named:?} is not this server; use {host}",
            named = named.as_str()
        ));
    }
    match only(headers, &ORIGIN) {
        Ok(None) => Ok(()),
        Ok(Some(origin)) if names.is_own_origin(origin) => Ok(()),
        Ok(Some(origin)) => {
            refused(format!("pages of {origin:?} may not send requests to this server"))
        }
        Err(()) => refused("the request may have at most one Origin header".to_owned()),
    }
}

/// The value of a header that occurs at most once and is text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_answered() {
        let names = Names::new("127.0.0.1:7420".parse().expect("an address"), Vec::new());
        for ours in ["127.0.0.1:7420", "localhost:7420", "LocalHost:7420", "[::1]:7420"] {
            assert!(names.are_ours(ours), "{ours}");
        }
        for other in [
            "",
            ":7420",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:7421",
            "evil.example:7420",
            "localhost.evil.example:7420",
            "127.0.0.1.evil.example:7420",
            "a@127.0.0.1:7420",
            "127.0.0.1:7420/x",
            "10.0.0.1:7420",
            "localhost:07420x",
            "[::1:7420",
            "0.0.0.0:7420",
        ] {
            assert!(!names.are_ours(other), "{other}");
        }
        for ours in ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:1"] {
            assert!(names.is_own_origin(ours), "{ours}");
        }
        for other in ["null", "http://evil.example", "file://", "http://localhost@evil.example", ""]
        {
            assert!(!names.is_own_origin(other), "{other}");
        }
    }

    #[test]
    fn told_names_are_ours_too() {
        let address = "0.0.0.0:80".parse().expect("an address");
        let names = Names::new(address, vec!["box.example".to_owned()]);
        assert!(names.are_ours("box.example"));
        assert!(names.are_ours("Box.Example:80"));
        assert!(!names.are_ours("box.example:81"));
        assert!(!names.are_ours("other.example"));
    }
}
