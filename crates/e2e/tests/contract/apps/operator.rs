//! A9, A10: the operator's requests over the app socket.

use crate::apps::setup::{Apps, Kind, LONG, QUICK_END, id};
use ostler_e2e::{Process, Signal, Wire, eventually};
use serde_json::{Value, json};

fn ids(list: &Value) -> Vec<&str> {
    list["apps"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|app| app["packageId"].as_str())
        .collect()
}

fn named(name: &str) -> Value {
    json!({ "packageId": id(name) })
}

/// A9, A10: the list has every app, and nothing but apps, by state and by name.
#[test]
fn the_list_is_of_apps_alone() {
    ostler_e2e::needs!("python3");
    let apps = Apps::new();
    for name in ["one", "two", "other"] {
        apps.add(name, Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    }
    apps.write();
    let text = std::fs::read_to_string(apps.project.file()).expect("written");
    let (marker, value) = {
        let variable = apps.project.home.variable();
        let (name, value) = variable.split_once('=').expect("a variable");
        (name.to_owned(), value.to_owned())
    };
    let plain =
        format!("[units.plain]\ncommand = [\"sleep\", \"1000\"]\nenv.{marker} = \"{value}\"\n");
    std::fs::write(apps.project.file(), text + &plain).expect("written");
    apps.project.call(&["up", "--no-wait"]).ok();
    let _ready = ["one", "two"].map(|name| apps.ready_puppet(name));
    let mut operator = apps.operator();
    let list = operator.ask("apps.list", json!({}));
    assert_eq!(ids(&list), ["@e2e/one", "@e2e/other", "@e2e/two"], "{list:#}");
    assert_eq!(operator.ask("apps.list", Value::Null), operator.ask("apps.list", Value::Null));
    assert_eq!(
        ids(&operator.ask("apps.list", json!({ "state": "ready" }))),
        ["@e2e/one", "@e2e/two"]
    );
    assert_eq!(ids(&operator.ask("apps.list", json!({ "state": "starting" }))), ["@e2e/other"]);
    assert_eq!(
        ids(&operator.ask("apps.list", json!({ "search": "o" }))),
        ["@e2e/one", "@e2e/other", "@e2e/two"]
    );
    assert_eq!(ids(&operator.ask("apps.list", json!({ "search": "the" }))), ["@e2e/other"]);
    assert_eq!(operator.refused("apps.list", json!({ "state": "flying" })).0, "INVALID_PARAMS");
    assert_eq!(operator.refused("apps.list", json!([])).0, "INVALID_PARAMS");
    let status = &list["apps"][0];
    for field in [
        "packageId",
        "state",
        "pid",
        "startedAt",
        "restartCount",
        "lastHeartbeat",
        "lastError",
        "resourceUsage",
    ] {
        assert!(status.get(field).is_some(), "{field}: {status:#}");
    }
}

/// A9: what an app uses is of its whole tree.
#[test]
fn usage_is_of_the_whole_tree() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let memory = |info: &Value| info["resourceUsage"]["memoryRss"].as_u64().expect("bytes");
    let before = memory(&apps.info("a"));
    puppet.run(
        "import subprocess\n\
         code = 'held = bytearray(b\"x\") * (64 << 20); print(1, flush=True); import time; time.sleep(1000)'\n\
         child = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, start_new_session=True)\n\
         child.stdout.readline()",
    );
    let info = apps.until("a", "larger", |info| memory(info) > before + (60 << 20));
    assert!(info["resourceUsage"]["cpuPercent"].is_number(), "{info:#}");
}

/// A10: all facts of one app.
#[test]
fn app_info_has_all_facts() {
    ostler_e2e::needs!("python3");
    let apps = Apps::new();
    let fields = json!({ "name": "An app", "version": "1.2.3", "mine": [1, 2], "capabilities": { "resources": { "limits": { "maxFds": 512 } } } });
    apps.add_with("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}\nconfig = {{ x = 1 }}"), fields);
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    puppet.run("w.ask('app.heartbeat', {'status': {'status': 'healthy', 'jobs': 2}})");
    let info = apps.info("a");
    assert_eq!(info["unit"], "a");
    assert_eq!(info["manifest"]["name"], "An app", "{info:#}");
    // Unknown fields are kept.
    assert_eq!(info["manifest"]["mine"], json!([1, 2]));
    assert_eq!(info["config"], json!({ "x": 1 }));
    assert_eq!(info["health"], json!({ "status": "healthy", "jobs": 2 }));
    assert_eq!(info["ends"], json!([]));
    // By its unit's name as well.
    assert_eq!(apps.operator().ask("apps.info", json!({ "packageId": "a" }))["packageId"], id("a"));
}

/// A10: unknown apps and wrong calls are errors.
#[test]
fn unknown_apps_and_wrong_calls_are_errors() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, QUICK_END);
    apps.up();
    let mut operator = apps.operator();
    for method in ["apps.info", "apps.logs", "apps.start", "apps.stop", "apps.restart"] {
        let (code, description) = operator.refused(method, json!({ "packageId": "@e2e/none" }));
        assert_eq!(code, "NOT_FOUND", "{method}");
        assert!(
            description.contains("@e2e/none") && description.contains("@e2e/a"),
            "{description}"
        );
        assert_eq!(operator.refused(method, json!({})).0, "INVALID_PARAMS", "{method}");
        assert_eq!(
            operator.refused(method, json!({ "packageId": 5 })).0,
            "INVALID_PARAMS",
            "{method}"
        );
        assert_eq!(operator.refused(method, Value::Null).0, "INVALID_PARAMS", "{method}");
    }
    assert_eq!(operator.refused("apps.fly", json!({})).0, "METHOD_NOT_FOUND");
    for method in ["app.ready", "app.heartbeat", "app.shutdown", "config.get"] {
        assert_eq!(operator.refused(method, json!({})).0, "APP_NOT_REGISTERED", "{method}");
    }
}

/// A10: an app's output, by stream and in lines; also after it has ended.
#[test]
fn logs_are_lines_with_their_stream() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    puppet.run("for n in range(20): os.write(1, b'out %d\\n' % n)");
    let mut operator = apps.operator();
    let mut logs = |lines: Value| {
        let mut params = named("a");
        params["lines"] = lines;
        operator.ask("apps.logs", params)["lines"].as_array().expect("lines").clone()
    };
    eventually("all output is written", || (logs(Value::Null).len() >= 20).then_some(()));
    puppet.run("os.write(2, b'bad \\xc3\\xa4 \\xff\\n')");
    eventually("all output is written", || (logs(Value::Null).len() >= 21).then_some(()));
    let all = logs(Value::Null);
    assert_eq!(all[0], json!({ "stream": "stdout", "text": "out 0" }), "{all:#?}");
    assert_eq!(all[20], json!({ "stream": "stderr", "text": "bad ä \u{fffd}" }));
    let last = logs(json!(2));
    assert_eq!(last, all[19..]);
    assert_eq!(logs(json!(0)).len(), 0);
    apps.project.call(&["stop", "a"]).ok();
    let after = apps.operator().ask("apps.logs", named("a"))["lines"].clone();
    assert!(after.as_array().is_some_and(|lines| lines.len() == 21), "{after:#}");
}

/// A10: start, stop and restart return when they are done, or with an error.
#[test]
fn start_stop_and_restart_are_done_when_they_are_answered() {
    ostler_e2e::needs!("python3");
    let once = "restart = { initial = \"10ms\", limit = { count = 1, window = \"1m\" } }";
    let body = format!("{LONG}\n{QUICK_END}\n{once}\nready = {{ register = \"500ms\" }}");
    let apps = Apps::of("good", Kind::Python, LONG);
    apps.add("bad", Kind::Raw, &body);
    apps.up();
    apps.until_phase("good", "ready");
    apps.until_phase("bad", "error");
    let mut operator = apps.operator();
    let old = apps.process("good");
    // Already in that state: nothing happens.
    operator.ask("apps.start", named("good"));
    assert_eq!(apps.process("good"), old);
    operator.ask("apps.restart", named("good"));
    assert!(!old.is_alive() && apps.info("good")["state"] == "ready");
    operator.ask("apps.stop", named("good"));
    assert_eq!(apps.info("good")["state"], "stopped");
    operator.ask("apps.stop", named("good"));
    operator.ask("apps.start", named("good"));
    assert_eq!(apps.info("good")["state"], "ready");
    // An app that does not become ready is an error.
    let (code, description) = operator.refused("apps.start", named("bad"));
    assert_eq!(code, "CONFLICT", "{description}");
    assert!(description.contains("not ready in time"), "{description}");
    // The caller is journaled.
    let why = apps.why("good");
    assert!(why.contains(&format!("pid {}", std::process::id())) || why.contains("uid"), "{why}");
}

/// A10: without waiting, it is answered at once.
#[test]
fn requests_without_waiting_are_answered_at_once() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\nstop = {{ grace = \"50s\" }}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let mut operator = apps.operator();
    operator.ask("apps.stop", json!({ "packageId": id("a"), "wait": false }));
    apps.until_phase("a", "stopping");
    assert_eq!(puppet.eval("w.event()")["event"], "shutdown");
    puppet.begin("os._exit(0)");
    apps.until_phase("a", "stopped");
    operator.ask("apps.start", json!({ "packageId": id("a"), "wait": false }));
    let mut puppet = apps.ready_puppet("a");
    puppet.begin("w.event(); os._exit(0)");
}

/// Reads a subscriber's events until the app is in this state.
#[track_caller]
fn until_reported(subscriber: &mut Wire, name: &str, state: &str) -> Value {
    loop {
        let event = subscriber.event();
        assert_eq!(event["event"], "app", "{event}");
        let status = &event["payload"];
        if status["packageId"] == id(name) && status["state"] == state {
            return status.clone();
        }
    }
}

/// A10: a subscriber gets each change, of all apps or of one.
#[test]
fn a_subscriber_gets_each_change() {
    ostler_e2e::needs!("python3");
    let restart = "restart = { initial = \"10ms\", max = \"10ms\" }";
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}\n{restart}"));
    apps.add("b", Kind::Raw, &format!("{LONG}\n{QUICK_END}\n{restart}"));
    apps.up();
    let (mut all, mut one) = (apps.operator(), apps.operator());
    assert_eq!(all.ask("apps.subscribe", json!({})), json!({ "ok": true }));
    assert_eq!(one.ask("apps.subscribe", named("b")), json!({ "ok": true }));
    let mut a = apps.puppet("a");
    let mut b = apps.puppet("b");
    a.run("w = become_ready()");
    until_reported(&mut all, "a", "ready");
    b.run("w = become_ready()");
    until_reported(&mut all, "b", "ready");
    let status = until_reported(&mut one, "b", "ready");
    for field in ["packageId", "state", "pid", "startedAt", "restartCount"] {
        assert!(status.get(field).is_some(), "{field}: {status:#}");
    }
    // A crash, and what follows.
    let process =
        Process::find(status["pid"].as_i64().expect("a pid") as i32).expect("the app is running");
    process.signal(Signal::KILL);
    until_reported(&mut one, "b", "error");
    until_reported(&mut one, "b", "starting");
    apps.puppet("b").run("w = become_ready()");
    assert_eq!(until_reported(&mut one, "b", "ready")["restartCount"], 1);
    // It may send requests on the same connection.
    assert_eq!(one.ask("apps.info", named("a"))["state"], "ready");
    // The app is stopped, and the subscriber gets every event.
    all.ask("apps.stop", json!({ "packageId": id("a"), "wait": false }));
    until_reported(&mut all, "a", "stopping");
    until_reported(&mut all, "a", "stopped");
}

/// A10: a subscriber that does not read does not delay others.
#[test]
fn a_subscriber_that_does_not_read_does_not_delay_others() {
    ostler_e2e::needs!("python3");
    let apps = Apps::new();
    crate::apps::setup::Neighbour::add(&apps);
    apps.up();
    let mut neighbour = crate::apps::setup::Neighbour::begin(&apps);
    let mut deaf = apps.operator();
    deaf.ask("apps.subscribe", json!({}));
    // And requests far more than the buffers hold.
    let request = json!({ "id": "x", "type": "request", "method": "apps.list" });
    deaf.send_until_full(format!("{request}\n").as_bytes());
    neighbour.saw_no_heartbeat(&apps);
    drop(deaf);
    neighbour.saw_no_heartbeat(&apps);
}
