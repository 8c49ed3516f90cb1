//! A client and a daemon of different versions understand each other.

use ostler_e2e::{ControlSocket, Home};
use ostler_ops::wire::Response;
use ostler_ops::{Operation, each_operation};
use serde_json::{Value, json};
use std::path::Path;

/// A recorded conversation of a client and a daemon of version 0.1: requests and responses in turn, one a line.
const RECORDED: &str = include_str!("versions/0.1.jsonl");

/// What differs from one daemon to the next.
const CHANGES: [&str; 13] = [
    "pid",
    "home",
    "startedAtMs",
    "atMs",
    "seq",
    "runId",
    "version",
    "guardian",
    "ownerInstanceId",
    "createdAtMs",
    "evidence",
    "why",
    "state",
];

/// Requests that build on each other.
fn requests(run: &str) -> Vec<(&'static str, Value)> {
    let spec = json!({
        "argv": ["sh", "-c", "echo hello"], "cwd": "/", "env": ["PATH=/usr/bin:/bin"], "umask": 18, "backend": "pipe",
        "size": { "columns": 80, "rows": 24 }, "stdin": false, "sessionId": "s", "unit": null, "scopeKey": null,
        "limits": { "timeoutMs": null, "noOutputTimeoutMs": null, "graceMs": 1000 }, "detach": "forbid", "runId": run,
    });
    let mail = json!({ "id": "0a-1", "from": "a", "to": "b", "subject": "s", "body": "text", "kind": "message" });
    let nudge = json!({ "id": "0a-2", "from": "a", "to": "b", "text": "t", "priority": "normal", "lifeMs": null });
    let orders = json!({ "paused": null, "stopped": null, "ended": [], "spawns": [] });
    vec![
        ("daemon.ping", json!({ "version": "0.1.0" })),
        ("runs.spawn", spec),
        ("runs.wait", json!({ "run": run })),
        ("runs.show", json!({ "run": run })),
        ("runs.list", json!({ "liveOnly": false, "newestEnded": null, "unit": null })),
        ("runs.cancel", json!({ "run": run })),
        ("journal.entries", json!({ "run": run, "unit": null, "afterSeq": null, "newest": null })),
        ("daemon.metrics", json!({})),
        ("units.list", json!({})),
        ("units.look", json!({ "names": [], "depth": "none", "brief": false })),
        ("pools.list", json!({})),
        ("mail.send", mail),
        ("mail.inbox", json!({ "to": "b", "unreadOnly": true, "after": null })),
        ("mail.counts", json!({})),
        ("mail.claim", json!({ "to": "b", "most": 1 })),
        ("mail.settle", json!({ "ids": ["0a-1"], "isRead": true })),
        ("mail.show", json!({ "id": "0a-1" })),
        ("mail.remove", json!({ "ids": ["0a-1"] })),
        ("nudges.queue", nudge),
        ("nudges.claim", json!({ "to": "b", "most": 1 })),
        ("nudges.settle", json!({ "id": "0a-2", "receipt": "delivered", "why": "seen" })),
        ("nudges.list", json!({ "to": null })),
        ("patrol.load", json!({})),
        ("patrol.order", json!({ "seen": orders, "now": orders })),
        ("daemon.wake", json!({})),
        ("units.start", json!({ "names": ["none"] })),
        ("runs.show", json!({ "run": "none" })),
    ]
}

/// X8: today's daemon answers a client of version 0.1 with every field that it knows.
#[test]
fn a_client_of_version_0_1_is_answered() {
    let home = Home::new();
    home.ostler(&["start"]).ok();
    if std::env::var_os("OSTLER_BLESS").is_some() {
        record(&home);
        return;
    }
    let mut socket = ControlSocket::connect(&home);
    for (request, response) in recorded() {
        let method = request["method"].as_str().expect("a name");
        let now = socket.try_call(method, &request["params"]).expect("a response");
        misses(&response, &now, method);
    }
}

/// X8: today's client reads the answers of a daemon of version 0.1, and ignores added fields.
#[test]
fn a_daemon_of_version_0_1_is_understood() {
    for (request, mut response) in recorded() {
        let method = request["method"].as_str().expect("a name").to_owned();
        if response.get("error").is_some() {
            continue;
        }
        assert!(is_read(&method, &response), "{method}: {response}");
        add_fields(&mut response);
        assert!(is_read(&method, &response), "{method}, with an added field: {response}");
    }
}

fn is_read(method: &str, response: &Value) -> bool {
    fn read<O: Operation>(response: &Value) -> bool {
        let read: Result<Response<O::Response>, _> = serde_json::from_value(response.clone());
        read.is_ok_and(|response| response.ok.is_some())
    }
    macro_rules! readers {
        ([$($one:ty)*] [$($stream:ty)*]) => {
            match method {
                $(<$one as Operation>::NAME => read::<$one>(response),)*
                $(<$stream as Operation>::NAME => read::<$stream>(response),)*
                _ => false,
            }
        };
    }
    each_operation!(readers)
}

/// Adds fields to each object, as a later version may.
fn add_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(add_fields);
            // A map by name has no fields.
            if fields.contains_key("id") || fields.contains_key("runId") {
                fields.insert("ofTomorrow".to_owned(), json!({ "a": 1 }));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(add_fields),
        _ => {}
    }
}

/// Every recorded field exists now, and is equal where it does not depend on the daemon.
#[track_caller]
fn misses(then: &Value, now: &Value, at: &str) {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            for (name, value) in then {
                let found = now.get(name).unwrap_or_else(|| panic!("{at}.{name} is gone: {now:?}"));
                if !CHANGES.contains(&name.as_str()) {
                    misses(value, found, &format!("{at}.{name}"));
                }
            }
        }
        (Value::Array(then), Value::Array(now)) => {
            if let (Some(then), Some(now)) = (then.first(), now.first()) {
                misses(then, now, &format!("{at}[0]"));
            }
        }
        // The run's state at that moment.
        (Value::Number(_) | Value::Null, Value::Number(_) | Value::Null) => {}
        (Value::String(then), Value::String(now)) if then.len() > 24 => assert!(!now.is_empty()),
        _ => assert_eq!(then, now, "{at}"),
    }
}

fn recorded() -> Vec<(Value, Value)> {
    let lines: Vec<Value> =
        RECORDED.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() > 40, "the recording is complete");
    lines.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

fn record(home: &Home) {
    let mut socket = ControlSocket::connect(home);
    let mut text = String::new();
    for (method, params) in requests("01a1f14a-3a15-7cd6-a6a1-70c41945d3da") {
        let response = socket.try_call(method, &params).expect("a response");
        text += &format!(
            "{}\n{response}\n",
            json!({ "id": response["id"], "method": method, "params": params })
        );
    }
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/every_part/versions/0.1.jsonl");
    std::fs::write(path, text).expect("written");
}
