//! A11: apps on the Rust SDK, as processes under the real daemon. The other files test what all SDKs have in common.

use crate::apps::setup::{Apps, Kind, LONG, QUICK_END, SOON};
use crate::daemon::setup::replace_supervisor;
use ostler_e2e::{Home, Signal, helper};
use serde_json::{Value, json};

/// A heartbeat timeout of a second.
const JUDGED: &str = "heartbeat = { interval = \"100ms\", timeout = \"1s\", misses = 10 }";

fn received(info: &Value) -> u64 {
    info["lastHeartbeat"].as_u64().unwrap_or(0)
}

/// A5: heartbeats are sent while the main thread is blocked for three times the allowed silence.
#[test]
fn a_blocked_main_thread_does_not_stop_heartbeats() {
    let apps = Apps::of("a", Kind::Rust, &format!("{JUDGED}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.puppet("a");
    apps.until_phase("a", "ready");
    let process = apps.process("a");
    puppet.run("block");
    let before = apps.until("a", "heard", |info| received(info) > 0);
    let info = apps.until("a", "heartbeats are received for long", |info| {
        received(info) > received(&before) + 3_000
    });
    assert_eq!((&info["state"], &info["restartCount"]), (&json!("ready"), &json!(0)), "{info:#}");
    assert_eq!(apps.process("a"), process);
    puppet.run("degraded");
    let health = json!({ "status": "degraded", "queue": 3 });
    apps.until("a", "degraded", |info| info["health"] == health);
    puppet.run("unblock");
}

/// A5: a frozen process is restarted for its silence, unless it declared a busy time.
#[test]
fn a_frozen_app_is_restarted_unless_it_is_busy() {
    let apps = Apps::new();
    for name in ["for", "until", "silent"] {
        apps.add(name, Kind::Rust, &format!("{JUDGED}\n{SOON}\n{QUICK_END}"));
    }
    apps.up();
    let mut ready = ["for", "until", "silent"].map(|name| {
        let puppet = apps.puppet(name);
        apps.until_phase(name, "ready");
        (puppet, apps.process(name))
    });
    ready[0].0.run("busy_for 600");
    ready[1].0.run("busy_until 600");
    for (_, process) in &ready {
        process.signal(Signal::STOP);
    }
    ready[2].1.wait_gone();
    apps.until_why("silent", "heartbeats missed");
    apps.puppet("silent");
    apps.until_phase("silent", "ready");
    for (name, (puppet, process)) in ["for", "until"].into_iter().zip(&mut ready) {
        let info = apps.info(name);
        assert_eq!((&info["pid"], &info["restartCount"]), (&json!(process.pid), &json!(0)));
        let before = received(&info);
        process.signal(Signal::CONT);
        apps.until(name, "heartbeats are received again", |info| received(info) > before);
        // After the end of the busy time, the same silence is a failure.
        puppet.run("busy_for 0");
        process.signal(Signal::STOP);
        process.wait_gone();
    }
}

/// A7: it gets timeout and reason, cleans up, and exits with 0.
#[test]
fn teardown_runs_on_a_stop_request() {
    let apps = Apps::of("a", Kind::Rust, &format!("{LONG}\nstop = {{ grace = \"30s\" }}"));
    apps.up();
    apps.puppet("a");
    apps.until_phase("a", "ready");
    apps.project.call(&["stop", "a"]).ok();
    let log = apps.project.call(&["logs", "a"]).ok().text();
    assert!(log.contains("teardown: ") && log.contains(", 30000 ms"), "{log}");
    let record = &apps.project.home.records()[0];
    assert_eq!((&record["exitCode"], &record["extinct"]), (&json!(0), &json!("yes")));
    assert!(apps.folder("a").join("teardown").exists());
}

/// A7: an app whose teardown does not finish reports it, shortly before it would be killed.
#[test]
fn a_teardown_that_hangs_says_so() {
    let apps = Apps::of("a", Kind::Rust, &format!("{LONG}\nstop = {{ grace = \"10s\" }}"));
    std::fs::write(apps.folder("a").join("hang"), "").expect("written");
    apps.up();
    apps.puppet("a");
    apps.until_phase("a", "ready");
    apps.project.call(&["stop", "a"]).ok();
    let log = apps.project.call(&["logs", "a"]).ok().text();
    assert!(log.contains("the app was not down within 9.500 s (TIMEOUT)"), "{log}");
    assert_eq!(apps.project.home.records()[0]["exitCode"], 1);
    assert_eq!(apps.info("a")["state"], "stopped");
}

/// A7: an app's own exit with its reason; and one because its work failed.
#[test]
fn its_own_exit_has_its_reason() {
    let once = "restart = { limit = { count = 1, window = \"1m\" } }";
    let apps =
        Apps::of("will", Kind::Rust, &format!("{LONG}\nrestart = {{ when = \"on-failure\" }}"));
    apps.add("work", Kind::Rust, &format!("{LONG}\n{once}\nconfig = {{ mode = \"bad_work\" }}"));
    apps.add("setup", Kind::Rust, &format!("{LONG}\n{once}\nconfig = {{ mode = \"bad_setup\" }}"));
    apps.up();
    apps.puppet("will").begin("stop all is done");
    apps.until("will", "over", |info| info["state"] == "stopped");
    let why = apps.until_why("will", "all is done");
    assert!(!why.contains("told to end over its socket"), "{why}");
    for (name, description) in [
        ("work", "error: work failed: out of ideas"),
        ("setup", "error: setup failed: no database"),
    ] {
        let info = apps.until_phase(name, "error");
        assert!(info["lastError"].as_str().is_some_and(|e| e.contains("exit 1")), "{info:#}");
        let log = apps.project.call(&["logs", name]).ok().text();
        assert!(log.contains(description), "{log}");
    }
    assert!(apps.why("work").contains("its work failed"), "{}", apps.why("work"));
    assert!(apps.folder("work").join("teardown").exists());
    assert!(!apps.folder("setup").join("teardown").exists(), "nothing was set up");
}

/// A4, A5: kill -9 of the supervisor: each comes back with its token, is not restarted, and gets its events.
#[test]
fn it_outlives_the_supervisor() {
    let apps = Apps::new();
    let names = ["a", "b", "c"];
    for name in names {
        apps.add(name, Kind::Rust, LONG);
    }
    apps.up();
    let mut puppets = names.map(|name| apps.puppet(name));
    let before = names.map(|name| {
        apps.until_phase(name, "ready");
        (apps.process(name), received(&apps.until(name, "heard", |info| received(info) > 0)))
    });
    puppets[0].run("block");
    for _ in 0..2 {
        replace_supervisor(&apps.project.home);
        for (name, (process, last)) in names.iter().zip(&before) {
            let is_back = |info: &Value| info["state"] == "ready" && received(info) > *last;
            let info = apps.until(name, "heartbeats are received again", is_back);
            assert_eq!((&info["pid"], &info["restartCount"]), (&json!(process.pid), &json!(0)));
            assert!(!apps.has_new_puppet(name));
            let why = apps.why(name);
            assert!(!why.contains("no heartbeat"), "{why}");
        }
        for puppet in &mut puppets {
            assert_eq!(puppet.eval("request config.get")["config"], json!({}));
        }
    }
    let log = apps.project.call(&["logs", "b"]).ok().text();
    assert!(log.contains("connected to Ostler again"), "{log}");
    puppets[0].run("unblock");
    apps.project.home.stop();
    for name in names {
        assert!(apps.folder(name).join("teardown").exists(), "{name} did not get the request");
    }
}

/// A3: a refused request is an error with its code, and the app goes on.
#[test]
fn a_refusal_is_an_error_with_its_code() {
    let apps = Apps::of("a", Kind::Rust, LONG);
    apps.up();
    let mut puppet = apps.puppet("a");
    apps.until_phase("a", "ready");
    assert_eq!(puppet.eval("refused apps.list"), "FORBIDDEN");
    assert_eq!(puppet.eval("refused no.method"), "METHOD_NOT_FOUND");
    assert_eq!(puppet.eval("request app.heartbeat")["ok"], true);
}

/// A2: an app that Ostler did not start names the missing variable and the remedy.
#[test]
fn without_ostler_it_names_the_missing_variable() {
    let home = Home::new();
    let mut program = home.program(helper!("rust_app"));
    let ended = program.current_dir(home.folder()).output().expect("the app runs");
    assert_eq!(ended.status.code(), Some(1));
    let description = String::from_utf8_lossy(&ended.stderr);
    assert!(description.starts_with("error: OPENCLAWOS_SOCKET is not set"), "{description}");
    assert!(description.contains("ostler up"), "{description}");
    program.env("OPENCLAWOS_SOCKET", home.file("none.sock"));
    let ended = program.output().expect("the app runs");
    let description = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1));
    assert!(description.contains("openclawos.manifest.json: No such file"), "{description}");
}
