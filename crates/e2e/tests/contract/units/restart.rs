//! W1 to W3 with real processes: which ends are followed by a restart, after which delay, and when no more.

use crate::daemon::setup::replace_supervisor;
use crate::units::setup::{AT_ONCE, Project, SOON};
use ostler_e2e::Signal;
use std::time::{Duration, Instant};

const QUICK: &str = "restart = { initial = \"10ms\", max = \"10ms\" }";

/// Without a check it would be ready as soon as it is executed.
const READY: &str = "ready = { line = \"^up$\" }";

/// Exits once with this code, then stays.
fn once(code: i32, policy: &str) -> String {
    format!(
        "command = [\"sh\", \"-c\", \"echo x >> ran; test -e again && echo up && exec sleep 1000; touch again; exit {code}\"]\n{policy}\n{READY}"
    )
}

/// W1: 0, 2, 78 and 100 are not started again; 1 and 75 are.
#[test]
fn the_exit_code_decides() {
    for (code, state, description) in [
        (0, "done", "exit 0"),
        (2, "error", "exit 2"),
        (78, "error", "exit 78"),
        (100, "error", "exit 100"),
        (255, "error", "exit 255"),
    ] {
        let project = Project::of(&[("a", &once(code, QUICK))]);
        let output = project.call(&["up"]);
        assert_eq!(output.code, i32::from(state == "error"), "{code}: {output:?}");
        let view = project.view("a");
        assert_eq!(
            (view["state"].as_str(), view["why"].as_str()),
            (Some(state), Some(description))
        );
        assert_eq!(project.lines("ran"), 1, "exit {code}");
        assert_eq!(view["desired"], "running", "{view:#}");
    }
    for code in [1, 3, 75, 99] {
        let project = Project::of(&[("a", &once(code, QUICK))]);
        project.call(&["up"]);
        project.until_lines("ran", 2);
        project.until("a", "ready", |view| view["state"] == "ready" && view["restarts"] == 1);
    }
}

/// W1: after TERM and INT from outside a unit is not restarted; after KILL and others it is.
#[test]
fn the_signal_decides() {
    for (signal, again) in [
        (Signal::TERM, false),
        (Signal::INT, false),
        (Signal::KILL, true),
        (Signal::SEGV, true),
        (Signal::HUP, true),
    ] {
        let body =
            format!("command = [\"sh\", \"-c\", \"echo x >> ran; exec sleep 1000\"]\n{QUICK}");
        let project = Project::of(&[("a", &body)]);
        project.up();
        project.until_lines("ran", 1);
        let old = project.process("a");
        old.signal(signal);
        old.wait_gone();
        if again {
            let new = project.next_process("a", &old);
            assert!(new.is_alive());
        } else {
            project.until_state("a", "done");
            assert_eq!(project.lines("ran"), 1, "{signal:?}");
        }
    }
}

/// W1: exit 75 after some work restarts at once, any number of times, and does not count.
#[test]
fn a_temporary_exit_does_not_count() {
    let script =
        "echo x >> ran; test $(wc -l < ran) -lt 4 && sleep 1.1 && exit 75; exec sleep 1000";
    let body = format!(
        "command = [\"sh\", \"-c\", \"{script}\"]\nrestart = {{ initial = \"1m\", max = \"1m\", limit = {{ count = 2, window = \"1m\" }} }}"
    );
    let project = Project::of(&[("a", &body)]);
    let began = Instant::now();
    project.up();
    project.until_lines("ran", 4);
    project.until_state("a", "ready");
    assert!(began.elapsed() < Duration::from_secs(30), "there is no delay");
    assert_eq!(project.view("a")["opened"], serde_json::Value::Null);
}

/// W1: a requested restart does not count either.
#[test]
fn a_requested_restart_does_not_count() {
    let body = format!("command = [\"sleep\", \"1000\"]\n{SOON}");
    let project = Project::of(&[("a", &body)]);
    project.up();
    for _ in 0..6 {
        let old = project.process("a");
        project.call(&["restart", "a"]).ok();
        assert!(!old.is_alive());
        assert_ne!(project.process("a"), old);
        assert_eq!(project.copies_of("a"), 1);
    }
    assert_eq!(project.state("a"), "ready");
    // The full limit is left.
    for _ in 0..2 {
        let old = project.crash("a");
        project.next_process("a", &old);
    }
}

/// W3: 1 s, then 2 s: never earlier.
#[test]
fn the_restart_delay_doubles() {
    let body = "command = [\"sh\", \"-c\", \"date +%s%N >> ran; exit 1\"]";
    let project = Project::of(&[("a", body)]);
    project.call(&["up", "--no-wait"]).ok();
    let view = project.until_state("a", "backoff");
    assert!(view["why"].as_str().is_some_and(|why| why.contains("exit 1")), "{view:#}");
    project.until_lines("ran", 3);
    let text = std::fs::read_to_string(project.path("ran")).expect("read");
    let at: Vec<u64> = text.lines().map(|line| line.parse().expect("a time")).collect();
    let waits: Vec<u64> = at.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000_000).collect();
    assert!(waits[0] >= 1_000 && waits[1] >= 2_000, "{waits:?}");
    project.call(&["stop", "a"]).ok();
}

/// W3: a delay of zero can be declared.
#[test]
fn a_restart_delay_of_zero_restarts_at_once() {
    let body = format!("command = [\"sleep\", \"1000\"]\n{AT_ONCE}");
    let project = Project::of(&[("a", &body)]);
    project.up();
    for _ in 0..20 {
        let old = project.crash("a");
        project.next_process("a", &old);
    }
    assert_eq!(project.view("a")["restarts"], 20);
}

/// Crashes until its breaker is open.
fn open(policy: &str) -> Project {
    let body = format!("command = [\"sh\", \"-c\", \"echo x >> ran; exit 1\"]\n{policy}\n{READY}");
    let project = Project::of(&[("a", &body)]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    project.until_state("a", "error");
    project
}

/// W2: the breaker opens at the limit, and `ls`, `status` and `why` print the reason.
#[test]
fn the_breaker_opens_and_says_why() {
    let project = open(SOON);
    assert_eq!(project.lines("ran"), 3);
    let description = "gave up after 3 failures in 10 s: exit 1";
    let advice = format!("{description}; retry with \"ostler start a\"");
    assert_eq!(project.view("a")["why"], advice);
    assert_eq!(project.view("a")["opened"]["why"], description);
    for verb in [&["ls"][..], &["status", "a"], &["why", "a"]] {
        let output = project.call(verb);
        let text = output.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&advice), "{verb:?}: {output:?}");
    }
}

/// W2: five in a minute, unless the file says otherwise.
#[test]
fn the_breaker_opens_at_the_fifth() {
    let project = open("restart = { initial = \"10ms\", max = \"10ms\" }");
    assert_eq!(project.lines("ran"), 5);
    assert_eq!(project.view("a")["opened"]["why"], "gave up after 5 failures in 60 s: exit 1");
}

/// W2: it stays open across SIGKILL of the supervisor and a restart of the daemon.
#[test]
fn an_open_breaker_survives() {
    let project = open(SOON);
    let opened = project.view("a")["opened"].clone();
    replace_supervisor(&project.home);
    assert_eq!(project.until_state("a", "error")["opened"], opened);
    project.home.stop();
    project.call(&["start"]).ok();
    assert_eq!(project.until_state("a", "error")["opened"], opened);
    // `up` without a change does not close the breaker.
    assert_eq!(project.call(&["up"]).code, 1);
    assert_eq!(project.lines("ran"), 3);
}

/// W2: failures before the supervisor died are counted.
#[test]
fn the_count_survives_a_crash_of_the_supervisor() {
    let body = "command = [\"sleep\", \"1000\"]\nrestart = { initial = \"0\", limit = { count = 4, window = \"10m\" } }";
    let project = Project::of(&[("a", body)]);
    project.up();
    for _ in 0..3 {
        let old = project.crash("a");
        project.next_process("a", &old);
        replace_supervisor(&project.home);
        project.until_state("a", "ready");
    }
    project.crash("a");
    let view = project.until_state("a", "error");
    assert_eq!(view["opened"]["why"], "gave up after 4 failures in 600 s: killed");
}

/// W2: an end while there was no supervisor counts as well.
#[test]
fn a_crash_without_a_supervisor_counts() {
    let body = "command = [\"sleep\", \"1000\"]\nrestart = { initial = \"0\", limit = { count = 2, window = \"10m\" } }";
    let project = Project::of(&[("a", body)]);
    project.up();
    for _ in 0..2 {
        project.until_state("a", "ready");
        let victim = project.process("a");
        let supervisor = project.home.supervisor().expect("a supervisor");
        supervisor.signal(Signal::STOP);
        victim.signal(Signal::KILL);
        victim.wait_gone();
        supervisor.signal(Signal::KILL);
        supervisor.wait_gone();
        crate::daemon::setup::answering(&project.home, &supervisor);
    }
    project.until_state("a", "error");
}

/// W2: `ostler start NAME` closes it.
#[test]
fn start_closes_the_breaker() {
    let project = open(SOON);
    std::fs::write(project.path("ran"), "").expect("written");
    let output = project.call(&["start", "a"]);
    assert_eq!(output.code, 1, "{output:?}");
    project.until_state("a", "error");
    assert_eq!(project.lines("ran"), 3, "the full limit again");
}

/// W2: a changed file closes it.
#[test]
fn a_changed_file_closes_the_breaker() {
    let project = open(SOON);
    project.declare(&[("a", &format!("command = [\"sleep\", \"1000\"]\n{SOON}"))]);
    project.call(&["reload"]).ok();
    let view = project.view("a");
    assert_eq!(view["state"], "ready", "{view:#}");
    assert_eq!(view["opened"], serde_json::Value::Null);
}
