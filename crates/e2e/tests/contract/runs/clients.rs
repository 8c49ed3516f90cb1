//! A foreground run ends when its client ends, by any cause, unless the client detached from it.

use crate::daemon::setup::QUICK;
use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Background, ControlSocket, Home, Signal, Terminal, eventually};
use serde_json::json;

const WAITS: [&str; 3] = ["sh", "-c", "echo ready; exec sleep 800"];

fn foreground(home: &Home, options: &[&str]) -> (Background, String) {
    let client = home.spawn(&[&["run"], options, &["--"], &WAITS[..]].concat());
    client.until_written("ready");
    let run = home.records().into_iter().rfind(|record| record["state"] == "running");
    let run = run.expect("a running run")["runId"].as_str().expect("an id").to_owned();
    (client, run)
}

#[track_caller]
fn until_ended(home: &Home, run: &str) {
    eventually("the client's run has ended", || {
        (home.record(run)["state"] == "exited").then_some(())
    });
    assert_eq!(home.record(run)["termination"], "manual-cancel");
    let why = home.ostler(&["why", run]).ok().text();
    assert!(why.contains("the foreground client ended"), "{why}");
}

on_every_backend! {
    /// R22: SIGKILL of the client ends its run, and no other.
    killing: a_killed_client_ends_its_run_pipe a_killed_client_ends_its_run_pty
        a_killed_client_ends_its_run_pipe_without_cgroup a_killed_client_ends_its_run_pty_without_cgroup
}

fn killing(setup: Setup) {
    let home = setup.home();
    let detached = home.start_ready(&setup.options(&[]), &WAITS);
    let (client, run) = foreground(&home, &setup.options(&[]));
    let viewer = home.spawn(&["attach", "--read-only", &run]);
    viewer.until_written("ready");
    viewer.signal(Signal::KILL);
    viewer.finish();
    assert_eq!(home.record(&run)["state"], "running", "a viewer is no client");
    client.signal(Signal::KILL);
    assert_eq!(client.finish().code, 137);
    until_ended(&home, &run);
    assert_eq!(home.record(&detached)["state"], "running");
}

/// R22: after a crash, the next supervisor watches a live client, and ends the run when the client ends.
#[test]
fn a_live_client_is_watched_after_a_crash() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home_with(&[QUICK]);
        let (client, run) = foreground(&home, &[]);
        for crash in 1..=2 {
            home.kill_supervisor();
            eventually("the run is adopted", || {
                (home.count(&run, "adopted") == crash).then_some(())
            });
            // During the adoption a listing may have fewer runs.
            let known = eventually("the run is listed", || {
                home.records().into_iter().find(|record| record["runId"] == run.as_str())
            });
            assert_eq!(known["state"], "running", "{setup:?}");
        }
        client.signal(Signal::KILL);
        client.finish();
        until_ended(&home, &run);
    }
}

/// R22: if the client ended while there was no supervisor, the next supervisor ends the run.
#[test]
fn a_run_ends_if_its_client_ended_without_a_supervisor() {
    let home = Home::with(&[QUICK]);
    let (client, run) = foreground(&home, &[]);
    let supervisor = home.supervisor().expect("a supervisor");
    supervisor.signal(Signal::STOP);
    client.signal(Signal::KILL);
    client.finish();
    supervisor.signal(Signal::KILL);
    supervisor.wait_gone();
    until_ended(&home, &run);
}

/// R22: Ctrl-] detaches and leaves the run running, also after a crash of the supervisor.
#[test]
fn a_run_goes_on_after_its_client_detached() {
    let home = Home::with(&[QUICK]);
    let command = home.command(&[&["run", "--pty", "--"], &WAITS[..]].concat());
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.until_on_screen("ready");
    let run = home.records()[0]["runId"].as_str().expect("an id").to_owned();
    assert!(home.record(&run)["client"]["pid"].is_i64());
    terminal.keys(b"\x1d");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("detached from run"), "{shown}");
    assert_eq!(home.count(&run, "client-left"), 1);
    home.kill_supervisor();
    eventually("the run is adopted", || (home.count(&run, "adopted") == 1).then_some(()));
    assert_eq!(home.record(&run)["state"], "running");
}

/// R22: only the client itself can report that it detached.
#[test]
fn another_process_cannot_detach_for_the_client() {
    let home = Home::new();
    let (client, run) = foreground(&home, &[]);
    ControlSocket::connect(&home).ask("runs.leave", json!({ "run": run }));
    client.signal(Signal::KILL);
    client.finish();
    until_ended(&home, &run);
}
