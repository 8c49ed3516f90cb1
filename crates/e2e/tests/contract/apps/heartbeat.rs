//! Liveness of an app: by heartbeats over its socket, or by sd_notify as for systemd.

use crate::apps::setup::{Apps, Kind, LONG, QUICK_END, SHORT, SOON};
use crate::units::setup::Project;
use ostler_e2e::{Process, eventually};
use serde_json::json;
use std::time::Instant;

/// Unhealthy well before it counts as dead.
const SLOW_DEATH: &str = "heartbeat = { interval = \"100ms\", timeout = \"300ms\", misses = 600 }";

/// A5: after three missed heartbeats an app is restarted, and `why` has the figures.
#[test]
fn an_app_that_misses_heartbeats_is_restarted() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.puppet("a");
    puppet.run("w = become_ready()");
    puppet.until_gone();
    apps.puppet("a").run("w = become_ready(); heart = Heart(w.token, 0.02)");
    let why = apps.until_why("a", "heartbeats missed: silent for");
    assert!(why.contains("no heartbeat for") && why.contains("(timeout 300 ms)"), "{why}");
    assert!(why.contains("expected every 100 ms"), "{why}");
    let info = apps.until_phase("a", "ready");
    assert_eq!(info["restartCount"], 1, "{info:#}");
    assert!(
        info["ends"][0]["description"]
            .as_str()
            .is_some_and(|description| description.contains("unhealthy")),
        "{info:#}"
    );
}

/// A5: unhealthy at the timeout, before it counts as dead; the next beat makes it healthy again.
#[test]
fn a_silent_app_is_unhealthy_first() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SLOW_DEATH}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let process = apps.process("a");
    let info = apps.until("a", "not well", |info| info["state"] == "error");
    let error = info["lastError"].as_str().expect("words");
    assert!(error.contains("no heartbeat for"), "{error}");
    assert_eq!(info["pid"], process.pid);
    puppet.run("w.ask('app.heartbeat')");
    apps.until_phase("a", "ready");
    assert_eq!(apps.process("a"), process);
    assert_eq!(apps.info("a")["restartCount"], 0);
}

/// A5: an app with heartbeats lives, and its status is stored.
#[test]
fn an_app_with_heartbeats_lives() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{LONG}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.ready_puppet("a");
    let answer =
        puppet.eval("w.ask('app.heartbeat', {'status': {'status': 'degraded', 'queue': 3}})");
    let info = apps.info("a");
    assert_eq!(info["health"], json!({ "status": "degraded", "queue": 3 }));
    let (server, last) = (answer["serverTime"].as_u64(), info["lastHeartbeat"].as_u64());
    assert!(last.expect("a time").abs_diff(server.expect("a time")) < 1_000, "{info:#}");
    // Without a status, the last one stays.
    puppet.run("w.ask('app.heartbeat')");
    assert_eq!(apps.info("a")["health"]["queue"], 3);
    assert_eq!(apps.info("a")["state"], "ready");
}

/// A5: silence during a declared busy time is allowed; the next beat ends the busy time.
#[test]
fn a_busy_app_may_be_silent() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    let ways = [
        ("until", "'busyUntil': int(time.time() * 1000) + 3600000"),
        ("for", "'busyFor': 3600000"),
    ];
    for (name, _) in ways {
        apps.add(name, Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    }
    apps.up();
    let mut puppets = ways.map(|(name, busy)| {
        let mut puppet = apps.puppet(name);
        puppet.run(&format!(
            "w = Wire(); w.register(); w.ask('app.heartbeat', {{{busy}}}); w.ask('app.ready')"
        ));
        (name, puppet)
    });
    // Three times as long as another app takes to be restarted for the same silence.
    let began = Instant::now();
    apps.ready_puppet_of_silence("a");
    let death = began.elapsed();
    eventually("some time has passed", || (began.elapsed() > death * 3).then_some(()));
    for (name, puppet) in &mut puppets {
        let info = apps.info(name);
        assert_eq!(
            (&info["state"], &info["restartCount"]),
            (&json!("ready"), &json!(0)),
            "{info:#}"
        );
        // It reports that it is done, and stays silent.
        puppet.run("w.ask('app.heartbeat')");
        puppet.until_gone();
        apps.until_why(name, "heartbeats missed");
    }
}

/// A5: until it registers and is ready, its silence has another deadline; and its beats before count.
#[test]
fn the_start_has_a_deadline_of_its_own() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.add("b", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut slow = apps.puppet("a");
    slow.run("w = Wire(); w.register()");
    // The other app starts, is silent and is restarted: this one is silent for as long.
    apps.ready_puppet_of_silence("b");
    let info = apps.info("a");
    assert_eq!(
        (&info["state"], &info["restartCount"]),
        (&json!("starting"), &json!(0)),
        "{info:#}"
    );
    slow.run("w.ask('app.ready'); heart = Heart(w.token, 0.02)");
    apps.until_phase("a", "ready");
}

/// A5: an app that closes its socket and goes on counts as silent.
#[test]
fn an_app_without_a_connection_counts_as_silent() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.puppet("a");
    puppet.run("w = become_ready(); w.socket.close()");
    puppet.until_gone();
    apps.until_why("a", "heartbeats missed");
}

/// A5: an app on an SDK whose loop hangs is restarted, but not during a declared busy time.
#[track_caller]
fn hangs(kind: Kind, busy: &str, done: &str, hang: &str) {
    let body = format!(
        "heartbeat = {{ interval = \"100ms\", timeout = \"1s\", misses = 10 }}\n{SOON}\n{QUICK_END}"
    );
    let apps = Apps::of("a", kind, &body);
    apps.up();
    let mut puppet = apps.puppet("a");
    apps.until_phase("a", "ready");
    let process = apps.process("a");
    puppet.run(&format!("{busy}\n{hang}"));
    assert_eq!(apps.process("a"), process);
    assert_eq!(apps.info("a")["restartCount"], 0);
    // Afterwards its heartbeats are sent automatically.
    apps.until_phase("a", "ready");
    puppet.run(done);
    puppet.begin(hang);
    process.wait_gone();
    apps.until_why("a", "heartbeats missed");
    apps.puppet("a");
    apps.until_phase("a", "ready");
}

/// A5: in Python.
#[test]
fn an_app_in_python_that_hangs_is_restarted() {
    ostler_e2e::needs!("python3");
    hangs(Kind::Python, "await app.busy_for(60)", "await app.busy_for(0)", "time.sleep(3)");
}

/// A5: in Node.
#[test]
fn an_app_in_node_that_hangs_is_restarted() {
    ostler_e2e::needs!("node", "npm");
    let hang = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000)";
    hangs(Kind::Node, "await app.busyFor(60000);", "await app.busyFor(0)", hang);
}

/// A5: an app that announced its exit may be silent, and its exit counts as its own.
#[test]
fn an_app_that_announced_its_exit_may_be_silent() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of(
        "a",
        Kind::Raw,
        &format!("{SHORT}\n{QUICK_END}\nrestart = {{ when = \"on-failure\" }}"),
    );
    apps.add("b", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.puppet("a");
    puppet.run(
        "w = become_ready(); w.ask('app.shutdown', {'reason': 'work is done', 'timeout': 60000})",
    );
    apps.ready_puppet_of_silence("b");
    assert_eq!(apps.info("a")["restartCount"], 0);
    puppet.begin("os._exit(0)");
    apps.until("a", "over", |info| info["pid"].is_null());
    let why = apps.why("a");
    assert!(why.contains("work is done"), "{why}");
    assert!(!why.contains("no heartbeat"), "{why}");
}

impl Apps {
    /// An app that becomes ready, is silent, and is killed for that.
    #[track_caller]
    fn ready_puppet_of_silence(&self, name: &str) {
        let before = self.info(name)["restartCount"].as_u64().expect("a number");
        self.puppet(name).run("w = become_ready()");
        self.until(name, "restarted", |info| info["restartCount"].as_u64() > Some(before));
    }
}

/// A Python program with sd_notify messages.
fn speaker(words: &str) -> String {
    format!(
        "command = [\"python3\", \"-c\", '''\n\
         import os, socket, sys, time\n\
         s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n\
         def say(text): s.sendto(text.encode(), os.environ[\"NOTIFY_SOCKET\"])\n\
         def until(name):\n\
         \x20   while not os.path.exists(name): time.sleep(0.01)\n\
         {words}\n\
         while True: time.sleep(100)\n\
         ''']\n{SOON}\n{QUICK_END}\n"
    )
}

fn touch(project: &Project, name: &str) {
    std::fs::write(project.path(name), "").expect("written");
}

/// A5: sd_notify: READY=1 makes a program ready, WATCHDOG=1 keeps it alive; without it, it is restarted.
#[test]
fn sd_notify_watchdog_messages_are_heartbeats() {
    ostler_e2e::needs!("python3");
    let words = "until('go')\nsay('READY=1')\nwhile not os.path.exists('silent'):\n    say('STATUS=well\\nWATCHDOG=1')\n    time.sleep(0.05)";
    let body = speaker(words)
        + "ready = { notify = true }\nheartbeat = { interval = \"100ms\", timeout = \"1s\", misses = 10 }";
    let project = Project::of(&[("a", &body)]);
    project.call(&["up", "--no-wait"]).ok();
    let view = project.until("a", "running", |view| view["pid"].is_i64());
    assert_eq!(view["state"], "starting", "{view:#}");
    touch(&project, "go");
    project.until_state("a", "ready");
    let process = project.process("a");
    assert_eq!(process.variable("WATCHDOG_USEC").as_deref(), Some("1000000"));
    assert!(process.variable("NOTIFY_SOCKET").is_some());
    assert_eq!(process.variable("OPENCLAWOS_SOCKET"), None);
    let began = Instant::now();
    eventually("it sends heartbeats for longer than the allowed silence", || {
        (began.elapsed().as_secs() >= 2).then_some(())
    });
    assert_eq!(project.process("a"), process);
    touch(&project, "silent");
    process.wait_gone();
    let why = eventually("the restart is journaled", || {
        Some(project.call(&["why", "a"]).ok().text())
            .filter(|why| why.contains("heartbeats missed"))
    });
    assert!(why.contains("no heartbeat for"), "{why}");
}

/// A5: EXTEND_TIMEOUT_USEC gives more time to become ready, and to be silent.
#[test]
fn sd_notify_can_extend_the_timeout() {
    ostler_e2e::needs!("python3");
    let words = "say('EXTEND_TIMEOUT_USEC=60000000')\nuntil('go')\nsay('READY=1')\nuntil('never')";
    let body = speaker(words) + "ready = { notify = true, timeout = \"3s\" }";
    let other = speaker("until('never')") + "ready = { notify = true, timeout = \"3s\" }";
    let project = Project::of(&[("a", &body), ("other", &other)]);
    project.call(&["up", "--no-wait"]).ok();
    let process = project.until("a", "running", |view| view["pid"].is_i64())["pid"].clone();
    // The program that did not ask for more time fails.
    project.until("other", "given up", |view| view["restarts"].as_u64() >= Some(2));
    assert_eq!(project.view("a")["pid"], process);
    touch(&project, "go");
    project.until_state("a", "ready");
    let why = project.call(&["why", "other"]).ok().text();
    assert!(why.contains("READY=1 not received"), "{why}");
}

/// A5: after STOPPING=1 silence is allowed.
#[test]
fn sd_notify_stopping_allows_silence() {
    ostler_e2e::needs!("python3");
    let beats = "heartbeat = { interval = \"100ms\", timeout = \"1s\", misses = 10 }\nready = { notify = true }";
    let stops = speaker("say('READY=1')\nsay('STOPPING=1')\nuntil('never')") + beats;
    let silent = speaker("say('READY=1')\nuntil('never')") + beats;
    let project = Project::of(&[("stops", &stops), ("silent", &silent)]);
    project.up();
    let process: Process = project.process("stops");
    project.until("silent", "restarted", |view| view["restarts"].as_u64() >= Some(1));
    project.until("silent", "restarted again", |view| view["restarts"].as_u64() >= Some(2));
    assert_eq!(project.process("stops"), process);
}
