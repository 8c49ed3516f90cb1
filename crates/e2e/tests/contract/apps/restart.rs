//! A6: crashes of an app, the restart delays, and the breaker.

use crate::apps::setup::{Apps, Kind, LONG, QUICK_END, id};
use ostler_e2e::{Home, eventually};
use serde_json::{Value, json};

/// The times of its starts, as the run records have them.
fn starts(home: &Home) -> Vec<u64> {
    let mut times: Vec<u64> =
        home.records().iter().filter_map(|record| record["startedAtMs"].as_u64()).collect();
    times.sort_unstable();
    times
}

/// OpenClawOS's numbers, each divided by five: 200, 400, 800, 1600 ms, and the fifth crash disables it.
fn scaled() -> &'static str {
    r#"{"apps": {"supervisor": {"maxRestarts": 5, "restartWindow": 60000, "restartDelay": 200, "backoffMultiplier": 2, "heartbeatInterval": 30000, "heartbeatTimeout": 90000, "shutdownTimeout": 300}}}"#
}

#[track_caller]
fn crashes_until_it_is_disabled(kind: Kind, crash: &str) {
    let apps = Apps::of("a", kind, "");
    std::fs::create_dir_all(apps.project.home.path()).expect("a folder");
    std::fs::write(apps.project.home.file("config.json"), scaled()).expect("written");
    apps.up();
    for crashes in 0..5 {
        let mut puppet = apps.puppet("a");
        if kind == Kind::Raw {
            puppet.run("w = become_ready()");
        }
        let info = apps.until_phase("a", "ready");
        assert_eq!(info["restartCount"], crashes, "{info:#}");
        puppet.begin(crash);
        puppet.until_gone();
    }
    let info = apps.until("a", "disabled", |info| {
        info["state"] == "error" && info["ends"].as_array().is_some_and(|ends| ends.len() >= 5)
    });
    assert_eq!(apps.project.state("a"), "error");
    let waits: Vec<String> = info["ends"]
        .as_array()
        .expect("ends")
        .iter()
        .rev()
        .filter_map(|end| end["then"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(
        waits[..4],
        [
            "restarted after 200 ms",
            "restarted after 400 ms",
            "restarted after 800 ms",
            "restarted after 1600 ms"
        ]
        .map(str::to_owned),
        "{info:#}"
    );
    // The measured delays were never shorter.
    let (ends, starts) = (info["ends"].as_array().expect("ends"), starts(&apps.project.home));
    assert_eq!(starts.len(), 5, "{starts:?}");
    for (n, wait) in [200, 400, 800, 1600].into_iter().enumerate() {
        let ended = ends[4 - n]["atMs"].as_u64().expect("a time");
        assert!(starts[n + 1] + 20 >= ended + wait, "{n}: {ended} {starts:?}");
    }
    // Only a user starts it again.
    let (code, description) = apps.operator().refused("apps.info", json!({ "packageId": "none" }));
    assert_eq!(code, "NOT_FOUND", "{description}");
    assert!(!apps.has_new_puppet("a"));
    assert!(info["lastError"].as_str().is_some_and(|error| error.contains('5')), "{info:#}");
    apps.operator().ask("apps.start", json!({ "packageId": id("a"), "wait": false }));
    let mut puppet = apps.puppet("a");
    if kind == Kind::Raw {
        puppet.run("w = become_ready()");
    }
    apps.until_phase("a", "ready");
}

/// A6, A11: in Python.
#[test]
fn an_app_in_python_crashes_five_times() {
    ostler_e2e::needs!("python3");
    crashes_until_it_is_disabled(Kind::Python, "os._exit(1)");
}

/// A6, A11: in Node.
#[test]
fn an_app_in_node_crashes_five_times() {
    ostler_e2e::needs!("python3", "node", "npm");
    crashes_until_it_is_disabled(Kind::Node, "process.exit(1)");
}

/// A6, A11: in Rust.
#[test]
fn an_app_in_rust_crashes_five_times() {
    ostler_e2e::needs!("python3");
    crashes_until_it_is_disabled(Kind::Rust, "exit");
}

/// A6: a manifest without a restart policy gets OpenClawOS's policy.
#[test]
fn the_documents_policy_is_the_default() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, "stop = { grace = \"300ms\" }");
    apps.up();
    apps.puppet("a").begin("os._exit(1)");
    let info = apps.until("a", "waiting", |info| info["ends"][0]["then"].is_string());
    assert_eq!(info["ends"][0]["then"], "restarted after 1000 ms", "{info:#}");
    let mut puppet = apps.puppet("a");
    let heartbeat = puppet.eval("os.environ['OSTLER_HEARTBEAT_MS']");
    assert_eq!(heartbeat, "30000");
    puppet.begin("os._exit(1)");
    let then = |info: &Value| info["ends"][0]["then"] == "restarted after 2000 ms";
    apps.until("a", "waiting longer", then);
}

/// A6: an app that ends with 0 by itself is not a crash, if the unit says so; a stop is none at all.
#[test]
fn a_stop_is_no_crash() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    for _ in 0..6 {
        let mut puppet = apps.ready_puppet("a");
        apps.operator().ask("apps.stop", json!({ "packageId": id("a") }));
        puppet.until_gone();
        apps.operator().ask("apps.start", json!({ "packageId": id("a"), "wait": false }));
    }
    apps.ready_puppet("a");
    eventually("the app is ready, and was never restarted", || {
        (apps.info("a")["restartCount"] == 0).then_some(())
    });
}
