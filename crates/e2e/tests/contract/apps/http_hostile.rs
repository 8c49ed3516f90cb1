//! HTTP clients without a token, and clients that try to keep others out.

use crate::apps::http_setup::Web;
use ostler_e2e::{eventually, eventually_within};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// Without the current token only /healthz is answered.
#[test]
fn http_asks_for_the_token() {
    ostler_e2e::needs!("python3");
    let mut web = Web::new();
    let host = web.address.clone();
    let with = |web: &Web, value: &str| {
        web.send("GET", "/api/apps", &[("Host", &host), ("Authorization", value)], "")
    };
    let paths = ["/api/apps", "/api/apps/bot", "/api/events", "/metrics", "/openapi.json", "/none"];
    for path in paths {
        let answer = web.send("GET", path, &[("Host", &host)], "");
        assert_eq!(answer.refusal(), (401, "UNAUTHORIZED".to_owned()), "{path}");
        assert!(answer.head.contains("www-authenticate: bearer"), "{}", answer.head);
    }
    for path in ["/rpc", "/api/apps/bot/stop"] {
        assert_eq!(web.send("POST", path, &[("Host", &host)], "{}").status, 401, "{path}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(web.send("GET", path, &[("Host", &host)], "").status, 200, "{path}");
    }
    let token = web.token.clone();
    let wrong = [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {token}"),
        format!("Bearer {}", &token[..token.len() - 1]),
        format!("Bearer {token}0"),
        format!("Bearer {}", token.to_uppercase()),
    ];
    for value in &wrong {
        assert_eq!(with(&web, value).refusal().0, 401, "{value:?}");
    }
    let bearer = format!("Bearer {token}");
    let twice =
        [("Host", host.as_str()), ("Authorization", "Bearer x"), ("Authorization", &bearer)];
    assert_eq!(web.send("GET", "/api/apps", &twice, "").status, 401);
    assert_eq!(with(&web, &bearer).status, 200);

    web.token = web.project.home.ostler(&["token"]).ok().text().trim().to_owned();
    assert_eq!(with(&web, &bearer).refusal().0, 401, "the previous token");
    assert_eq!(web.get("/api/apps").status, 200);
    assert_eq!(web.project.home.ostler(&["token", "--revoke"]).ok().text().trim(), "revoked");
    let refused = web.get("/api/apps");
    assert_eq!(refused.refusal().0, 401);
    assert!(refused.body.contains("ostler token"), "{}", refused.body);
    assert_eq!(web.project.state("bot"), "ready");
}

/// The token is not stored in the home, and its digest is readable by the user only.
#[test]
fn http_token_is_not_kept() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let secret = web.token.strip_prefix("ostler_").expect("its prefix");
    assert_eq!(secret.len(), 64);
    for name in ["http-token", "http.json"] {
        let file = web.project.home.file(name);
        let mode = std::fs::metadata(&file).expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        assert!(!std::fs::read_to_string(&file).expect(name).contains(secret), "{name}");
    }
}

/// DNS rebinding: a request with a foreign host name is refused, even with the token.
#[test]
fn http_refuses_foreign_host_names() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let port = web.address.rsplit(':').next().expect("a port").to_owned();
    let bearer = format!("Bearer {}", web.token);
    let ask = |headers: &[(&str, &str)]| {
        let all = [headers, &[("Authorization", bearer.as_str())]].concat();
        web.send("GET", "/api/apps", &all, "").status
    };
    for host in ["localhost", "127.0.0.1", "[::1]", "127.1.2.3"] {
        assert_eq!(ask(&[("Host", &format!("{host}:{port}"))]), 200, "{host}");
    }
    for host in
        ["evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "127.0.0.1@evil.example"]
    {
        assert_eq!(ask(&[("Host", &format!("{host}:{port}"))]), 403, "{host}");
    }
    assert_eq!(ask(&[("Host", "127.0.0.1:1")]), 403, "another port");
    assert_eq!(ask(&[("Host", "127.0.0.1")]), 403, "no port");
    assert_ne!(ask(&[]), 200, "no host");
    assert_ne!(ask(&[("Host", &web.address), ("Host", "evil.example")]), 200, "two hosts");
    for origin in ["http://evil.example", "null", "http://localhost.evil.example", "file://"] {
        assert_eq!(ask(&[("Host", &web.address), ("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(ask(&[("Host", &web.address), ("Origin", "http://localhost:3000")]), 200);
    let text = format!(
        "GET http://evil.example/api/apps HTTP/1.1\r\nHost: {}\r\nAuthorization: {bearer}\r\nConnection: close\r\n\r\n",
        web.address
    );
    assert_eq!(web.raw(text.as_bytes()).status, 403, "the whole address in the first line");
    assert_eq!(web.send("GET", "/healthz", &[("Host", "evil.example")], "").status, 403);
}

/// A body of more than 1 MiB is not read, with or without a length; nor are endless headers.
#[test]
fn http_does_not_read_without_end() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n",
        web.address, web.token
    );
    let description = format!("{head}Content-Length: 999999999999\r\n\r\n");
    assert_eq!(web.raw(description.as_bytes()).status, 413);
    let mut stream = web.connect();
    write!(stream, "{head}Transfer-Encoding: chunked\r\n\r\n").expect("sent");
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let sent = (0..1000).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(sent < 1000, "all of it was accepted");
    let mut stream = web.connect();
    let _ = write!(stream, "GET / HTTP/1.1\r\n");
    let line = format!("x: {}\r\n", "y".repeat(1000));
    let sent = (0..100_000).take_while(|_| stream.write_all(line.as_bytes()).is_ok()).count();
    assert!(sent < 100_000, "all of it was accepted");
    for garbage in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ] {
        assert!(web.raw(garbage).status != 200);
    }
    assert_eq!(web.get("/api/apps").status, 200);
}

/// A slow or silent client is disconnected; many of them do not keep others out.
#[test]
fn http_slow_clients_do_not_keep_others_out() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let began = Instant::now();
    let mut slow = web.connect();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").expect("sent");
    let mut half = web.connect();
    write!(half, "POST /rpc HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 99\r\n\r\n{{", web.address, web.token).expect("sent");
    assert_eq!(web.get("/api/apps").status, 200, "beside them");
    let app_limits: Vec<TcpStream> = (0..140).map(|_| web.connect()).collect();
    assert_eq!(
        web.get("/healthz").status,
        200,
        "the oldest client without a token is disconnected"
    );
    let mut text = String::new();
    let _ = half.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 408"), "{text:?}");
    let _ = slow.write_all(b"1");
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    eventually_within(Duration::from_secs(25), "connections are accepted again", || {
        (web.get("/healthz").status == 200).then_some(())
    });
    drop(app_limits);
    assert_eq!(web.project.state("bot"), "ready");
}

/// A follower that never reads costs bounded memory, and the others get their events.
#[test]
fn http_a_follower_that_never_reads_does_not_delay_others() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let deaf: Vec<(u16, TcpStream)> = (0..32).map(|_| web.follow()).collect();
    assert!(deaf.iter().all(|(status, _)| *status == 200));
    assert_eq!(web.follow().0, 503, "every follower slot is in use");
    assert_eq!(web.ask("POST", "/api/apps/bot/restart", "").status, 200);
    assert_eq!(web.get("/api/apps").status, 200);
    drop(deaf);
    eventually("a follower slot is free", || (web.follow().0 == 200).then_some(()));
}
