//! Stopping an app: a request over its socket, a timeout, then SIGKILL of its whole tree.

use crate::apps::setup::{Apps, Kind, LONG, QUICK_END, SHORT, SOON, id};
use ostler_e2e::{Process, Signal};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How the only run of the home ended; no process of it is left.
#[track_caller]
fn end(apps: &Apps) -> (String, Option<i64>, Option<i64>) {
    let records = apps.project.home.records();
    assert_eq!(records.len(), 1, "{records:#?}");
    let record = &records[0];
    assert_eq!(record["extinct"], "yes", "{record:#}");
    let state = record["state"].as_str().expect("a word").to_owned();
    (state, record["exitCode"].as_i64(), record["exitSignal"].as_i64())
}

/// A7: the event with its timeout; an app that exits in time is not killed.
#[test]
fn an_app_gets_the_shutdown_event_and_exits() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\nstop = {{ grace = \"30s\" }}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    // No signal is sent as long as it may still end by itself.
    puppet.run("signals = []\nfor n in (signal.SIGTERM, signal.SIGINT): signal.signal(n, lambda n, _: signals.append(n))");
    let began = Instant::now();
    let stop = apps.project.spawn(&["stop", "a"]);
    let event = puppet.eval("w.event()");
    assert_eq!((&event["type"], &event["event"]), (&json!("event"), &json!("shutdown")));
    assert_eq!(event["payload"]["timeout"], 30_000, "{event}");
    assert!(event["payload"]["reason"].is_string(), "{event}");
    assert_eq!(puppet.eval("signals"), json!([]));
    // It may still send requests.
    assert_eq!(puppet.eval("w.ask('app.heartbeat')")["ok"], true);
    puppet.begin("w.socket.close(); os._exit(0)");
    stop.finish().ok();
    assert!(began.elapsed() < Duration::from_secs(25));
    let info = apps.info("a");
    assert_eq!(info["state"], "stopped", "{info:#}");
    assert_eq!(end(&apps), ("exited".to_owned(), Some(0), None));
    let why = apps.why("a");
    assert!(why.contains("exit requested over the app socket"), "{why}");
    assert!(why.contains("30000 ms to clean up and exit"), "{why}");
}

/// A7: an app that ignores it is killed at the timeout, with its whole tree, and reported so.
#[test]
fn an_app_that_ignores_the_event_is_killed_with_its_tree() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    puppet.run(
        "import subprocess\n\
         for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)\n\
         children = [subprocess.Popen(['sleep', '1000']), subprocess.Popen(['sleep', '1000'], start_new_session=True)]",
    );
    let pids = puppet.eval("[child.pid for child in children]");
    let pids = pids.as_array().expect("pids").iter().filter_map(Value::as_i64);
    let mut tree: Vec<Process> = pids.filter_map(|pid| Process::find(pid as i32)).collect();
    assert_eq!(tree.len(), 2);
    tree.push(apps.process("a"));
    apps.operator().ask("apps.stop", json!({ "packageId": id("a") }));
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
    let info = apps.info("a");
    assert_eq!(info["state"], "stopped", "{info:#}");
    let (_, code, signal) = end(&apps);
    assert_eq!((code, signal), (None, Some(9)));
    assert_eq!(apps.project.home.processes_of_runs(), []);
}

/// A7: it exits in time and leaves a child behind: the child is killed too.
#[test]
fn processes_that_an_app_leaves_behind_are_killed() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\nstop = {{ grace = \"2s\" }}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let child = puppet.eval("__import__('subprocess').Popen(['sh', '-c', 'trap \"\" TERM; sleep 1000'], start_new_session=True).pid");
    let child = Process::find(child.as_i64().expect("a pid") as i32).expect("the child is running");
    let stop = apps.project.spawn(&["stop", "a"]);
    puppet.eval("w.event()");
    puppet.begin("os._exit(0)");
    stop.finish().ok();
    assert!(!child.is_alive());
    assert_eq!(apps.info("a")["state"], "stopped");
}

/// A7: an app that is not connected gets TERM.
#[test]
fn an_app_without_a_connection_is_sent_term() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\nstop = {{ grace = \"30s\" }}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    puppet.run("signal.signal(signal.SIGTERM, lambda *_: os._exit(5)); w.socket.close()");
    ostler_e2e::eventually("the disconnection is known", || {
        // The test cannot see when the supervisor notices it; a second connection is answered after that.
        puppet.run("w = Wire(); w.code('x'); w.socket.close()");
        Some(())
    });
    let began = Instant::now();
    apps.project.call(&["stop", "a"]).ok();
    assert!(began.elapsed() < Duration::from_secs(25));
    assert_eq!(end(&apps).1, Some(5));
    assert!(!apps.why("a").contains("told to end over its socket"), "{}", apps.why("a"));
}

/// A7: an app that has not registered yet gets TERM.
#[test]
fn an_app_that_never_registered_is_sent_term() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, "stop = { grace = \"30s\" }");
    apps.up();
    let mut puppet = apps.puppet("a");
    puppet.run("signal.signal(signal.SIGTERM, lambda *_: os._exit(5)); w = Wire()");
    apps.project.call(&["stop", "a"]).ok();
    assert_eq!(end(&apps).1, Some(5));
}

/// A7: an app that reconnects after the shutdown event gets the event again.
#[test]
fn an_app_that_reconnects_during_a_stop_gets_the_event_again() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\nstop = {{ grace = \"30s\" }}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let stop = apps.project.spawn(&["stop", "a"]);
    assert_eq!(puppet.eval("w.event()")["event"], "shutdown");
    puppet.run(
        "token = w.token; w.socket.close(); w = Wire(); w.token = token; w.ask('app.heartbeat')",
    );
    assert_eq!(puppet.eval("w.event()")["event"], "shutdown");
    puppet.begin("os._exit(0)");
    stop.finish().ok();
}

/// A7: heartbeats are not expected during a stop.
#[test]
fn silence_during_a_stop_is_allowed() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SHORT}\n{SOON}\nstop = {{ grace = \"30s\" }}"));
    apps.up();
    let mut puppet = apps.puppet("a");
    puppet.run("w = become_ready(); heart = Heart(w.token, 0.02)");
    apps.until_phase("a", "ready");
    puppet.run("heart.ended.set(); heart.join(); w2 = Wire(); w2.register()");
    let stop = apps.project.spawn(&["stop", "a"]);
    assert_eq!(puppet.eval("w2.event()")["event"], "shutdown");
    // Longer than the allowed silence.
    puppet.run("time.sleep(2)");
    puppet.begin("os._exit(0)");
    stop.finish().ok();
    assert_eq!(end(&apps), ("exited".to_owned(), Some(0), None));
}

/// A7: `apps.restart` stops the app in the same way, and answers when it is ready again.
#[test]
fn a_restart_sends_the_shutdown_event() {
    ostler_e2e::needs!("python3", "node", "npm");
    for kind in [Kind::Python, Kind::Node, Kind::Rust] {
        let apps = Apps::of("a", kind, LONG);
        apps.up();
        apps.until_phase("a", "ready");
        let old = apps.process("a");
        apps.operator().ask("apps.restart", json!({ "packageId": id("a") }));
        assert!(!old.is_alive());
        assert_eq!(apps.info("a")["state"], "ready");
        assert_eq!(
            std::fs::read_to_string(apps.folder("a").join("teardown")).expect("written"),
            "down\n"
        );
    }
}

/// A7: a signal from outside: the SDK tears down and reports the exit to the supervisor.
#[test]
fn a_signal_from_outside_is_reported_as_an_exit() {
    ostler_e2e::needs!("python3", "node", "npm");
    for kind in [Kind::Python, Kind::Node, Kind::Rust] {
        let apps = Apps::of("a", kind, &format!("{LONG}\nrestart = {{ when = \"on-failure\" }}"));
        apps.up();
        apps.until_phase("a", "ready");
        let process = apps.process("a");
        process.signal(Signal::TERM);
        process.wait_gone();
        apps.until("a", "over", |info| info["pid"].is_null());
        let why = apps.until_why("a", "app announced its exit");
        assert!(why.contains("SIGTERM"), "{why}");
        assert!(apps.folder("a").join("teardown").exists());
    }
}

/// A7: a stop of the daemon sends the event to each app.
#[test]
fn a_stop_of_the_daemon_sends_each_app_the_event() {
    ostler_e2e::needs!("python3", "node", "npm");
    let apps = Apps::new();
    apps.add("p", Kind::Python, LONG);
    apps.add("n", Kind::Node, LONG);
    apps.add("r", Kind::Rust, LONG);
    apps.up();
    for name in ["p", "n", "r"] {
        apps.until_phase(name, "ready");
    }
    apps.project.home.stop();
    for name in ["p", "n", "r"] {
        assert!(apps.folder(name).join("teardown").exists(), "{name}");
    }
}
