//! Changes that are interrupted by a crash of the supervisor or by another request are completed.

use crate::units::setup::{Project, SOON};
use ostler_e2e::eventually;
const READY: &str = "ready = { line = \"^up$\" }";
fn open(policy: &str) -> Project {
    let body = format!("command = [\"sh\", \"-c\", \"echo x >> ran; exit 1\"]\n{policy}\n{READY}");
    let project = Project::of(&[("a", &body)]);
    project.call(&["up"]);
    project.until_state("a", "error");
    project
}
/// W2: a unit that was stopped with an open breaker has its full limit again after `up`.
#[test]
fn a_stop_and_an_up_close_the_breaker() {
    let project = open(SOON);
    project.call(&["stop", "a"]).ok();
    std::fs::write(project.path("ran"), "").expect("written");
    assert_eq!(project.call(&["up"]).code, 1);
    project.until_state("a", "error");
    assert_eq!(project.lines("ran"), 3, "the full limit again");
}

/// X4: `up` during `down`: the last request wins.
#[test]
fn up_during_down_wins() {
    // It exits only when the file `go` exists.
    let slow = "command = [\"sh\", \"-c\", \"trap 'while ! test -e go; do sleep 0.02; done; exit 0' TERM; echo up; while :; do sleep 0.02; done\"]\n\
                ready = { line = \"^up$\" }\nstop = { grace = \"20s\" }";
    let project = Project::of(&[("slow", slow)]);
    project.up();
    let old = project.process("slow");
    let down = project.spawn(&["down"]);
    project.until_state("slow", "stopping");
    let up = project.spawn(&["up"]);
    eventually("the unit is wanted again", || {
        (project.view("slow")["desired"] == "running").then_some(())
    });
    std::fs::write(project.path("go"), "").expect("written");
    up.finish().ok();
    drop(down);
    let new = project.next_process("slow", &old);
    assert_eq!(project.copies_of("slow"), 1);
    std::fs::remove_file(project.path("go")).expect("removed");
    assert!(new.is_alive());
    std::fs::write(project.path("go"), "").expect("written");
}

/// X4: `up` during a stop starts the unit again.
#[test]
fn up_during_the_stop_takes_effect_after_the_end() {
    let body = "command = [\"sh\", \"-c\", \"trap 'while ! test -e go; do sleep 0.02; done; exit 0' TERM; echo up; while :; do sleep 0.02; done\"]\n\
                ready = { line = \"^up$\" }\nstop = { grace = \"20s\" }";
    let project = Project::of(&[("a", body)]);
    project.up();
    let old = project.process("a");
    project.call(&["stop", "--no-wait", "a"]).ok();
    project.until_state("a", "stopping");
    let up = project.spawn(&["up"]);
    eventually("it is heard", || (project.view("a")["desired"] == "running").then_some(()));
    std::fs::write(project.path("go"), "").expect("written");
    up.finish().ok();
    project.next_process("a", &old);
}

/// W6: nor is it called ready by a supervisor that takes it up before its line has come.
#[test]
fn a_line_that_has_not_come_is_waited_for_after_a_crash_of_the_supervisor() {
    let script = "while ! test -e go; do sleep 0.02; done; echo up; exec sleep 1000";
    let body = format!("command = [\"sh\", \"-c\", \"{script}\"]\nready = {{ line = \"^up$\" }}");
    let project = Project::of(&[("a", &body)]);
    project.call(&["up", "--no-wait"]).ok();
    project.until("a", "running", |view| view["pid"].is_i64());
    crate::daemon::setup::replace_supervisor(&project.home);
    let view = project.until("a", "running", |view| view["pid"].is_i64());
    assert_eq!(view["state"], "starting", "{view:#}");
    std::fs::write(project.path("go"), "").expect("written");
    project.until_state("a", "ready");
}

/// W2: the wait before the next start is kept though the supervisor dies meanwhile.
#[test]
fn a_wait_survives_a_crash_of_the_supervisor() {
    let body = "command = [\"sh\", \"-c\", \"echo x >> ran; exit 1\"]\nrestart = { initial = \"1h\", max = \"1h\" }";
    let project = Project::of(&[("a", body)]);
    project.call(&["up", "--no-wait"]).ok();
    project.until_state("a", "backoff");
    crate::daemon::setup::replace_supervisor(&project.home);
    project.until("a", "looked at", |view| view["why"] != "looking for its run");
    assert_eq!(project.lines("ran"), 1);
    assert_eq!(project.state("a"), "backoff");
}
