//! Agents that use tmux themselves: their sessions belong to their run, wherever their own terminal is.

use crate::tmux::setup::{AGAIN, SERVER, Tmux, unit};
use ostler_e2e::{Process, Signal, eventually};

/// An agent that creates a session, and prints it.
const MAKES: &str =
    "tmux new-session -d -s inner sleep 7777 && echo made; tmux ls; while :; do sleep 0.05; done";

const NO_GROUPS: (&str, &str) = ("OSTLER_NO_CGROUP", "1");

fn inner(tmux: &Tmux) -> Process {
    eventually("its session's program", || {
        let all = tmux.project.home.processes();
        all.into_iter().find(|process| process.command() == "sleep 7777")
    })
}

/// R20: a session that an agent makes is on a server of its own, in its run, and ends with it.
#[test]
fn a_session_that_an_agent_makes_ends_with_it() {
    ostler_e2e::needs!("tmux");
    for variables in [&[][..], &[NO_GROUPS][..]] {
        let tmux = Tmux::with(variables);
        tmux.project.declare(&[("a", &unit(MAKES, AGAIN))]);
        let project = &tmux.project;
        project.up();
        tmux.until_logged("a", "made");
        tmux.until_logged("a", "inner: 1 windows");
        assert_eq!(tmux.sessions(), ["ostler-a"], "it is not on the daemon's server");
        let made = inner(&tmux);
        let run = project.view("a")["runId"].as_str().expect("a run").to_owned();
        assert_eq!(made.variable("OSTLER_RUN_ID"), Some(run), "it belongs to the agent's run");
        project.call(&["stop", "a"]).ok();
        assert!(!made.is_alive(), "{variables:?}");
        tmux.until_extinct("a");
        project.call(&["start", "a"]).ok();
        let made = inner(&tmux);
        project.home.stop();
        assert!(!made.is_alive(), "{variables:?}");
    }
}

/// R20: the same for a killed agent: its sessions are ended before it is restarted.
#[test]
fn sessions_of_a_killed_agent_are_ended() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(MAKES, AGAIN))]);
    tmux.project.up();
    let first = inner(&tmux);
    let agent = tmux.project.process("a");
    agent.signal(Signal::KILL);
    tmux.project.next_process("a", &agent);
    first.wait_gone();
    assert_ne!(inner(&tmux), first);
}

/// R20: an agent on the user's own server gets its socket; an agent with TMUX_TMPDIR keeps that.
#[test]
fn an_agent_on_the_users_server_gets_its_socket() {
    ostler_e2e::needs!("tmux");
    let says = "echo server=$TMUX pane=$TMUX_PANE place=$TMUX_TMPDIR; sleep 1000";
    let tmux = Tmux::of(&[
        ("own", &unit(says, "tmux = \"default\"")),
        ("ours", &unit(says, "")),
        ("named", &unit(says, "env.TMUX_TMPDIR = \"/tmp\"")),
    ]);
    tmux.project.up();
    let log = tmux.until_logged("own", "place=");
    assert!(log.contains("/default,") && log.contains("pane=%"), "{log}");
    let log = tmux.until_logged("ours", "place=/");
    assert!(log.contains("server= pane= "), "{log}");
    let log = tmux.until_logged("named", "place=/tmp");
    assert!(log.contains("server= pane= "), "{log}");
}

/// R20: a foreign session on the daemon's server belongs to no unit: it is left alone, and ends with the server.
#[test]
fn a_foreign_session_on_the_daemons_server_ends_with_the_daemon() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit("sleep 1000", AGAIN))]);
    tmux.project.up();
    let server = tmux.project.process(SERVER);
    tmux.private(&["new-session", "-d", "-s", "mine", "sleep", "7777"]).ok();
    let pid = tmux.private(&["list-panes", "-t", "=mine:", "-F", "#{pane_pid}"]).ok().text();
    let made = Process::find(pid.trim().parse().expect("a pid"))
        .expect("the session's program is running");
    tmux.project.call(&["down"]).ok();
    assert_eq!(tmux.sessions(), ["mine"]);
    tmux.project.home.stop();
    assert!(!made.is_alive() && !server.is_alive());
}
