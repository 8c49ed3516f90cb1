//! Requests that are refused, each with a problem that says what is wrong.

use crate::http::setup::{Api, problem};
use serde_json::json;
use std::io::Write;

/// X9: a wrong parameter is refused by its name, and nothing happens.
#[test]
fn a_wrong_parameter_is_named() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    for (path, field) in [
        ("/units?limit=0", "limit"),
        ("/units?limit=1001", "limit"),
        ("/units?limit=1&limit=2", "limit"),
        ("/units?colour=red", "colour"),
        ("/units?follow=true", "follow"),
        ("/units/web?depth=deep", "depth"),
        ("/units/web?unit=bot", "unit"),
        ("/units/web/await", "until"),
        ("/runs?newestEnded=many", "newestEnded"),
        ("/runs?liveOnly=perhaps", "liveOnly"),
        ("/events?afterSeq=x", "afterSeq"),
        ("/events?cursor=x", "afterSeq"),
        ("/events?follow=perhaps", "follow"),
        ("/events?follow=true&afterSeq=x", "afterSeq"),
        ("/apps?state=tired", "state"),
        ("/logs/web?limit=-1", "limit"),
    ] {
        let refused = problem(&api.get(path));
        assert_eq!(refused, (400, "INVALID_REQUEST".to_owned(), Some(field.to_owned())), "{path}");
    }
    for (path, body, field) in [
        ("/units/web/stop", json!({ "colour": "red" }), Some("colour")),
        ("/units/web/stop", json!({ "units": ["bot"] }), Some("units")),
        ("/units/web/stop?now=true", json!({}), Some("now")),
        ("/units/web/stop", json!([]), None),
        ("/units/web/stop", json!(7), None),
        ("/units/web/wake", json!({}), Some("why")),
        ("/units/web/wake", json!({ "why": 7 }), Some("why")),
        ("/mail/settle", json!({ "ids": "a", "isRead": true }), Some("ids")),
        ("/mail/settle", json!({ "ids": [], "isRead": "yes" }), Some("isRead")),
        ("/runs", json!({ "argv": ["true"] }), Some("cwd")),
        ("/apps/bot/stop", json!({ "wait": "no" }), Some("wait")),
    ] {
        let refused = problem(&api.post(path, &body));
        let field = field.map(str::to_owned);
        assert_eq!(refused, (400, "INVALID_REQUEST".to_owned(), field), "{path} {body}");
    }
    let half = api.web.ask("POST", "/api/v1/units/web/stop", "{\"units\"");
    assert_eq!(problem(&half).0, 400);
    for unit in ["web", "bot"] {
        assert_eq!(api.web.project.state(unit), "ready");
    }
}

/// X9: what does not exist is 404, and another method is 405.
#[test]
fn what_does_not_exist_is_not_found() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    for path in [
        "/units/none",
        "/runs/none",
        "/runs/none/wait",
        "/runs/none/screen",
        "/logs/none",
        "/agents/none",
        "/apps/none",
        "/mail/messages/none",
        "/events?run=none",
        "/events?run=none&follow=true",
    ] {
        assert_eq!(problem(&api.get(path)), (404, "NOT_FOUND".to_owned(), None), "{path}");
    }
    for path in [
        "/units/none/stop",
        "/units/none/start",
        "/units/none/restart",
        "/runs/none/cancel",
        "/apps/none/start",
    ] {
        assert_eq!(problem(&api.post(path, &json!({}))).0, 404, "{path}");
    }
    assert_eq!(problem(&api.get("/nothing")).0, 404);
    assert_eq!(problem(&api.get("/units/%ff")).0, 400);
    for (method, path) in [
        ("GET", "/units/web/stop"),
        ("GET", "/daemon/shutdown"),
        ("GET", "/mail/settle"),
        ("POST", "/units/web"),
        ("POST", "/events"),
        ("DELETE", "/units"),
        ("PUT", "/units/web"),
    ] {
        let answer = api.web.ask(method, &format!("/api/v1{path}"), "{}");
        assert_eq!(problem(&answer).0, 405, "{method} {path}");
    }
    assert_eq!(api.web.project.state("web"), "ready");
}

/// X9: the same guard as on the other routes: token, Host, Origin, and the size of a body.
#[test]
fn every_route_checks_token_host_origin_and_body_size() {
    ostler_e2e::needs!("python3");
    let api = Api::new();
    let host = api.web.address.clone();
    let bearer = format!("Bearer {}", api.web.token);
    let paths = api.document["paths"].as_object().expect("paths");
    for (path, methods) in paths.iter().filter(|(path, _)| path.starts_with("/api/v1")) {
        for method in methods.as_object().expect("methods").keys() {
            let send = |headers: &[(&str, &str)]| {
                problem(&api.web.send(&method.to_uppercase(), path, headers, "{}")).0
            };
            assert_eq!(send(&[("Host", &host)]), 401, "{method} {path}");
            let wrong = [("Host", host.as_str()), ("Authorization", "Bearer ostler_0")];
            assert_eq!(send(&wrong), 401, "{method} {path}");
            let foreign = [("Host", "evil.example"), ("Authorization", bearer.as_str())];
            assert_eq!(send(&foreign), 403, "{method} {path}");
            let origin = [
                ("Host", host.as_str()),
                ("Origin", "http://evil.example"),
                ("Authorization", bearer.as_str()),
            ];
            assert_eq!(send(&origin), 403, "{method} {path}");
        }
    }
    let head = format!(
        "POST /api/v1/mail/messages HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nConnection: close\r\n"
    );
    let announced = format!("{head}Content-Length: 999999999999\r\n\r\n");
    assert_eq!(problem(&api.web.raw(announced.as_bytes())).0, 413);
    let mut stream = api.web.connect();
    write!(stream, "{head}Transfer-Encoding: chunked\r\n\r\n").expect("sent");
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let sent = (0..1000).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(sent < 1000, "all of it was taken");
    assert_eq!(api.web.project.state("web"), "ready");
}
