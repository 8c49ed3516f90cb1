//! The app socket's protocol: limits, and connections that go on after an invalid request.

use crate::apps::setup::{Apps, Kind, LONG, QUICK_END};
use serde_json::{Value, json};

fn ready() -> (Apps, crate::apps::setup::Puppet) {
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    let puppet = apps.ready_puppet("a");
    (apps, puppet)
}

/// A3: the form of a response; optional and unknown fields; a number as an id; the order of answers.
#[test]
fn a_request_and_its_answer() {
    ostler_e2e::needs!("python3");
    let (_apps, mut puppet) = ready();
    let answer = puppet
        .eval("w.call('app.heartbeat', {'status': {'status': 'healthy'}}, timestamp=5, more=[1])");
    assert_eq!(answer["type"], "response");
    assert_eq!(answer["success"], true);
    assert_eq!(answer["result"]["ok"], true);
    assert!(
        answer["id"].is_string() && answer["timestamp"].as_u64() > Some(1_600_000_000_000),
        "{answer}"
    );
    assert!(answer["result"]["serverTime"].as_u64() > Some(1_600_000_000_000), "{answer}");
    assert_eq!(answer["error"], Value::Null);
    puppet.run("w.send(json.dumps({'id': 'bare', 'type': 'request', 'method': 'app.heartbeat', 'token': w.token}) + '\\n')");
    assert_eq!(puppet.eval("w.answer()")["requestId"], "bare");
    puppet.run("w.send(json.dumps({'id': 17, 'type': 'request', 'method': 'app.heartbeat', 'token': w.token}) + '\\n')");
    assert_eq!(puppet.eval("w.answer()")["requestId"], "17");
    // A thousand at once are answered in their order.
    puppet
        .run("first = w.number + 1\nw.send(''.join(w.text('app.heartbeat') for _ in range(1000)))");
    let ids = puppet.eval("[int(w.answer()['requestId']) - first for _ in range(1000)]");
    assert_eq!(ids, json!((0..1000).collect::<Vec<_>>()));
    // Byte by byte it is the same request.
    puppet.run("for c in w.text('app.heartbeat'): w.send(c)");
    assert_eq!(puppet.eval("w.answer()")["success"], true);
    // An empty line is ignored.
    puppet.run("w.send('\\n \\r\\n\\n')");
    assert_eq!(puppet.eval("w.ask('app.heartbeat')")["ok"], true);
    // An unknown method.
    for method in ["app.fly", "nothing", ""] {
        assert_eq!(puppet.eval(&format!("w.code('{method}')")), "METHOD_NOT_FOUND", "{method}");
    }
    // Params of the wrong form.
    for params in ["[0]", "{'busyFor': 'long'}", "{'busyUntil': -1}", "7", "'text'"] {
        let code = puppet.eval(&format!("w.code('app.heartbeat', {params})"));
        assert_eq!(code, "INVALID_PARAMS", "{params}");
    }
}

/// A3: an invalid request is answered with INVALID_REQUEST and the reason, and the connection stays open.
#[test]
fn an_invalid_request_is_an_error_and_the_connection_stays() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = ready();
    for (line, id, description) in [
        (r"b'{\n'", "", "not a request"),
        (r"b'null\n'", "", "not a request"),
        (r"b'[]\n'", "", "not a request"),
        (r#"b'"text"\n'"#, "", "not a request"),
        (r#"b'{"id":"x"}\n'"#, "x", "type"),
        (r#"b'{"id":"x","type":"event","event":"e"}\n'"#, "x", "must be \"request\""),
        (r#"b'{"id":"x","type":"request"}\n'"#, "x", "method"),
        (r#"b'{"id":"x","type":"request","method":5}\n'"#, "x", "not a request"),
        (r#"b'{"type":"request","method":"app.ready"}\n'"#, "", "id"),
        (r#"b'{"id":"\xff","type":"request"}\n'"#, "", "not UTF-8"),
        (r#"b'\xff\xfe\n'"#, "", "not UTF-8"),
        (
            r#"b'{"id":"x","type":"request","method":"m","params":' + b'[' * 200000 + b'\n'"#,
            "",
            "not a request",
        ),
        (r#"b'{"a":' * 20000 + b'\n'"#, "", "not a request"),
        (r"b'\x00\n'", "", "not a request"),
    ] {
        puppet.run(&format!("w.send({line})"));
        let answer = puppet.eval("w.answer()");
        assert_eq!(answer["error"]["code"], "INVALID_REQUEST", "{line}: {answer}");
        assert_eq!(answer["requestId"], id, "{line}: {answer}");
        let message = answer["error"]["message"].as_str().expect("words");
        assert!(message.contains(description), "{line}: {message}");
        assert_eq!(puppet.eval("w.ask('app.heartbeat')")["ok"], true, "{line}");
    }
    // JSON that is too deep is an error, too.
    puppet.run("w.send('{\"id\":\"deep\",\"type\":\"request\",\"method\":\"app.heartbeat\",\"token\":\"' + w.token + '\",\"params\":' + '[' * 10000 + ']' * 10000 + '}\\n')");
    let answer = puppet.eval("w.answer()");
    assert_eq!(
        (&answer["requestId"], &answer["error"]["code"]),
        (&json!("deep"), &json!("INVALID_PARAMS"))
    );
    assert_eq!(apps.info("a")["state"], "ready");
    let why = apps.why("a");
    assert!(why.contains("sent an invalid request"), "{why}");
}

/// A3: a line of 256 KiB is accepted, one byte more is not, and the next line is.
#[test]
fn a_line_that_is_too_long_is_an_error_and_the_connection_stays() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = ready();
    puppet.run(
        "def long(length):\n\
         \x20   text = w.text('app.heartbeat', {'status': {'x': ''}})\n\
         \x20   w.send(text.replace('\"x\": \"\"', '\"x\": \"' + 'y' * (length + 1 - len(text)) + '\"'))\n\
         \x20   return w.answer()",
    );
    assert_eq!(puppet.eval("long(256 << 10)")["success"], true);
    for length in ["(256 << 10) + 1", "(1 << 20) - 10", "500000"] {
        let answer = puppet.eval(&format!("long({length})"));
        assert_eq!(answer["error"]["code"], "INVALID_REQUEST", "{length}: {answer}");
        assert_eq!(answer["requestId"], "");
        assert_eq!(puppet.eval("w.ask('app.heartbeat')")["ok"], true, "{length}");
    }
    assert!(apps.why("a").contains("sent a line that is too long"), "{}", apps.why("a"));
    // A status that is too large is dropped; the beat counts.
    assert_eq!(apps.info("a")["health"], Value::Null);
}

/// A3: more than 1 MiB without a newline: an error, and the connection is closed. The app may connect again.
#[test]
fn a_line_without_an_end_closes_the_connection() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = ready();
    puppet.run("bad = Wire()\ntry:\n  bad.send(b'x' * (1 << 20) + b'y' * (64 << 10))\nexcept OSError: pass");
    let answer = puppet.eval("bad.answer()");
    assert_eq!(answer["error"]["code"], "INVALID_REQUEST", "{answer}");
    assert_eq!(puppet.eval("bad.is_over()"), true);
    // Exactly 1 MiB is not yet too much.
    puppet.run("just = Wire(); just.send(b'x' * (1 << 20)); just.send(b'\\n')");
    assert_eq!(puppet.eval("just.answer()")["error"]["code"], "INVALID_REQUEST");
    assert_eq!(puppet.eval("just.code('app.ready')"), "APP_NOT_REGISTERED");
    assert_eq!(puppet.eval("w.ask('app.heartbeat')")["ok"], true);
    assert!(apps.why("a").contains("without an end, and was disconnected"), "{}", apps.why("a"));
}

/// A3: the same for an operator.
#[test]
fn an_operator_has_the_same_line_limits() {
    ostler_e2e::needs!("python3");
    let (apps, _puppet) = ready();
    let mut operator = apps.operator();
    operator.send(b"what?\n").expect("the line is sent");
    assert_eq!(operator.answer()["error"]["code"], "INVALID_REQUEST");
    operator.send(&[vec![b'x'; 300_000], vec![b'\n']].concat()).expect("the line is sent");
    assert_eq!(operator.answer()["error"]["code"], "INVALID_REQUEST");
    operator.ask("apps.list", json!({}));
    // The connection may be closed before all of it was accepted.
    let _ = operator.send(&vec![b'x'; 3 << 20]);
    assert_eq!(operator.answer()["error"]["code"], "INVALID_REQUEST");
    assert_eq!(operator.message(), None);
}

/// A3: an app may have eight connections, and the ninth gets an error; a closed one frees its slot.
#[test]
fn an_app_has_eight_connections() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = ready();
    puppet.run("more = [Wire() for _ in range(7)]\nfor one in more: one.token = w.token");
    assert_eq!(puppet.eval("[one.code('x') for one in more]"), json!(vec!["METHOD_NOT_FOUND"; 7]));
    puppet.run("ninth = Wire()");
    let answer = puppet.eval("ninth.answer()");
    assert_eq!(answer["error"]["code"], "CONFLICT", "{answer}");
    assert_eq!(puppet.eval("ninth.is_over()"), true);
    puppet.run("more.pop().socket.close()");
    // It takes a moment until the supervisor knows.
    puppet.run(
        "while True:\n\
         \x20   again = Wire()\n\
         \x20   try:\n\
         \x20       if again.code('x') == 'METHOD_NOT_FOUND': break\n\
         \x20   except (AssertionError, Gone, OSError): time.sleep(0.01)",
    );
    assert_eq!(puppet.eval("w.ask('app.heartbeat')")["ok"], true);
    assert!(apps.why("a").contains("an app may have at most 8 connections"), "{}", apps.why("a"));
}

/// A3: an app that sends faster than the limit is read more slowly, and loses nothing.
#[test]
fn an_app_that_is_too_fast_is_slowed_down_and_loses_nothing() {
    ostler_e2e::needs!("python3");
    let (apps, mut puppet) = ready();
    puppet.run(
        "def flood():\n\
         \x20   w.send(''.join(w.text('app.heartbeat') for _ in range(15000)))\n\
         threading.Thread(target=flood, daemon=True).start()\n\
         answers = [w.answer() for _ in range(15000)]",
    );
    assert_eq!(puppet.eval("all(answer['success'] for answer in answers)"), true);
    assert_eq!(
        puppet.eval("[int(a['requestId']) for a in answers] == list(range(3, 15003))"),
        true
    );
    let why = apps.why("a");
    assert!(why.contains("sent more than 5000 requests per second"), "{why}");
}
