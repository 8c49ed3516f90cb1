//! Whether an app lives: by its own word, over its socket or as to systemd.

use crate::apps_setup::{Apps, Kind, LONG, QUICK_END, SHORT, SOON};
use crate::units::Project;
use ostler_e2e::{Process, eventually};
use serde_json::json;
use std::time::Instant;

/// Unhealthy well before it is dead.
const SLOW_DEATH: &str = "heartbeat = { interval = \"100ms\", timeout = \"300ms\", misses = 600 }";

/// A5: three missed: restarted, and everything that was judged is told.
#[test]
fn silence_is_death() {
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

/// A5: unhealthy at the timeout, before it is dead; the next beat makes it well again.
#[test]
fn silence_is_unhealthy_first() {
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

/// A5: who beats lives, and what it says of itself is kept.
#[test]
fn who_beats_lives() {
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
    // Without one, the last stays.
    puppet.run("w.ask('app.heartbeat')");
    assert_eq!(apps.info("a")["health"]["queue"], 3);
    assert_eq!(apps.info("a")["state"], "ready");
}

/// A5: silence inside of what was declared is not death; the next beat takes it back.
#[test]
fn busy_is_not_death() {
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
    // As long as another one takes to die of the same silence, three times over.
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
        // It says that it is done, and is silent all the same.
        puppet.run("w.ask('app.heartbeat')");
        puppet.until_gone();
        apps.until_why(name, "heartbeats missed");
    }
}

/// A5: until it registers and is ready, its silence has another deadline; and its own beats before count.
#[test]
fn the_time_to_start_is_apart() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.add("b", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut slow = apps.puppet("a");
    slow.run("w = Wire(); w.register()");
    // The other one starts, is silent and dies: as long as this one is silent.
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

/// A5: an app that closes its socket and lives on is silent too.
#[test]
fn without_a_connection_it_is_silent() {
    ostler_e2e::needs!("python3");
    let apps = Apps::of("a", Kind::Raw, &format!("{SHORT}\n{SOON}\n{QUICK_END}"));
    apps.up();
    let mut puppet = apps.puppet("a");
    puppet.run("w = become_ready(); w.socket.close()");
    puppet.until_gone();
    apps.until_why("a", "heartbeats missed");
}

/// A5: an app on an SDK whose loop hangs is restarted; one that declared it is not.
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
    // Back from it, its heart beats by itself.
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

/// A5: an app that says it is leaving is not judged for its silence meanwhile, and its end is its own.
#[test]
fn an_app_that_leaves_is_not_judged() {
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
    /// Becomes ready, is silent, and is killed for that.
    #[track_caller]
    fn ready_puppet_of_silence(&self, name: &str) {
        let before = self.info(name)["restartCount"].as_u64().expect("a number");
        self.puppet(name).run("w = become_ready()");
        self.until(name, "restarted", |info| info["restartCount"].as_u64() > Some(before));
    }
}

/// What a program says to systemd, in python.
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

/// A5: a program that speaks to systemd: READY=1 makes it ready, WATCHDOG=1 keeps it alive, its absence does not.
#[test]
fn a_watchdog_as_to_systemd() {
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
    eventually("it beats for longer than its silence may last", || {
        (began.elapsed().as_secs() >= 2).then_some(())
    });
    assert_eq!(project.process("a"), process);
    touch(&project, "silent");
    process.wait_gone();
    let why = eventually("it is told", || {
        Some(project.call(&["why", "a"]).ok().text())
            .filter(|why| why.contains("heartbeats missed"))
    });
    assert!(why.contains("no heartbeat for"), "{why}");
}

/// A5: EXTEND_TIMEOUT_USEC gives more time to become ready, and to be silent.
#[test]
fn more_time_as_to_systemd() {
    ostler_e2e::needs!("python3");
    let words = "say('EXTEND_TIMEOUT_USEC=60000000')\nuntil('go')\nsay('READY=1')\nuntil('never')";
    let body = speaker(words) + "ready = { notify = true, timeout = \"3s\" }";
    let other = speaker("until('never')") + "ready = { notify = true, timeout = \"3s\" }";
    let project = Project::of(&[("a", &body), ("other", &other)]);
    project.call(&["up", "--no-wait"]).ok();
    let process = project.until("a", "running", |view| view["pid"].is_i64())["pid"].clone();
    // The one that did not ask is given up.
    project.until("other", "given up", |view| view["restarts"].as_u64() >= Some(2));
    assert_eq!(project.view("a")["pid"], process);
    touch(&project, "go");
    project.until_state("a", "ready");
    let why = project.call(&["why", "other"]).ok().text();
    assert!(why.contains("READY=1 not received"), "{why}");
}

/// A5: STOPPING=1: its silence from then on is not judged.
#[test]
fn stopping_as_to_systemd() {
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
