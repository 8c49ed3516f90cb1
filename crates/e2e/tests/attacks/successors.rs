//! Supervisors that are replaced during upgrades and during calls.

use ostler_e2e::{Background, Home, Registry, Signal, eventually, helper};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;
use std::time::Duration;

/// Supervisors are restarted soon, and a candidate's trial is short (debug builds).
fn quick(mut home: Home) -> Home {
    home.set("OSTLER_WAIT_MS", "50");
    home.set("OSTLER_TRIAL_MS", "2000");
    home
}

/// A file of the test, owned by the home's user.
fn put(home: &Home, name: &str, bytes: &[u8]) -> PathBuf {
    let path = home.folder().join(name);
    std::fs::write(&path, bytes).expect("written");
    let folder = std::fs::metadata(home.folder()).expect("a folder");
    chown(&path, Some(folder.uid()), Some(folder.gid())).expect("given");
    path
}

fn program(home: &Home) -> PathBuf {
    let bytes = std::fs::read(helper!("false_successor")).expect("the helper");
    let path = put(home, "false_successor.new", &bytes);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("mode");
    let named = home.folder().join("false_successor");
    std::fs::rename(path, &named).expect("renamed");
    named
}

fn declare(home: &Home, units: &str) -> String {
    put(home, "ostler.toml", units.as_bytes()).to_str().expect("text").to_owned()
}

fn view(home: &Home, unit: &str) -> Value {
    let listed = home.ostler(&["ls", "--all", "--json"]).ok().json();
    let found = listed.as_array().and_then(|all| all.iter().find(|view| view["unit"] == unit));
    found.cloned().unwrap_or_default()
}

fn pid(home: &Home, unit: &str) -> i32 {
    eventually("the unit runs", || {
        let view = view(home, unit);
        view["pid"].as_i64().filter(|_| view["state"] == "ready")
    }) as i32
}

/// D10: if a new program fails at any point, also after it has migrated the registry, the old one goes on: with the same runs and
/// units, and it supervises them.
#[test]
fn an_upgrade_that_fails_after_its_migration_leaves_everything_as_it_was() {
    for home in crate::both() {
        let home = quick(home);
        let file = declare(
            &home,
            "[units.web]\ncommand = [\"sleep\", \"1000\"]\nrestart = { initial = \"0\", limit = { count = 0, window = \"1s\" } }\n",
        );
        home.ostler(&["up", "-f", &file]).ok();
        let run = home.start(&[], &["sleep", "1000"]);
        let root = home.root(&run);
        let version = || Registry::open(&home).number("PRAGMA user_version");
        let known = version();
        let new = program(&home);
        for step in ["at-once", "migrated", "renamed", "dies", "forgets", "hangs"] {
            put(&home, "step", step.as_bytes());
            let before = pid(&home, "web");
            let output = home.ostler(&["upgrade", new.to_str().expect("text")]);
            assert_eq!(output.code, 1, "{step}: {output:?}");
            assert!(output.stderr.contains("the old program continues"), "{step}: {output:?}");
            assert_eq!(version(), known, "{step}");
            assert_eq!(home.root(&run), root, "{step}: the run is known and running");
            assert_eq!(pid(&home, "web"), before, "{step}: the unit was not touched");
            ostler_e2e::signal(before, Signal::KILL);
            eventually("the unit is supervised: it is restarted", || {
                (pid(&home, "web") != before).then_some(())
            });
            assert!(!home.file("registry.db.before-upgrade").exists(), "{step}: no copy is left");
        }
        let events = home.ostler(&["events"]).ok().text();
        assert!(
            events.contains("rollback") && events.contains("the registry was restored"),
            "{events}"
        );
    }
}

/// D10: without space for a copy there is no way back: the upgrade is refused, and the supervisor is not replaced.
#[test]
fn an_upgrade_without_a_way_back_is_refused() {
    let home = quick(Home::new());
    home.ostler(&["start"]).ok();
    let supervisor = home.supervisor_pid();
    // A folder of this name cannot be replaced by a file.
    std::fs::create_dir_all(home.file("registry.db.before-upgrade/x")).expect("a folder");
    let output = home.ostler(&["upgrade", Home::binary().to_str().expect("text")]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("cannot copy the registry to"), "{output:?}");
    assert_eq!(home.supervisor_pid(), supervisor);
    std::fs::remove_dir_all(home.file("registry.db.before-upgrade")).expect("removed");
}

/// Kills the supervisor repeatedly, until the call is over.
fn killing(home: &Home, mut call: Background, kills: u32) -> ostler_e2e::Output {
    for _ in 0..kills {
        if call.is_over() {
            break;
        }
        if let Some(supervisor) = home.supervisor() {
            supervisor.signal(Signal::KILL);
            supervisor.wait_gone();
        }
        eventually("the next supervisor exists", || home.supervisor());
        // The delay between two kills: the supervisor may have received the request, and has not finished the work.
        std::thread::sleep(Duration::from_millis(150));
    }
    call.finish()
}

#[track_caller]
fn assert_done(what: &str, output: &ostler_e2e::Output) {
    assert_eq!(output.code, 0, "{what}: {output:?}");
    assert!(!output.stderr.contains("lost"), "{what}: {output:?}");
}

/// D17: commands that wait for a unit or a run continue with the next supervisor, and the work is done.
#[test]
fn commands_that_wait_continue_with_the_next_supervisor() {
    for home in crate::both() {
        let home = quick(home);
        let slow = "command = [\"sh\", \"-c\", \"trap 'sleep 2; exit 0' TERM; echo up; while :; do sleep 0.1; done\"]\n\
                    ready = { delay = \"2s\" }\nstop = { grace = \"20s\" }\n";
        let file = declare(&home, &format!("[units.a]\n{slow}\n[units.b]\n{slow}"));
        assert_done("up", &killing(&home, home.spawn(&["up", "-f", &file]), 2));
        assert_eq!(view(&home, "a")["state"], "ready");
        let before = view(&home, "a")["runId"].clone();
        assert_done("restart", &killing(&home, home.spawn(&["restart", "a"]), 2));
        let after = view(&home, "a");
        assert_eq!(after["state"], "ready", "{after}");
        assert_ne!(after["runId"], before);
        assert_eq!(after["restarts"], 1, "once: {after}");
        assert_done("stop", &killing(&home, home.spawn(&["stop", "a"]), 2));
        assert_eq!(view(&home, "a")["state"], "stopped");
        assert_done("start", &killing(&home, home.spawn(&["start", "a"]), 2));
        assert_eq!(view(&home, "a")["state"], "ready");
        assert_done("reload", &killing(&home, home.spawn(&["reload", "-f", &file]), 1));
        let run = home
            .start(&[], &["sh", "-c", "trap 'sleep 2; exit 0' TERM; while :; do sleep 0.1; done"]);
        let waiting = home.spawn(&["wait", &run]);
        assert_done("cancel", &killing(&home, home.spawn(&["cancel", &run, "--json"]), 1));
        assert_done("wait", &waiting.finish());
        assert_done("down", &killing(&home, home.spawn(&["down", "-f", &file]), 1));
        assert_eq!(view(&home, "a"), Value::Null);
        eventually("no process of it is left", || {
            home.processes_of_runs().is_empty().then_some(())
        });
    }
}

/// D17: every other command is answered by the next supervisor.
#[test]
fn commands_are_answered_by_the_next_supervisor() {
    let home = quick(Home::new());
    let file = declare(&home, "[units.a]\ncommand = [\"sleep\", \"1000\"]\n");
    home.ostler(&["up", "-f", &file]).ok();
    let run = home.start(&["--stdin"], &["cat"]);
    let run = run.as_str();
    let folder = home.folder().join("runs");
    let folder = folder.to_str().expect("text");
    for verb in [
        &["ls", "--json"][..],
        &["runs", "--json"],
        &["status", "a", "--json"],
        &["why", "a", "--json"],
        &["why", run, "--json"],
        &["events", "--json"],
        &["metrics"],
        &["logs", run],
        &["write", run, "--text", "x\n"],
        &["run", "-d", "--cwd", "/", "--", "touch", folder],
        &["run", "--", "true"],
        &["start", "a"],
        &["up", "-f", &file],
        &["reload", "-f", &file, "--dry-run"],
        &["start"],
    ] {
        for stopped in [true, false] {
            let supervisor = eventually("a supervisor", || home.supervisor());
            if stopped {
                // It accepts the call and never answers.
                supervisor.signal(Signal::STOP);
            }
            let call = home.spawn(verb);
            if stopped {
                eventually("the call waits for its answer", || waits_at_a_socket(&call.process()));
            }
            supervisor.signal(Signal::KILL);
            supervisor.wait_gone();
            let output = call.finish();
            // Only whether sent input was received cannot be known.
            if verb[0] == "write" && output.code != 0 {
                assert!(output.stderr.contains("bytes were sent"), "{verb:?}: {output:?}");
                continue;
            }
            assert_done(&format!("{verb:?}"), &output);
            eventually("the next supervisor exists", || home.supervisor());
        }
    }
    assert!(home.ostler(&["cancel", run]).code == 0);
}

/// D10, D17: an upgrade during commands that wait, request and follow.
#[test]
fn commands_continue_across_an_upgrade() {
    let home = quick(Home::new());
    let file =
        declare(&home, "[units.a]\ncommand = [\"sleep\", \"1000\"]\nready = { delay = \"3s\" }\n");
    home.ostler(&["start"]).ok();
    let up = home.spawn(&["up", "-f", &file]);
    eventually("the unit is being started", || {
        (view(&home, "a")["state"] == "starting").then_some(())
    });
    let run = home.start(&[], &["sleep", "2"]);
    let waiting = home.spawn(&["wait", &run]);
    home.ostler(&["upgrade", Home::binary().to_str().expect("text")]).ok();
    assert_done("up", &up.finish());
    assert_done("wait", &waiting.finish());
}

/// D18: the daemon logs its own events in `ostler.log`: starts, adoptions, crashes, refusals, upgrades.
#[test]
fn the_daemon_logs_its_own_events() {
    for home in crate::both() {
        let home = quick(home);
        let file = declare(&home, "[units.bad]\ncommand = [\"sh\", \"-c\", \"exit 3\"]\n");
        home.start(&[], &["sleep", "1000"]);
        home.ostler(&["up", "-f", &file]);
        let log = || std::fs::read_to_string(home.file("ostler.log")).unwrap_or_default();
        let until = |text: &str| {
            eventually(text, || log().contains(text).then_some(()));
        };
        until("supervisor-started");
        until("unit bad");
        home.kill_supervisor();
        until("guardian: the supervisor crashed");
        until("adopted: run");
        eventually("the supervisor answers", || (home.ostler(&["ls"]).code == 0).then_some(()));
        home.ostler(&["upgrade", "/bin/false"]);
        until("handed-over");
        until("guardian: going back to the old executable");
        home.ostler(&["stop"]).ok();
        until("supervisor-stopped");
        assert!(
            log().lines().all(|line| line.starts_with("20")),
            "each line has its time: {}",
            log()
        );
    }
}

/// Whether a process has a socket open and sleeps: its request is sent, and the answer is not there.
fn waits_at_a_socket(process: &ostler_e2e::Process) -> Option<()> {
    let files = std::fs::read_dir(format!("/proc/{}/fd", process.pid)).ok()?;
    let has_socket = files.flatten().any(|file| {
        std::fs::read_link(file.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
    });
    (has_socket && process.state() == Some('S')).then_some(())
}
