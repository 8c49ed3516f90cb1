//! `ostler status` shows the processes that the kernel reports, whatever the files say.

use crate::daemon::setup::{
    Daemon, pid_in_file, quick_home, replace_supervisor, state_file, status,
};
use ostler_e2e::{Bystander, Home, Signal, eventually};
use serde_json::{Value, json};

const FIELDS: [&str; 10] = [
    "crashCount",
    "supervisorPid",
    "home",
    "lastCrashAtMs",
    "pid",
    "running",
    "startedAtMs",
    "units",
    "uptimeMs",
    "version",
];

#[track_caller]
fn assert_fields(status: &Value) {
    for field in FIELDS {
        assert!(status.get(field).is_some(), "no {field} in {status}");
    }
}

/// The milliseconds since 1970 of a time such as `2026-11-19T04:10:43Z`.
#[track_caller]
fn wall_ms(time: &Value) -> u64 {
    let text = time.as_str().expect("a time");
    let part = |at: std::ops::Range<usize>| text[at].parse::<i64>().expect("a number");
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    // Years that begin in March, so that a leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469;
    let seconds = days * 86_400 + part(11..13) * 3_600 + part(14..16) * 60 + part(17..19);
    u64::try_from(seconds).expect("after 1970") * 1_000
}

fn line<'a>(text: &'a str, what: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(what)).map(str::trim)
}

/// D7: a running daemon, as text and as JSON.
#[test]
fn status_of_a_running_daemon() {
    let home = quick_home();
    let daemon = Daemon::start(&home);
    home.start(&[], &["sleep", "966"]);
    let text = home.ostler(&["status"]).ok().text();
    assert_eq!(line(&text, "Daemon:"), Some("running"), "{text}");
    let pids =
        format!("{} (guardian), {} (supervisor)", daemon.guardian.pid, daemon.supervisor.pid);
    assert_eq!(line(&text, "PID:"), Some(pids.as_str()), "{text}");
    assert!(line(&text, "Uptime:").is_some_and(|description| description.ends_with('s')), "{text}");
    assert_eq!(line(&text, "Crashes:"), Some("0 since start"), "{text}");
    let json = status(&home);
    assert_fields(&json);
    assert_eq!(json["running"], true);
    assert_eq!(json["pid"], daemon.guardian.pid);
    assert_eq!(json["supervisorPid"], daemon.supervisor.pid);
    assert_eq!((&json["crashCount"], &json["lastCrashAtMs"]), (&json!(0), &Value::Null));
    assert_eq!(json["startedAtMs"], wall_ms(&state_file(&home)["started_at"]));
    assert_eq!(json["home"].as_str(), home.path().to_str());
    assert!(json["uptimeMs"].as_u64().is_some_and(|ms| ms < 600_000), "{json}");
    assert!(json["version"].is_string());
    assert!(json["units"].is_array());

    let next = replace_supervisor(&home);
    let text = home.ostler(&["status"]).ok().text();
    assert!(
        text.contains(&format!("{} (guardian), {} (supervisor)", daemon.guardian.pid, next.pid))
    );
    let crashes = line(&text, "Crashes:").expect("a line");
    assert!(crashes.starts_with("1 since start (last: "), "{text}");
    assert_eq!(status(&home)["lastCrashAtMs"], wall_ms(&state_file(&home)["last_crash_at"]));
}

/// D7: between two supervisors the guardian is shown, and no supervisor.
#[test]
fn status_between_two_supervisors() {
    let home = Home::with(&[("OSTLER_WAIT_MS", "600000")]);
    let daemon = Daemon::start(&home);
    home.kill_supervisor();
    eventually("the crash", || (state_file(&home)["crash_count"] == 1).then_some(()));
    let output = home.ostler(&["status"]).ok();
    let text = output.text();
    assert_eq!(line(&text, "PID:"), Some(format!("{} (guardian)", daemon.guardian.pid).as_str()));
    assert!(
        line(&text, "Crashes:").is_some_and(|description| description.starts_with("1 since")),
        "{text}"
    );
    assert_ne!(line(&text, "Daemon:"), Some("running"), "no supervisor: {text}");
    assert_ne!(line(&text, "Daemon:"), Some("stopped"), "it will be restarted: {text}");
    let json = status(&home);
    assert_fields(&json);
    assert_eq!(json["running"], true);
    assert_eq!((&json["pid"], &json["supervisorPid"]), (&json!(daemon.guardian.pid), &Value::Null));
    // A call during a long delay fails with the reason, and no second daemon is started.
    let refused = home.ostler(&["--no-start", "runs"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(
        refused.stderr.contains("status") || refused.stderr.contains("crash.log"),
        "{refused:?}"
    );
    assert_eq!(home.guardian(), Some(daemon.guardian));
    assert_eq!(home.supervisor(), None);
}

/// D7: stopped, before the first start and after the last stop: exit 3.
#[test]
fn status_of_a_stopped_daemon() {
    let home = Home::new();
    let output = home.ostler(&["status"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert_eq!(line(&output.text(), "Daemon:"), Some("stopped"), "{output:?}");
    Daemon::start(&home);
    let started = state_file(&home)["started_at"].as_str().expect("a time").to_owned();
    home.stop();
    let output = home.ostler(&["status"]);
    assert_eq!(output.code, 3, "{output:?}");
    let text = output.text();
    assert_eq!(line(&text, "Daemon:"), Some("stopped"), "{text}");
    let last = line(&text, "Last run:").expect("a line");
    assert!(last.contains(&started[..10]), "{started}: {text}");
    assert_eq!(line(&text, "PID:"), None, "{text}");
    let output = home.ostler(&["status", "--json"]);
    assert_eq!(output.code, 3);
    let json = output.json();
    assert_fields(&json);
    assert_eq!(json["running"], false);
    assert_eq!((&json["pid"], &json["supervisorPid"]), (&Value::Null, &Value::Null));
    assert_eq!(json["uptimeMs"], Value::Null);
}

fn forge(home: &Home, pid: i32) {
    let file = json!({
        "pid": pid, "gateway_pid": pid, "started_at": "2026-01-01T00:00:00Z",
        "crash_count": 77, "last_crash_at": "2026-01-01T00:00:01Z",
    });
    std::fs::write(home.file("supervisor.json"), file.to_string()).expect("written");
    std::fs::write(home.file("ostler.pid"), format!("{pid}\n")).expect("written");
}

/// D7, D4: files that name another process: the daemon is not running, and that process is not signalled.
#[test]
fn a_recycled_pid_never_shows_as_running_and_is_never_signalled() {
    let home = Home::new();
    Daemon::start(&home);
    home.stop();
    let mut bystander = Bystander::start("sleep", &["967"]);
    let pid = bystander.process().pid;
    forge(&home, pid);
    let output = home.ostler(&["status", "--json"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert_eq!(output.json()["pid"], Value::Null, "{output:?}");
    assert_eq!(home.ostler(&["stop"]).code, 3);
    let description = home.ostler(&["start"]).ok().text();
    assert!(description.starts_with("started"), "{description}");
    let daemon = Daemon::of(&home);
    assert_eq!(pid_in_file(&home), Some(daemon.guardian.pid));

    // The same while the daemon runs: its own pids are shown, and its own processes are stopped.
    forge(&home, pid);
    let json = status(&home);
    assert_eq!(json["pid"], daemon.guardian.pid, "{json}");
    assert_eq!(json["supervisorPid"], daemon.supervisor.pid, "{json}");
    assert_ne!(json["crashCount"], 77, "{json}");
    home.ostler(&["stop"]).ok();
    assert!(!daemon.guardian.is_alive() && !daemon.supervisor.is_alive());
    bystander.assert_alive();
}

/// D7, D4: the same while no supervisor answers: during a delay, and while it is stopped.
#[test]
fn a_recycled_pid_is_not_trusted_while_no_supervisor_answers() {
    let home = Home::with(&[("OSTLER_WAIT_MS", "600000")]);
    let daemon = Daemon::start(&home);
    let mut bystander = Bystander::start("sleep", &["968"]);
    let pid = bystander.process().pid;
    daemon.supervisor.signal(Signal::STOP);
    forge(&home, pid);
    let json = status(&home);
    assert_eq!(json["pid"], daemon.guardian.pid, "{json}");
    assert_eq!(json["supervisorPid"], daemon.supervisor.pid, "{json}");
    home.kill_supervisor();
    eventually("the crash", || (state_file(&home)["crash_count"] == 1).then_some(()));
    forge(&home, pid);
    let json = status(&home);
    assert_eq!(json["pid"], daemon.guardian.pid, "{json}");
    assert_eq!(json["supervisorPid"], Value::Null, "{json}");
    home.ostler(&["stop"]).ok();
    assert!(!daemon.guardian.is_alive());
    bystander.assert_alive();
}

/// D7: damaged or missing files do not affect the running daemon.
#[test]
fn damaged_files_do_not_affect_the_running_daemon() {
    let home = Home::new();
    let daemon = Daemon::start(&home);
    for text in ["", "{", "null", "[1]", "{\"pid\": \"x\"}", "\u{0}\u{0}"] {
        std::fs::write(home.file("supervisor.json"), text).expect("written");
        std::fs::write(home.file("ostler.pid"), text).expect("written");
        assert_eq!(status(&home)["pid"], daemon.guardian.pid, "{text:?}");
        assert_eq!(
            home.ostler(&["start"]).ok().text().lines().next(),
            Some("already running"),
            "{text:?}"
        );
    }
    for name in ["supervisor.json", "ostler.pid"] {
        std::fs::remove_file(home.file(name)).expect("removed");
    }
    assert_eq!(status(&home)["supervisorPid"], daemon.supervisor.pid);
    assert_eq!(Daemon::of(&home), daemon);
}
