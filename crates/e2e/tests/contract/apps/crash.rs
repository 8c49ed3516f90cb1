//! Apps when the supervisor dies: they lose their connection and connect again.

use crate::apps::setup::{Apps, Kind, LONG, Puppet, QUICK_END, SHORT, SOON, id};
use crate::daemon::setup::replace_supervisor;
use ostler_e2e::eventually;
use serde_json::{Value, json};

/// A4, A5: kill -9 of the supervisor with twenty connected apps, half in node and half in python: each comes
/// back with its token, none is restarted, and their heartbeats are expected from the new start.
#[test]
fn twenty_apps_outlive_the_supervisor() {
    ostler_e2e::needs!("python3", "node", "npm");
    let apps = Apps::new();
    let names: Vec<String> = (0..20).map(|n| format!("a{n}")).collect();
    for (n, name) in names.iter().enumerate() {
        let kind = if n % 2 == 0 { Kind::Node } else { Kind::Python };
        apps.add(name, kind, LONG);
    }
    apps.up();
    let mut puppets: Vec<Puppet> = names.iter().map(|name| apps.puppet(name)).collect();
    let before: Vec<_> = names
        .iter()
        .map(|name| {
            apps.until_phase(name, "ready");
            apps.process(name)
        })
        .collect();
    let since = now_ms();
    replace_supervisor(&apps.project.home);
    for (name, process) in names.iter().zip(&before) {
        let beat = |info: &Value| info["lastHeartbeat"].as_u64().is_some_and(|at| at > since);
        let info = apps.until(name, "heartbeats are received again", |info| {
            info["state"] == "ready" && beat(info)
        });
        assert_eq!(info["pid"], process.pid, "{info:#}");
        assert_eq!(info["restartCount"], 0, "{info:#}");
        assert_eq!(apps.process(name), *process);
        assert!(!apps.has_new_puppet(name));
        let why = apps.why(name);
        assert!(!why.contains("no heartbeat"), "{why}");
    }
    // Events reach them as before: each receives its own.
    for (n, puppet) in puppets.iter_mut().enumerate() {
        let code =
            if n % 2 == 0 { "app.kernel.config()" } else { "(await app.kernel.config()).config" };
        let config = puppet.eval(code);
        assert!(config == json!({}) || config["config"] == json!({}), "{config}");
    }
    apps.project.home.stop();
    for name in &names {
        assert!(apps.folder(name).join("teardown").exists(), "{name} did not get the request");
    }
}

/// A5: an app that is silent under the new supervisor is restarted, and earlier silence does not count.
#[test]
fn silence_counts_from_the_new_start() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of(
        "a",
        Kind::Raw,
        &format!(
            "heartbeat = {{ interval = \"100ms\", timeout = \"2s\", misses = 20 }}\n{SOON}\n{QUICK_END}"
        ),
    );
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let process = apps.process("a");
    puppet.run("token = w.token");
    replace_supervisor(&apps.project.home);
    puppet.run("w = Wire(); w.token = token; w.ask('app.heartbeat')");
    assert_eq!(apps.until_phase("a", "ready")["pid"], process.pid);
    puppet.until_gone();
    let why = apps.until_why("a", "heartbeats missed");
    assert!(why.contains("expected every 100 ms"), "{why}");
}

/// A2, A4: the supervisor dies while the app starts: the start continues.
#[test]
fn an_app_start_continues_under_the_next_supervisor() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.puppet("a");
    puppet.run("w = Wire(); w.register(); token = w.token");
    let pid = apps.info("a")["pid"].clone();
    replace_supervisor(&apps.project.home);
    puppet.run("w = Wire(); w.token = token; w.ask('app.ready'); heart = Heart(token, 0.02)");
    let info = apps.until_phase("a", "ready");
    assert_eq!((&info["pid"], &info["restartCount"]), (&pid, &json!(0)), "{info:#}");
}

/// A7: the supervisor dies while an app is stopped: the next one completes the stop.
#[test]
fn an_app_stop_continues_under_the_next_supervisor() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\nstop = {{ grace = \"3s\" }}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let process = apps.process("a");
    apps.operator().ask("apps.stop", json!({ "packageId": id("a"), "wait": false }));
    assert_eq!(puppet.eval("w.event()")["event"], "shutdown");
    puppet.run("signal.signal(signal.SIGTERM, signal.SIG_IGN)");
    replace_supervisor(&apps.project.home);
    process.wait_gone();
    eventually("the app is stopped", || (apps.info("a")["state"] == "stopped").then_some(()));
}

/// A4: the launch secret and the token are the same under the next supervisor; neither is stored in a file.
#[test]
fn launch_secret_and_token_are_valid_under_the_next_supervisor() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let token = puppet.eval("w.token");
    replace_supervisor(&apps.project.home);
    let again = puppet.eval("Wire().register(secret=os.environ['OPENCLAWOS_LAUNCH_SECRET'])");
    assert_eq!(again["result"]["token"], token, "{again}");
    let key = apps.project.home.path().read_dir().expect("the home").flatten();
    for entry in key.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
        use std::os::unix::fs::PermissionsExt;
        let mode = entry.metadata().expect("about it").permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{:?} is open to others", entry.path());
    }
}

fn now_ms() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().expect("after 1970");
    since.as_millis() as u64
}
