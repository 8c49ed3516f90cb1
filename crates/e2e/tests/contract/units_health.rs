//! A unit that is no longer healthy is replaced; a check that hangs holds up nobody.

use crate::units::Project;
use crate::units_ready::free_port;
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

/// W1, W6: an answer that is not 200 three times in a row: it is ended and started again, once.
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
    assert_eq!(view["ends"][0]["told"], "signal 15, unhealthy", "{view:#}");
    let why = project.call(&["why", "a"]).ok().text();
    assert!(why.contains("3 checks in a row failed") && why.contains("status 500"), "{why}");
    assert!(new.is_alive());
}

/// W6: no answer at all is given up at its timeout, and no other unit's check waits for it.
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
    assert!(why.contains("no answer in time"), "{why}");
}

/// W6: a port that is gone.
#[test]
fn a_port_that_is_gone_is_seen() {
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

/// W6: it goes on under the next supervisor.
#[test]
fn health_is_asked_after_a_crash_of_the_supervisor() {
    let project = Project::new();
    project.declare(&[("a", &server(free_port(), &format!("{OFTEN}, timeout = \"5s\"")))]);
    project.up();
    let old = project.process("a");
    crate::daemon::replace_supervisor(&project.home);
    project.until_state("a", "ready");
    assert_eq!(project.process("a"), old);
    touch(&project, "sick");
    old.wait_gone();
    std::fs::remove_file(project.path("sick")).expect("removed");
    project.next_process("a", &old);
}
