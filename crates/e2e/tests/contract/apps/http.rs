//! Apps over HTTP with a real app. A9, A10.

use crate::apps::http_setup::{ID, Web, listening};
use crate::units::setup::Project;
use ostler_e2e::eventually;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};

/// A9, A10: list, info and logs, with each spelling of an id with a scope.
#[test]
fn http_rest_lists_apps() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let list = web.get("/api/apps").json();
    let app = &list["apps"][0];
    assert_eq!((&app["packageId"], &app["state"]), (&json!(ID), &json!("ready")), "{list}");
    for field in ["pid", "startedAt", "restartCount", "lastHeartbeat", "lastError"] {
        assert!(app.get(field).is_some(), "no {field} in {app}");
    }
    assert!(app["resourceUsage"]["memoryRss"].as_u64().is_some_and(|bytes| bytes > 0), "{app}");
    assert!(app["resourceUsage"]["cpuPercent"].is_number(), "{app}");
    assert_eq!(web.get("/api/apps?state=stopped").json()["apps"], json!([]));
    assert_eq!(web.get("/api/apps?search=e2e").json()["apps"][0]["packageId"], ID);
    for id in ["@e2e/bot", "@e2e%2Fbot", "%40e2e%2fbot", "%40e2e/bot", "bot"] {
        let info = web.get(&format!("/api/apps/{id}")).json();
        assert_eq!((&info["packageId"], &info["unit"]), (&json!(ID), &json!("bot")), "{id}");
        assert_eq!(info["manifest"]["name"], "Bot");
        let log = web.get(&format!("/api/apps/{id}/logs")).json();
        let has = |stream: &str, text: &str| {
            let line = json!({ "stream": stream, "text": text });
            log["lines"].as_array().is_some_and(|lines| lines.contains(&line))
        };
        assert!(has("stdout", "line 4") && has("stderr", "a complaint"), "{id}: {log}");
    }
    let log = web.get("/api/apps/bot/logs?lines=2").json();
    assert_eq!(log["lines"].as_array().map(Vec::len), Some(2), "{log}");
}

/// A10: a wrong request is an error with a fitting status.
#[test]
fn http_refusals_say_what_would_be_right() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    for (method, path, status, code) in [
        ("GET", "/api/apps/@e2e/none", 404, "NOT_FOUND"),
        ("GET", "/api/apps/none/logs", 404, "NOT_FOUND"),
        ("POST", "/api/apps/none/start", 404, "NOT_FOUND"),
        ("GET", "/nothing", 404, "NOT_FOUND"),
        ("GET", "/api/apps/bot/logs?lines=many", 400, "INVALID_PARAMS"),
        ("GET", "/api/apps?colour=red", 400, "INVALID_PARAMS"),
        ("GET", "/api/apps?state=tired", 400, "INVALID_PARAMS"),
        ("GET", "/api/apps/%ff", 400, "INVALID_PARAMS"),
        ("POST", "/api/apps/bot/stop?wait=perhaps", 400, "INVALID_PARAMS"),
        ("DELETE", "/api/apps/bot", 405, "INVALID_REQUEST"),
        ("GET", "/rpc", 405, "INVALID_REQUEST"),
    ] {
        let refusal = web.ask(method, path, "").refusal();
        assert_eq!(refusal, (status, code.to_owned()), "{method} {path}");
    }
    assert_eq!(web.project.state("bot"), "ready");
}

/// A10: stop, start and restart are done when they are answered; without waiting they are done soon.
#[test]
fn http_stops_starts_and_restarts() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let first = web.project.process("bot");
    let done = json!({ "ok": true });
    assert_eq!(web.ask("POST", "/api/apps/@e2e/bot/stop", "").json(), done);
    assert_eq!(web.project.state("bot"), "stopped");
    first.wait_gone();
    assert_eq!(web.ask("POST", "/api/apps/@e2e%2Fbot/start", "").json(), done);
    let second = web.project.process("bot");
    assert_ne!(first.pid, second.pid);
    assert_eq!(web.ask("POST", "/api/apps/bot/restart", "").json(), done);
    second.wait_gone();
    assert_eq!(web.project.state("bot"), "ready");
    assert_eq!(web.ask("POST", "/api/apps/bot/stop?wait=false", "").json(), done);
    web.project.until_state("bot", "stopped");

    std::fs::write(web.project.path("main.py"), "raise SystemExit(0)").expect("written");
    let refusal = web.ask("POST", "/api/apps/bot/start", "");
    assert_eq!(refusal.refusal(), (409, "CONFLICT".to_owned()), "{}", refusal.body);
}

/// A10: JSON-RPC 2.0, one by one, in batches, and without an answer.
#[test]
fn http_speaks_json_rpc() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let call = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let info = web.rpc(&call(json!(7), "apps.info", json!({ "packageId": ID })));
    assert_eq!((&info["id"], &info["result"]["state"]), (&json!(7), &json!("ready")), "{info}");
    for (call, number, code) in [
        (call(json!("a"), "apps.dance", json!({})), -32601, json!("METHOD_NOT_FOUND")),
        (call(json!("a"), "apps.subscribe", json!({})), -32601, json!("METHOD_NOT_FOUND")),
        (call(json!("a"), "apps.info", json!({})), -32602, json!("INVALID_PARAMS")),
        (call(json!("a"), "apps.info", json!([ID])), -32602, json!("INVALID_PARAMS")),
        (call(json!("a"), "apps.info", json!({ "packageId": "x" })), -32004, json!("NOT_FOUND")),
        (json!({ "id": "a", "method": "apps.list" }), -32600, Value::Null),
        (json!({ "jsonrpc": "2.0", "id": "a" }), -32600, Value::Null),
    ] {
        let answer = web.rpc(&call);
        let error = &answer["error"];
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(number), &code), "{answer}");
        assert_eq!(answer["id"], "a");
    }
    for (call, number) in [(json!([]), -32600), (json!(5), -32600), (json!(vec![1; 101]), -32600)] {
        assert_eq!(web.rpc(&call)["error"]["code"], number, "{call}");
    }
    assert_eq!(web.ask("POST", "/rpc", "{\"jsonrpc\"").json()["error"]["code"], -32700);
    assert_eq!(web.ask("POST", "/rpc", &"[".repeat(100_000)).json()["error"]["code"], -32700);

    let silent = json!({ "jsonrpc": "2.0", "method": "apps.stop", "params": { "packageId": ID } });
    let batch = json!([
        call(json!(1), "apps.list", json!({})),
        silent,
        5,
        call(json!(2), "apps.list", Value::Null)
    ]);
    let answers = web.rpc(&batch);
    let ids: Vec<&Value> =
        answers.as_array().expect("a list").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(1), &Value::Null, &json!(2)], "{answers}");
    assert_eq!(answers[2]["result"]["apps"][0]["state"], "stopped", "in their order");
    let nothing = web.ask("POST", "/rpc", &json!([silent]).to_string());
    assert_eq!((nothing.status, nothing.body.as_str()), (204, ""));
}

/// A10: a follower gets the state, then changes, and nothing more once the token is revoked.
#[test]
fn http_events_report_changes() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let mut stream = web.connect();
    let head = format!("Host: {}\r\nAuthorization: Bearer {}", web.address, web.token);
    write!(stream, "GET /api/events HTTP/1.1\r\n{head}\r\n\r\n").expect("sent");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut next = || {
        let line = lines.by_ref().find(|line| line.starts_with("data: "))?;
        Some(serde_json::from_str::<Value>(&line["data: ".len()..]).expect("JSON"))
    };
    let now = next().expect("the state");
    assert_eq!((&now["packageId"], &now["state"]), (&json!(ID), &json!("ready")));
    web.ask("POST", "/api/apps/bot/restart", "").json();
    let mut states = Vec::new();
    while states.last().is_none_or(|state| state != "ready") {
        states.push(next().expect("a change")["state"].clone());
    }
    assert!(states.contains(&json!("starting")), "{states:?}");
    web.project.home.ostler(&["token", "--revoke"]).ok();
    web.project.call(&["stop", "bot"]).ok();
    assert_eq!(next(), None, "a client without a token gets nothing");
}

/// A10: the Prometheus exposition is well formed, has no series twice, and contains the app.
#[test]
fn http_metrics_can_be_read() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let answer = web.get("/metrics");
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    let mut series = std::collections::HashMap::new();
    for line in answer.body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(series.insert(name.to_owned(), value).is_none(), "twice: {line}");
        let plain = name.split('{').next().expect("a name");
        assert!(answer.body.contains(&format!("# TYPE {plain} ")), "no type: {line}");
    }
    let of_app = |name: &str| series[&format!("{name}{{app=\"{ID}\",unit=\"bot\"}}")];
    assert_eq!((of_app("ostler_app_up"), of_app("ostler_app_restarts")), (1.0, 0.0));
    assert!(of_app("ostler_app_memory_bytes") > 0.0 && of_app("ostler_app_cpu_percent") >= 0.0);
    assert_eq!(series["ostler_run_live"], 1.0);
}

/// A10: the OpenAPI document lists exactly the routes that exist. (`http/routes.rs` has those below `/api/v1`.)
#[test]
fn the_openapi_document_lists_the_existing_routes() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let document = web.get("/openapi.json").json();
    let in_docs = include_str!("../../../../../docs/openapi.json");
    assert_eq!(document, serde_json::from_str::<Value>(in_docs).expect("JSON"));
    let paths = document["paths"].as_object().expect("paths");
    for (path, operations) in paths.iter().filter(|(path, _)| !path.starts_with("/api/v1")) {
        let path = path.replace("{id}", "none");
        for method in ["get", "post", "put", "delete", "patch"] {
            if path == "/api/events" && method == "get" {
                continue;
            }
            let status = web.ask(&method.to_uppercase(), &path, "").status;
            assert_eq!(
                status != 405,
                operations.get(method).is_some(),
                "{method} {path}: {status}"
            );
        }
    }
}

/// Off by default: nothing listens, and there is no thread for it.
#[test]
fn http_is_off_by_default() {
    ostler_e2e::needs!("python3");
    let project = Project::of(&[("calm", "command = [\"sleep\", \"971\"]")]);
    project.up().ok();
    let pid = project.home.supervisor_pid();
    let threads: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/task"))
        .expect("the daemon is running")
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .collect();
    assert!(threads.iter().any(|name| name.trim() == "control-socket"), "{threads:?}");
    assert!(!threads.iter().any(|name| name.trim() == "http"), "{threads:?}");
    assert_eq!(tcp_sockets(pid), 0);
    let status = project.home.ostler(&["status", "--json"]).json();
    assert_eq!(status["http"], Value::Null);
    assert!(!project.home.file("http.json").exists());
}

fn tcp_sockets(pid: i32) -> usize {
    let tables = ["tcp", "tcp6"].map(|table| {
        std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default()
    });
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("ours");
    descriptors
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .filter(|inode| tables.iter().any(|table| table.contains(&format!(" {inode} "))))
        .count()
}

/// A wrong address is refused with the remedy, and so is one that other machines can reach.
#[test]
fn http_listens_only_on_loopback() {
    ostler_e2e::needs!("python3");
    for (address, description) in [("0.0.0.0:0", "127.0.0.1:0"), ("here", "127.0.0.1:7420")] {
        let home = ostler_e2e::Home::with(&[crate::daemon::setup::QUICK, ("OSTLER_HTTP", address)]);
        let output = home.ostler(&["start"]);
        assert_ne!(output.code, 0, "{output:?}");
        let complaint = output.stderr;
        assert!(
            complaint.contains("OSTLER_HTTP") && complaint.contains(description),
            "{complaint}"
        );
    }
}

/// After SIGKILL of the supervisor, and after an upgrade, HTTP works again: same port, same token, same app.
#[test]
fn http_listens_on_the_same_port_after_a_crash() {
    ostler_e2e::needs!("python3");
    let web = Web::new();
    let app = web.project.process("bot");
    let back = |what: &str| {
        let address = eventually(what, || {
            Some(listening(&web.project))
                .filter(|_| std::net::TcpStream::connect(&web.address).is_ok())
        });
        assert_eq!(address, web.address, "{what}");
        assert_eq!(web.get("/api/apps").json()["apps"][0]["pid"], app.pid, "{what}");
    };
    crate::daemon::setup::replace_supervisor(&web.project.home);
    back("after SIGKILL");
    web.project.home.ostler(&["reload", "--self"]).ok();
    back("after an upgrade");
}

/// A port in use is reported and tried again; everything else works meanwhile.
#[test]
fn http_waits_for_a_port_that_is_taken() {
    ostler_e2e::needs!("python3");
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = stranger.local_addr().expect("an address").to_string();
    let project = Project::with(&[crate::daemon::setup::QUICK, ("OSTLER_HTTP", &address)]);
    project.declare(&[("calm", "command = [\"sleep\", \"972\"]")]);
    project.up().ok();
    eventually("the error", || {
        let status = project.home.ostler(&["status", "--json"]).json();
        status["httpError"]
            .as_str()
            .filter(|description| description.contains(&address))
            .map(str::to_owned)
    });
    drop(stranger);
    assert_eq!(listening(&project), address);
}
