//! An unhealthy unit is restarted; a check that hangs does not delay others.

use crate::units::ready::free_port;
use crate::units::setup::Project;
use ostler_e2e::helper;
use std::net::TcpListener;

const OFTEN: &str = "interval = \"50ms\", failures = 3, start_after = \"0\"";
const POLICY: &str = "restart = { initial = \"10ms\", max = \"10ms\" }";

fn touch(project: &Project, name: &str) {
    std::fs::write(project.path(name), "").expect("written");
}

fn server(port: u16, health: &str) -> String {
    let serve = helper!("serve");
    format!(
        "command = [\"{serve}\", \"{port}\"]\nready = {{ line = \"^up$\" }}\n{POLICY}\n\
         health = {{ http = \"http://127.0.0.1:{port}/\", {health} }}"
    )
}

/// W1, W6: after three answers in a row other than 200 a unit is ended and started again, once.
#[test]
fn a_sick_server_is_replaced() {
    let project = Project::new();
    project.declare(&[("a", &server(free_port(), &format!("{OFTEN}, timeout = \"5s\"")))]);
    project.up();
    let old = project.process("a");
    touch(&project, "sick");
    old.wait_gone();
    std::fs::remove_file(project.path("sick")).expect("removed");
    let new = project.next_process("a", &old);
    let view = project.view("a");
    let description = view["ends"][0]["description"].as_str().expect("a text");
    assert!(description.starts_with("signal 15, unhealthy: 3 checks in a row failed"), "{view:#}");
    let why = project.call(&["why", "a"]).ok().text();
    assert!(why.contains("3 checks in a row failed") && why.contains("status 500"), "{why}");
    assert!(new.is_alive());
}

/// W6: a request without an answer fails at its timeout, and does not delay other units' checks.
#[test]
fn a_server_that_hangs_is_replaced() {
    let project = Project::new();
    project.declare(&[("a", &server(free_port(), &format!("{OFTEN}, timeout = \"200ms\"")))]);
    project.up();
    let old = project.process("a");
    touch(&project, "hang");
    old.wait_gone();
    std::fs::remove_file(project.path("hang")).expect("removed");
    project.next_process("a", &old);
    let why = project.call(&["why", "a"]).ok().text();
    assert!(why.contains("no answer before the timeout"), "{why}");
}

/// W6: a closed port fails the check.
#[test]
fn a_closed_port_is_noticed() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let body = format!(
        "command = [\"sleep\", \"1000\"]\n{POLICY}\nhealth = {{ tcp = \"{address}\", {OFTEN}, timeout = \"1s\" }}"
    );
    let project = Project::of(&[("a", &body)]);
    project.up();
    let old = project.process("a");
    drop(listener);
    old.wait_gone();
    project.until("a", "ended in error", |view| view["state"] == "error");
    let why = project.call(&["why", "a"]).ok().text();
    assert!(why.contains("refused"), "{why}");
}

/// W6: checks go on under the next supervisor.
#[test]
fn health_is_checked_after_a_crash_of_the_supervisor() {
    let project = Project::new();
    project.declare(&[("a", &server(free_port(), &format!("{OFTEN}, timeout = \"5s\"")))]);
    project.up();
    let old = project.process("a");
    crate::daemon::setup::replace_supervisor(&project.home);
    project.until_state("a", "ready");
    assert_eq!(project.process("a"), old);
    touch(&project, "sick");
    old.wait_gone();
    std::fs::remove_file(project.path("sick")).expect("removed");
    project.next_process("a", &old);
}
/// W6: a check that hangs delays no other.
#[test]
fn a_check_that_hangs_delays_no_other() {
    let project = Project::new();
    let checked = format!(
        "command = [\"sleep\", \"1000\"]\nhealth = {{ exec = [\"sh\", \"-c\", \"echo x >> checked\"], {OFTEN}, timeout = \"5s\" }}"
    );
    let hangs = "command = [\"sleep\", \"1000\"]\nhealth = { exec = [\"sleep\", \"999\"], interval = \"50ms\", start_after = \"0\", timeout = \"1h\" }";
    let http = server(free_port(), &format!("{OFTEN}, timeout = \"1h\""));
    touch(&project, "hang");
    project.declare(&[("checked", &checked), ("hangs", hangs), ("http", &http)]);
    project.up();
    let before: Vec<_> = ["checked", "hangs", "http"].map(|unit| project.process(unit)).into();
    project.until_lines("checked", 20);
    // Requests are answered meanwhile.
    for (unit, process) in ["checked", "hangs", "http"].into_iter().zip(before) {
        let why = project.call(&["why", unit]).ok().text();
        assert_eq!(project.process(unit), process, "{why}");
    }
    let hanging = project.process("hangs");
    project.call(&["stop", "hangs"]).ok();
    assert!(!hanging.is_alive());
}

/// W6: a failing command; thousands of checks leave no record and no folder.
#[test]
fn a_failing_command_is_noticed() {
    let body = format!(
        "command = [\"sleep\", \"1000\"]\n{POLICY}\n\
         health = {{ exec = [\"sh\", \"-c\", \"echo x >> checked; ! test -e sick\"], interval = \"10ms\", failures = 3, start_after = \"0\" }}"
    );
    let project = Project::of(&[("a", &body)]);
    project.up();
    let old = project.process("a");
    project.until_lines("checked", 30);
    assert_eq!(project.process("a"), old);
    touch(&project, "sick");
    old.wait_gone();
    std::fs::remove_file(project.path("sick")).expect("removed");
    project.next_process("a", &old);
    project.call(&["stop", "a"]).ok();
    ostler_e2e::eventually("only its own two runs are on record", || {
        (project.home.records().len() == 2).then_some(())
    });
    let folders = std::fs::read_dir(project.home.file("runs")).map_or(0, |entries| entries.count());
    assert!(folders <= 2, "{folders} folders");
    assert_eq!(project.home.processes_of_runs(), []);
}

/// W6: fewer failures in a row than the limit have no effect.
#[test]
fn failures_must_be_in_a_row() {
    // Two fail, one succeeds, repeatedly.
    let check = "echo x >> checked; test $(( $(wc -l < checked) % 3 )) -eq 0";
    let body = format!(
        "command = [\"sleep\", \"1000\"]\n{POLICY}\nhealth = {{ exec = [\"sh\", \"-c\", \"{check}\"], interval = \"10ms\", failures = 3, start_after = \"0\" }}"
    );
    let project = Project::of(&[("a", &body)]);
    project.up();
    let old = project.process("a");
    project.until_lines("checked", 24);
    assert_eq!(project.process("a"), old);
}

/// W6, R15: a check does not outlive its supervisor: the next supervisor ends its processes, and checks again.
#[test]
fn a_check_does_not_outlive_its_supervisor() {
    let project = Project::of(&[(
        "a",
        &format!(
            "command = [\"sleep\", \"1000\"]\n{POLICY}\n\
             health = {{ exec = [\"sh\", \"-c\", \"echo $$ >> checks; exec sleep 987\"], timeout = \"100s\", {OFTEN} }}"
        ),
    )]);
    project.up();
    let unit = project.process("a");
    project.until_lines("checks", 1);
    let text = std::fs::read_to_string(project.path("checks")).expect("read");
    let check = ostler_e2e::Process::find(text.trim().parse().expect("a pid")).expect("alive");
    project.home.kill_supervisor();
    project.call(&["ls"]).ok();
    check.wait_gone();
    project.until_lines("checks", 2);
    assert!(unit.is_alive(), "the unit itself goes on");
    project.call(&["down"]).ok();
}
