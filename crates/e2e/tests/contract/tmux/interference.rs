//! Sessions that others close, rename, split or kill. Ostler's own are started again; nothing else
//! is touched.

use crate::tmux::setup::{AGAIN, IDLE, Tmux, parent, unit};
use ostler_e2e::{Process, Signal, eventually};

/// P7: a session or a server that was closed from outside is noticed, journaled, and started again by the unit's policy.
#[test]
fn a_closed_session_and_a_closed_server_are_noticed() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(IDLE, AGAIN))]);
    let project = &tmux.project;
    project.up();
    let first = project.process("a");
    tmux.private(&["kill-session", "-t", "=ostler-a"]).ok();
    let second = project.next_process("a", &first);
    let why = project.call(&["why", "a"]).text();
    assert!(why.contains("another process closed its session \"ostler-a\""), "{why}");
    tmux.private(&["kill-server"]).ok();
    let third = project.next_process("a", &second);
    let why = project.call(&["why", "a"]).text();
    assert!(why.contains("the tmux server at"), "{why}");
    assert!(third.is_alive() && !second.is_alive());
    assert_eq!(tmux.sessions(), ["ostler-a"]);
}

/// P7: a program that ignores HUP does not outlive its session.
#[test]
fn a_program_that_ignores_the_end_of_its_session_is_ended() {
    ostler_e2e::needs!("tmux");
    let script = "trap '' HUP TERM; echo ready; while :; do sleep 0.05; done";
    let more = format!("{AGAIN}\nstop = {{ grace = \"200ms\" }}");
    let tmux = Tmux::of(&[("a", &unit(script, &more))]);
    let project = &tmux.project;
    project.up();
    tmux.until_logged("a", "ready");
    let first = project.process("a");
    tmux.private(&["kill-session", "-t", "=ostler-a"]).ok();
    first.wait_gone();
    project.next_process("a", &first);
}

/// P7: the same if another process has taken the pane's output, so that its end is not seen there.
#[test]
fn a_closed_session_is_noticed_though_its_output_was_taken() {
    ostler_e2e::needs!("tmux");
    let script = "trap '' HUP; echo ready; while :; do sleep 0.05; done";
    let tmux = Tmux::of(&[("a", &unit(script, AGAIN))]);
    let project = &tmux.project;
    project.up();
    tmux.until_logged("a", "ready");
    let first = project.process("a");
    tmux.private(&["pipe-pane", "-O", "-t", "=ostler-a:", "exec cat >/dev/null"]).ok();
    tmux.until_logged("a", "took the output of its pane");
    tmux.private(&["kill-session", "-t", "=ostler-a"]).ok();
    first.wait_gone();
    project.next_process("a", &first);
}

/// P7: a session is recognised by its id: renamed it is still ours, and panes that others open in it end with it.
#[test]
fn a_renamed_and_split_session_is_still_ours() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(IDLE, AGAIN))]);
    let project = &tmux.project;
    project.up();
    let process = project.process("a");
    tmux.private(&["rename-session", "-t", "=ostler-a", "mine"]).ok();
    tmux.private(&["split-window", "-d", "-t", "=mine:", "--", "sleep", "100000"]).ok();
    tmux.private(&["new-session", "-d", "-s", "ostler-a-2", "--", "sleep", "100000"]).ok();
    let panes = tmux.private(&["list-panes", "-s", "-t", "=mine", "-F", "#{pane_pid}"]).text();
    let other =
        panes.lines().find(|pid| **pid != parent(&process).to_string()).expect("their pane");
    let other = Process::find(other.parse().expect("a pid")).expect("the program is running");
    assert!(process.is_alive());
    project.call(&["stop", "a"]).ok();
    other.wait_gone();
    assert_eq!(tmux.sessions(), ["ostler-a-2"]);
}

/// P7: descendants that left session, group and parent are ended too, and those that ignore TERM are killed.
#[test]
fn no_descendant_outlives_a_stop() {
    ostler_e2e::needs!("tmux");
    let script = "setsid sh -c 'trap \"\" TERM HUP; echo one; sleep 1000' & \
                  (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &) ; \
                  sh -c 'trap \"\" TERM HUP; sleep 1000' & echo ready; wait";
    let tmux = Tmux::of(&[("a", &unit(script, "stop = { grace = \"300ms\" }"))]);
    let project = &tmux.project;
    project.up();
    tmux.until_logged("a", "ready");
    project.call(&["stop", "a"]).ok();
    tmux.until_extinct("a");
    assert!(tmux.sessions().is_empty());
    let record = project.home.records().into_iter().rfind(|record| record["unit"] == "a");
    assert_eq!(record.expect("its record")["termination"], "manual-cancel");
}

/// P7: processes that an agent leaves behind when it exits are ended as with any other run.
#[test]
fn processes_that_an_agent_leaves_behind_are_ended() {
    ostler_e2e::needs!("tmux");
    let script = "setsid sleep 100000 & echo ready; sleep 0.2; exit 0";
    let tmux = Tmux::of(&[("a", &unit(script, "restart = { when = \"never\" }"))]);
    tmux.project.call(&["up"]);
    tmux.project.until("a", "ended", |view| !view["ends"][0].is_null());
    tmux.until_extinct("a");
    assert!(tmux.sessions().is_empty());
}

/// P7: a killed shim leaves no session: the next one closes it.
#[test]
fn a_killed_shim_leaves_no_session() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[
        ("a", &unit(IDLE, AGAIN)),
        ("b", &unit(IDLE, "restart = { when = \"never\" }")),
    ]);
    let project = &tmux.project;
    project.up();
    let (first, other) = (project.process("a"), project.process("b"));
    tmux.shim("a").signal(Signal::KILL);
    let second = project.next_process("a", &first);
    assert!(!first.is_alive() && second.is_alive() && other.is_alive());
    tmux.shim("b").signal(Signal::KILL);
    other.wait_gone();
    eventually("its session is closed", || (tmux.sessions() == ["ostler-a"]).then_some(()));
    tmux.until_extinct("b");
}

/// P7: a `respawn-pane` hook of the user's does not apply to Ostler's pane.
#[test]
fn a_respawn_hook_does_not_apply() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit("echo one >> n; exit 0", "restart = { when = \"never\" }"))]);
    let conf = tmux.project.home.folder().join(".tmux.conf");
    std::fs::write(conf, "set-hook -g pane-died respawn-pane\nset -g destroy-unattached on\n")
        .expect("written");
    tmux.project.call(&["up"]);
    tmux.project.until("a", "ended", |view| view["ends"][0]["description"] == "exit 0");
    eventually("closed", || tmux.sessions().is_empty().then_some(()));
    assert_eq!(tmux.project.lines("n"), 1);
}

/// P8: the agent's memory counts as the unit's, and its limit applies.
#[test]
fn limits_hold_in_a_session() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[(
        "a",
        &unit(
            "exec tail /dev/zero",
            "limits = { memory = \"64M\" }\nrestart = { when = \"never\" }",
        ),
    )]);
    tmux.project.call(&["up"]);
    let view = tmux.project.until("a", "ended", |view| !view["ends"][0].is_null());
    let description = view["ends"][0]["description"].as_str().unwrap_or_default();
    assert!(description.contains("out of memory"), "{view:#}");
}
