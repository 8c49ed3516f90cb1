//! The user's own server: only Ostler's own sessions are touched there.

use crate::tmux::setup::{AGAIN, IDLE, SERVER, Tmux, unit};
use crate::units::setup::Project;
use ostler_e2e::eventually;

fn on_own(session: &str) -> String {
    unit(IDLE, &format!("tmux = \"default\"\nsession = \"{session}\"\n{AGAIN}"))
}

/// P7: the user's sessions, one with a similar name among them, survive everything.
#[test]
fn the_users_sessions_survive_everything() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("deacon", &on_own("hq-deacon"))]);
    let names = ["hq-deaco", "hq-deacon-2", "mine"];
    let theirs = names.map(|name| tmux.own_session(name));
    let project = &tmux.project;
    project.up();
    let first = project.process("deacon");
    assert_eq!(tmux.own_sessions(), ["hq-deaco", "hq-deacon", "hq-deacon-2", "mine"]);
    assert!(project.find(SERVER).is_none(), "the daemon's own server is not needed");
    project.call(&["restart", "deacon"]).ok();
    let second = project.next_process("deacon", &first);
    tmux.own(&["kill-session", "-t", "=hq-deacon"]).ok();
    let third = project.next_process("deacon", &second);
    tmux.shim("deacon").signal(ostler_e2e::Signal::KILL);
    project.next_process("deacon", &third);
    project.call(&["stop", "deacon"]).ok();
    assert_eq!(tmux.own_sessions(), names);
    project.call(&["start", "deacon"]).ok();
    project.until_state("deacon", "ready");
    project.call(&["stop"]).ok();
    assert_eq!(tmux.own_sessions(), names);
    assert!(theirs.iter().all(|process| process.is_alive()));
}

/// P7: a foreign session with the unit's name is left alone, and the unit's error says so.
#[test]
fn a_foreign_session_is_refused() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &on_own("mine"))]);
    let theirs = tmux.own_session("mine");
    let project = &tmux.project;
    project.call(&["up"]);
    let view = project.until_state("a", "error");
    assert_eq!(view["ends"][0]["description"], "exit 78", "{view:#}");
    let why = project.call(&["why", "a"]).text();
    assert!(why.contains("was not made by this daemon"), "{why}");
    assert!(theirs.is_alive());
    assert_eq!(tmux.own_sessions(), ["mine"]);
}

/// P7: `up` starts the user's server if there is none, and it ends as usual.
#[test]
fn up_starts_the_users_server() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &on_own("a"))]);
    let project = &tmux.project;
    project.up();
    assert_eq!(tmux.own_sessions(), ["a"]);
    let server = tmux.own(&["display-message", "-p", "#{pid}"]).text();
    let server = ostler_e2e::Process::find(server.trim().parse().expect("a pid")).expect("lives");
    let run = project.view("a")["runId"].as_str().expect("a run").to_owned();
    let boundary = project.home.record(&run)["cgroup"].as_str().unwrap_or("-").to_owned();
    assert!(!boundary.ends_with(&server.cgroup()) || server.cgroup().len() < 2, "not in our run");
    project.call(&["stop", "a"]).ok();
    // As usual: without a session the server exits.
    server.wait_gone();
    project.call(&["start", "--no-wait", "a"]).ok();
    eventually("the warning is printed", || {
        project.call(&["why", "a"]).text().contains("no tmux server runs").then_some(())
    });
    project.call(&["up"]);
    project.until_state("a", "ready");
}

/// P7: two daemons with the same names do not end each other's sessions.
#[test]
fn two_homes_do_not_end_each_others_sessions() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &on_own("shared"))]);
    tmux.project.up();
    let process = tmux.project.process("a");
    let mut second = Project::new();
    let folder = tmux.project.home.folder().to_str().expect("text").to_owned();
    second.home.set("HOME", &folder);
    second.home.set("TMUX_TMPDIR", &folder);
    second.declare(&[("a", &on_own("shared")), ("b", &on_own("other"))]);
    second.call(&["up"]);
    second.until_state("a", "error");
    second.until_state("b", "ready");
    let why = second.call(&["why", "a"]).text();
    assert!(why.contains("another daemon"), "{why}");
    second.home.stop();
    assert!(process.is_alive());
    assert_eq!(tmux.own_sessions(), ["shared"]);
}
