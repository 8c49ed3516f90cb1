//! When a unit is ready: a line, a port, an answer, a command, its own report, a delay. Not in time is an error.

use crate::units::setup::Project;
use ostler_e2e::{Process, Signal, eventually, helper};
use std::net::TcpListener;

/// A port that is free at this moment.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn touch(project: &Project, name: &str) {
    std::fs::write(project.path(name), "").expect("written");
}

/// Checks that a unit is not ready before the file `go` exists, and soon after.
#[track_caller]
fn ready_with_go(project: &Project, body: &str) {
    project.declare(&[("a", body)]);
    project.call(&["up", "--no-wait"]).ok();
    let view = project.until("a", "running", |view| view["pid"].is_i64());
    assert_eq!(view["state"], "starting", "{view:#}");
    let again = project.spawn(&["up"]);
    assert_eq!(project.view("a")["state"], "starting");
    touch(project, "go");
    again.finish().ok();
    let view = project.view("a");
    assert_eq!(view["state"], "ready", "{view:#}");
    assert_eq!(view["restarts"], 0, "{view:#}");
}

/// W6: by a line of its output.
#[test]
fn a_line_makes_it_ready() {
    let script = "echo not yet; while ! test -e go; do sleep 0.02; done; printf 'listening on '; echo 8080; exec sleep 1000";
    let body = format!(
        "command = [\"sh\", \"-c\", \"{script}\"]\nready = {{ line = \"^listening on [0-9]+$\" }}"
    );
    ready_with_go(&Project::new(), &body);
}

/// W6: by a port that accepts connections.
#[test]
fn a_port_makes_it_ready() {
    let (project, port) = (Project::new(), free_port());
    touch(&project, "late");
    let serve = helper!("serve");
    let body =
        format!("command = [\"{serve}\", \"{port}\"]\nready = {{ tcp = \"127.0.0.1:{port}\" }}");
    ready_with_go(&project, &body);
}

/// W6: by an HTTP answer; an unhealthy server is not ready.
#[test]
fn an_answer_makes_it_ready() {
    let (project, port) = (Project::new(), free_port());
    touch(&project, "sick");
    let serve = helper!("serve");
    let body = format!(
        "command = [\"{serve}\", \"{port}\"]\nready = {{ http = \"http://127.0.0.1:{port}/health\" }}"
    );
    project.declare(&[("a", &body)]);
    let up = project.spawn(&["up"]);
    let pid = project.until("a", "running", |view| view["pid"].is_i64())["pid"].clone();
    project.home.until_logged("a", "up");
    assert_eq!(project.state("a"), "starting");
    std::fs::remove_file(project.path("sick")).expect("removed");
    up.finish().ok();
    assert_eq!(project.view("a")["pid"], pid);
}

/// W6: by a command in its own folder and environment.
#[test]
fn a_command_makes_it_ready() {
    let project = Project::new();
    let body = "command = [\"sleep\", \"1000\"]\nenv.WHAT = \"go\"\n\
                ready = { exec = [\"sh\", \"-c\", 'test \"$E2E_UNIT\" = a && test -e \"$WHAT\"'] }";
    ready_with_go(&project, body);
    // Checks leave nothing behind: no record, no folder.
    let records = project.home.records();
    assert_eq!(records.len(), 1, "{records:#?}");
    let folders: Vec<_> = std::fs::read_dir(project.home.file("runs"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    assert!(folders.len() <= 1, "{folders:?}");
}

/// W6: by its own READY=1, and not by that of another process.
#[test]
fn its_own_report_makes_it_ready() {
    let serve = helper!("serve");
    let body = format!(
        "command = [\"{serve}\", \"say\", \"STATUS=soon\\\\nREADY=1\"]\nready = {{ notify = true }}"
    );
    ready_with_go(&Project::new(), &body);
}

/// D8: a report sent while there is no supervisor is received by the next one.
#[test]
fn a_report_sent_without_a_supervisor_is_received() {
    let serve = helper!("serve");
    let body =
        format!("command = [\"{serve}\", \"say\", \"READY=1\"]\nready = {{ notify = true }}");
    let project = Project::of(&[("a", &body)]);
    project.call(&["up", "--no-wait"]).ok();
    let view = project.until("a", "running", |view| view["pid"].is_i64());
    let process =
        Process::find(view["pid"].as_i64().expect("a pid") as i32).expect("the unit is running");
    let old = eventually("a supervisor", || project.home.supervisor());
    old.signal(Signal::KILL);
    old.wait_gone();
    touch(&project, "go");
    eventually("the report was sent", || {
        std::path::Path::new(&project.path("said")).exists().then_some(())
    });
    crate::daemon::setup::answering(&project.home, &old);
    project.until_state("a", "ready");
    assert_eq!(project.process("a"), process);
}

/// W6, X1: a unit whose notify socket cannot be created is not started, with an error; it is started as soon as it can.
#[test]
fn a_unit_without_its_notify_socket_is_not_started() {
    let serve = helper!("serve");
    let body = format!(
        "command = [\"{serve}\", \"say\", \"READY=1\"]\nready = {{ notify = true }}\n\
         restart = {{ initial = \"100ms\", max = \"100ms\", limit = {{ count = 0, window = \"1s\" }} }}"
    );
    let project = Project::of(&[("a", &body)]);
    touch(&project, "go");
    project.home.ostler(&["start"]).ok();
    // A file in the place of its socket.
    std::fs::write(project.home.file("notify"), "in the way").expect("written");
    project.call(&["up", "--no-wait"]).ok();
    project.until("a", "not started", |view| {
        view["why"].as_str().is_some_and(|why| why.contains("File exists"))
    });
    std::fs::remove_file(project.home.file("notify")).expect("removed");
    project.until_state("a", "ready");
}

/// W6: another message does not make it ready.
#[test]
fn another_message_does_not_make_it_ready() {
    let serve = helper!("serve");
    let body = format!(
        "command = [\"{serve}\", \"say\", \"STATUS=READY=1\"]\nready = {{ notify = true, timeout = \"300ms\" }}\n{}",
        crate::units::setup::SOON
    );
    let project = Project::of(&[("a", &body)]);
    touch(&project, "go");
    not_in_time(&project, "READY=1");
}

/// W6: a delay passes first.
#[test]
fn a_delay_passes_first() {
    let body = "command = [\"sleep\", \"1000\"]\nready = { delay = \"700ms\" }";
    let project = Project::of(&[("a", body)]);
    project.up();
    let view = project.view("a");
    let (since, started) = (view["sinceAtMs"].as_u64(), view["startedAtMs"].as_u64());
    assert!(since.expect("a time") >= started.expect("a time") + 690, "{view:#}");
}

/// Every start was ended, counted and reported.
#[track_caller]
fn not_in_time(project: &Project, description: &str) {
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    let view = project.until_state("a", "error");
    assert_eq!(view["ends"].as_array().map(Vec::len), Some(3), "{view:#}");
    assert_eq!(project.copies_of("a"), 0);
    let why = project.call(&["why", "a"]).ok().text();
    assert!(why.contains("within 300 ms") && why.contains(description), "{why}");
}

/// W2, W6: not ready in time is an error: the unit is ended, counted and reported, and never ready.
#[test]
fn not_ready_in_time_is_an_error() {
    let port = free_port();
    for (check, description) in [
        ("line = \"^never$\"".to_owned(), "expected line not found"),
        (format!("tcp = \"127.0.0.1:{port}\""), "refused"),
        (format!("http = \"http://127.0.0.1:{port}/\""), "refused"),
        ("exec = [\"false\"]".to_owned(), "exit 1"),
        ("notify = true".to_owned(), "READY=1"),
    ] {
        let body = format!(
            "command = [\"sleep\", \"1000\"]\nready = {{ {check}, timeout = \"300ms\" }}\n{}",
            crate::units::setup::SOON
        );
        let project = Project::of(&[("a", &body)]);
        not_in_time(&project, description);
    }
}

/// W6: a check that hangs is ended at its timeout, with all processes it started.
#[test]
fn a_check_that_hangs_is_ended() {
    let body = format!(
        "command = [\"sleep\", \"1000\"]\nready = {{ exec = [\"sh\", \"-c\", \"sleep 999; true\"], timeout = \"300ms\" }}\n{}",
        crate::units::setup::SOON
    );
    let project = Project::of(&[("a", &body)]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    project.until_state("a", "error");
    ostler_e2e::eventually("no process of the checks is left", || {
        project.home.processes_of_runs().is_empty().then_some(())
    });
    ostler_e2e::eventually("only its own three runs are on record", || {
        (project.home.records().len() == 3).then_some(())
    });
}

/// W6: a unit that exits before it is ready is handled by its exit code.
#[test]
fn an_exit_before_it_is_ready_is_handled_by_its_code() {
    let body = "command = [\"sh\", \"-c\", \"exit 78\"]\nready = { delay = \"1h\" }";
    let project = Project::of(&[("a", body)]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert_eq!(project.view("a")["why"], "exit 78");
}

/// W6: the next supervisor checks again; the adopted run becomes ready.
#[test]
fn readiness_survives_a_crash_of_the_supervisor() {
    let body = "command = [\"sleep\", \"1000\"]\nready = { exec = [\"test\", \"-e\", \"go\"] }";
    let project = Project::of(&[("a", body)]);
    project.call(&["up", "--no-wait"]).ok();
    let view = project.until("a", "running", |view| view["pid"].is_i64());
    let process =
        Process::find(view["pid"].as_i64().expect("a pid") as i32).expect("the unit is running");
    crate::daemon::setup::replace_supervisor(&project.home);
    project.until_state("a", "starting");
    touch(&project, "go");
    project.until_state("a", "ready");
    assert_eq!(project.process("a"), process);
}
