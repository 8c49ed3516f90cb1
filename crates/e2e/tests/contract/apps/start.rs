//! Starting an app: its environment, its readiness, and its states.

use crate::apps::setup::{Apps, Kind, LONG, QUICK_END, SOON, id};
use ostler_e2e::{Process, eventually};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Goes through every state to the end.
#[track_caller]
fn goes_through_its_states(kind: Kind) {
    let apps = Apps::of("a", kind, LONG);
    apps.up();
    let mut puppet = apps.puppet("a");
    let info = apps.until_phase("a", "ready");
    let process = apps.process("a");
    assert_eq!(info["packageId"], id("a"));
    assert_eq!(info["pid"], process.pid);
    assert_eq!(info["restartCount"], 0);
    assert_eq!(info["lastError"], Value::Null, "{info:#}");
    assert!(info["startedAt"].as_u64() > Some(1_600_000_000_000), "{info:#}");
    assert!(info["resourceUsage"]["memoryRss"].as_u64() > Some(1_000_000), "{info:#}");
    // Heartbeats are sent automatically, and each status is stored.
    let beat = |info: &Value| info["lastHeartbeat"].as_u64();
    let first = apps.until("a", "heard", |info| beat(info).is_some());
    apps.until("a", "heartbeats are received again", |info| beat(info) > beat(&first));
    assert_eq!(puppet.eval("app.config"), json!({}));
    assert_eq!(
        apps.operator().ask("apps.stop", json!({ "packageId": id("a") })),
        json!({ "ok": true })
    );
    assert!(!process.is_alive());
    let info = apps.info("a");
    assert_eq!((&info["state"], &info["pid"]), (&json!("stopped"), &Value::Null), "{info:#}");
    // It got the stop request, and cleaned up.
    assert!(apps.folder("a").join("teardown").exists());
    assert!(apps.why("a").contains("exit requested over the app socket"), "{}", apps.why("a"));
    apps.operator().ask("apps.start", json!({ "packageId": id("a") }));
    assert_eq!(apps.info("a")["state"], "ready");
}

/// A1, A2, A5, A7, A9: an app in Python on its SDK: started, ready, beating, stopped, started again.
#[test]
fn an_app_in_python_goes_through_its_states() {
    ostler_e2e::needs!("python3");
    goes_through_its_states(Kind::Python);
}

/// A1, A2, A5, A7, A9: the same in Node.
#[test]
fn an_app_in_node_goes_through_its_states() {
    ostler_e2e::needs!("node", "npm");
    goes_through_its_states(Kind::Node);
}

/// A1, A2, A5, A7, A9, A11: the same in Rust.
#[test]
fn an_app_in_rust_goes_through_its_states() {
    goes_through_its_states(Kind::Rust);
}

/// A1: each state of a unit is one of the five, and this is the mapping.
#[test]
fn every_state_is_one_of_five() {
    ostler_e2e::needs!("python3");
    let body = format!("{SOON}\n{LONG}\nstop = {{ grace = \"20s\" }}");
    let apps = Apps::of("a", Kind::Raw, &body);
    let pair = |state: &str| {
        let info = apps.until_phase("a", state);
        (apps.project.state("a"), info)
    };
    apps.up();
    let mut puppet = apps.puppet("a");
    // Started and registered, but not ready.
    assert_eq!(pair("starting").0, "starting");
    puppet.run("w = Wire(); w.register()");
    assert_eq!(pair("starting").0, "starting");
    puppet.run("w.ask('app.ready')");
    assert_eq!(pair("ready").0, "ready");
    // Stop requested, and not ended yet.
    let stop = apps.project.spawn(&["stop", "a"]);
    assert_eq!(puppet.eval("w.event()")["event"], "shutdown");
    assert_eq!(pair("stopping").0, "stopping");
    puppet.begin("os._exit(0)");
    stop.finish().ok();
    assert_eq!(pair("stopped").0, "stopped");
    // Failed: the error says why.
    let limit =
        "restart = { initial = \"10ms\", max = \"10ms\", limit = { count = 1, window = \"1m\" } }";
    apps.declare("a", &format!("{limit}\n{LONG}\n{QUICK_END}"));
    apps.up();
    apps.project.call(&["start", "--no-wait", "a"]).ok();
    apps.puppet("a").begin("os._exit(7)");
    let (state, info) = pair("error");
    assert_eq!(state, "error", "{info:#}");
    assert!(
        info["lastError"].as_str().is_some_and(|description| description.contains('7')),
        "{info:#}"
    );
}

/// A1: between two starts it is in error, with the restart delay.
#[test]
fn an_app_that_waits_to_be_started_again_is_in_error() {
    ostler_e2e::needs!("python3");
    let body = format!("{QUICK_END}\nrestart = {{ initial = \"1h\", max = \"1h\" }}");
    let apps = Apps::of("a", Kind::Raw, &body);
    apps.up();
    apps.puppet("a").begin("os._exit(3)");
    let info = apps.until_phase("a", "error");
    assert_eq!(apps.project.state("a"), "backoff");
    assert_eq!(info["pid"], Value::Null);
    assert!(info["lastError"].is_string(), "{info:#}");
}

/// A2: the environment has the allow-list, the manifest's and the unit's variables, and those of the socket.
#[test]
fn the_environment_is_what_was_granted() {
    ostler_e2e::needs!("python3");
    let mut apps = Apps::new();
    let granted = json!({ "capabilities": { "resources": { "env": ["GRANTED", "NOT_THERE"] } } });
    for (name, value) in [
        ("GRANTED", "yes"),
        ("SECRET_OF_THE_CALLER", "no"),
        ("LANG", "C.UTF-8"),
        ("TZ", "Europe/Berlin"),
        ("NODE_ENV", "production"),
        ("LC_ALL", "C"),
        ("LD_PRELOAD_X", "no"),
    ] {
        apps.project.home.set(name, value);
    }
    let mut fields = granted;
    // Without a wrapper: one of python or node may have variables of its own.
    fields["command"] = json!(["sleep", "1000"]);
    apps.add_with("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}\nenv.OWN = \"unit's\""), fields);
    apps.up();
    let info = apps.until("a", "running", |info| info["pid"].is_i64());
    let pid = info["pid"].as_i64().expect("a pid") as i32;
    let process = eventually("it is the program itself", || {
        Process::find(pid).filter(|process| process.command().starts_with("sleep"))
    });
    let seen = std::fs::read_to_string(format!("/proc/{pid}/environ")).expect("its environment");
    let socket = apps.project.home.file("kernel.sock");
    let is = |name: &str, value: &str| {
        assert_eq!(process.variable(name).as_deref(), Some(value), "{seen:?}");
    };
    is("GRANTED", "yes");
    is("LANG", "C.UTF-8");
    is("LC_ALL", "C");
    is("TZ", "Europe/Berlin");
    is("NODE_ENV", "production");
    is("OWN", "unit's");
    is("OPENCLAWOS_APP_ID", &id("a"));
    is("OSTLER_HEARTBEAT_MS", "100");
    for name in ["OPENCLAWOS_SOCKET", "OPENCLAWOS_KERNEL_SOCKET", "OPENCLAW_KERNEL_SOCKET"] {
        is(name, socket.to_str().expect("text"));
    }
    assert_eq!(process.variable("OPENCLAWOS_LAUNCH_SECRET").map(|secret| secret.len()), Some(64));
    let known = [
        "GRANTED",
        "LANG",
        "LC_ALL",
        "TZ",
        "NODE_ENV",
        "OWN",
        "PATH",
        "HOME",
        "OPENCLAWOS_APP_ID",
        "OSTLER_HEARTBEAT_MS",
        "OPENCLAWOS_SOCKET",
        "OPENCLAWOS_KERNEL_SOCKET",
        "OPENCLAW_KERNEL_SOCKET",
        "OPENCLAWOS_LAUNCH_SECRET",
        "E2E_UNIT",
        "OSTLER_E2E",
        // Which run it is, for every run.
        "OSTLER_RUN_ID",
    ];
    let names = seen.split_terminator('\0').filter_map(|entry| entry.split_once('='));
    let more: Vec<_> = names.filter(|(name, _)| !known.contains(name)).collect();
    assert!(more.is_empty(), "{more:?}");
}

/// A2: an app that never registers fails with that error.
#[test]
fn an_app_that_never_registers_fails() {
    ostler_e2e::needs!("python3");
    let once = "restart = { initial = \"10ms\", limit = { count = 1, window = \"1m\" } }";
    let body = format!("{once}\n{QUICK_END}\nready = {{ register = \"300ms\", timeout = \"1h\" }}");
    let apps = Apps::of("a", Kind::Raw, &body);
    apps.up();
    // It runs, and may even be connected.
    let mut puppet = apps.puppet("a");
    puppet.run("w = Wire()");
    let info = apps.until_phase("a", "error");
    puppet.until_gone();
    let description = "app.register not called within 300 ms";
    assert!(apps.why("a").contains(description), "{}", apps.why("a"));
    assert!(info["lastError"].as_str().is_some_and(|error| !error.is_empty()), "{info:#}");
}

/// A2: an app that registers but is never ready has another deadline and error.
#[test]
fn an_app_that_is_never_ready_fails() {
    ostler_e2e::needs!("python3");
    let once = "restart = { initial = \"10ms\", limit = { count = 1, window = \"1m\" } }";
    let body = format!(
        "{once}\n{QUICK_END}\n{LONG}\nready = {{ register = \"30s\", timeout = \"300ms\" }}"
    );
    let apps = Apps::of("a", Kind::Raw, &body);
    apps.up();
    let mut puppet = apps.puppet("a");
    puppet.run("w = Wire(); w.register()");
    apps.until_phase("a", "error");
    let description = "registered, but app.ready not called within 300 ms";
    assert!(apps.why("a").contains(description), "{}", apps.why("a"));
}

/// A2: `ostler up` waits for an app, and fails if the app does.
#[test]
fn up_waits_for_an_apps_readiness() {
    ostler_e2e::needs!("python3");
    let once = "restart = { initial = \"10ms\", limit = { count = 1, window = \"1m\" } }";
    let apps = Apps::of(
        "a",
        Kind::Raw,
        &format!("{once}\n{QUICK_END}\n{LONG}\nready = {{ register = \"300ms\" }}"),
    );
    apps.write();
    let failed = apps.project.call(&["up"]);
    assert_ne!(failed.code, 0, "{failed:?}");
    let output = failed.text() + &failed.stderr;
    assert!(output.contains("not ready in time"), "{output}");
    assert!(apps.why("a").contains("app.register not called within 300 ms"), "{}", apps.why("a"));
    drop(apps.puppet("a"));
    apps.declare("a", LONG);
    apps.write();
    let up = apps.project.spawn(&["up"]);
    let mut puppet = apps.puppet("a");
    puppet.run("w = become_ready()");
    up.finish().ok();
    assert_eq!(apps.info("a")["state"], "ready");
    puppet.begin("w.event(); os._exit(0)");
}

/// A2: an app that exits before it registers fails with its own exit code.
#[test]
fn an_app_that_exits_before_it_registers_fails_with_its_code() {
    ostler_e2e::needs!("python3");
    let once = "restart = { initial = \"10ms\", limit = { count = 1, window = \"1m\" } }";
    let apps = Apps::of("a", Kind::Raw, &format!("{once}\n{QUICK_END}"));
    apps.up();
    apps.puppet("a").begin("os._exit(42)");
    apps.until_phase("a", "error");
    assert!(apps.why("a").contains("exit 42"), "{}", apps.why("a"));
}

/// A2: a manifest is checked before anything is started, and errors name the file.
#[test]
fn an_invalid_manifest_starts_nothing() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, "");
    let wrong = json!({ "capabilities": { "resources": { "env": ["A=B"], "limits": { "maxMemory": 5 } } } });
    apps.add_with("b", Kind::Raw, "", wrong);
    apps.write();
    let output = apps.project.call(&["up"]);
    assert_ne!(output.code, 0, "{output:?}");
    let text = output.text() + &output.stderr;
    assert!(text.contains("b/openclawos.manifest.json"), "{text}");
    assert!(text.contains("A=B") && text.contains("maxMemory"), "{text}");
    assert!(!apps.has_new_puppet("a") && !apps.has_new_puppet("b"));
    assert_eq!(apps.project.home.processes_of_runs(), []);
    let check = apps.project.call(&["check"]);
    assert_ne!(check.code, 0, "{check:?}");
}

/// A2: `main` runs by its kind, and an executable file runs itself.
#[test]
fn main_runs_by_its_kind() {
    ostler_e2e::needs!("python3");
    let apps = Apps::new();
    apps.add_with("own", Kind::Raw, &format!("{LONG}\n{QUICK_END}"), json!({ "main": "program" }));
    let program = apps.folder("own").join("program");
    std::fs::write(&program, "#!/bin/sh\nexec python3 \"$(dirname \"$0\")/main.py\"\n")
        .expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let command = json!({ "command": ["python3", "-u", "main.py"] });
    apps.add_with("command", Kind::Raw, &format!("{LONG}\n{QUICK_END}"), command);
    apps.up();
    for name in ["own", "command"] {
        let mut puppet = apps.ready_puppet(name);
        assert_eq!(puppet.eval("os.getcwd()"), apps.folder(name).to_str().expect("text"));
    }
    assert!(apps.process("command").arguments().contains(&"-u".to_owned()));
}

/// A2: the socket is the user's own.
#[test]
fn the_socket_is_the_users_own() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, QUICK_END);
    apps.up();
    apps.puppet("a");
    let about =
        std::fs::metadata(apps.project.home.file("kernel.sock")).expect("the socket exists");
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
}

/// A2: the configuration of the unit is merged over the schema's defaults; a running app gets changes.
#[test]
fn an_app_gets_its_configuration() {
    ostler_e2e::needs!("python3", "node", "npm");
    for kind in [Kind::Python, Kind::Node, Kind::Rust] {
        let apps = Apps::new();
        let schema = json!({ "configSchema": { "type": "object", "properties": {
            "level": { "type": "integer", "default": 1 },
            "name": { "type": "string" },
        } } });
        apps.add_with("a", kind, &format!("{LONG}\nconfig = {{ name = \"one\" }}"), schema);
        apps.up();
        let mut puppet = apps.puppet("a");
        apps.until_phase("a", "ready");
        let process = apps.process("a");
        assert_eq!(puppet.eval("app.config"), json!({ "level": 1, "name": "one" }));
        assert_eq!(apps.info("a")["config"], json!({ "level": 1, "name": "one" }));
        apps.declare("a", &format!("{LONG}\nconfig = {{ name = \"two\", level = 7 }}"));
        apps.write();
        apps.project.call(&["reload"]).ok();
        let expected = json!({ "level": 7, "name": "two" });
        eventually("the app gets the change", || {
            (puppet.eval("app.config") == expected).then_some(())
        });
        let description = puppet.eval("app.told");
        assert_eq!(description.as_array().map(Vec::len), Some(1), "{description:#}");
        assert_eq!(description[0]["version"], apps.info("a")["configVersion"]);
        assert_eq!(apps.process("a"), process);
    }
}
