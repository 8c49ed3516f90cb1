//! A scope key has at most one run: the newest.

use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Home, Process, Registry, Signal, eventually, helper};

on_every_backend! {
    /// R16
    replacement: a_newer_run_replaces_the_older_of_its_scope_pipe
        a_newer_run_replaces_the_older_of_its_scope_pty
        a_newer_run_replaces_the_older_of_its_scope_pipe_without_cgroup
        a_newer_run_replaces_the_older_of_its_scope_pty_without_cgroup
}

fn replacement(setup: Setup) {
    let home = setup.home();
    let options = setup.options(&["--scope", "k", "--grace", "400ms"]);
    let older = home.start_ready(&options, &[helper!("ignore_term"), "1"]);
    let tree = home.processes_of_runs();
    // It starts only when no process of the older one is left.
    let newer = home.start_ready(&options, &["sh", "-c", "echo ready; exec sleep 700"]);
    assert!(tree.iter().all(|process| !process.is_alive()), "two copies at one time: {tree:?}");
    let old = home.record(&older);
    assert_eq!((&old["state"], &old["termination"]), (&"exited".into(), &"manual-cancel".into()));
    assert_eq!(home.count(&older, "replaced"), 1);
    let new = home.record(&newer);
    assert_eq!(
        new["state"], "running",
        "the end of the older run does not affect the newer: {new}"
    );
    assert_eq!(new["scopeKey"], "k");
    assert_eq!(home.cancel(&newer)["termination"], "manual-cancel");
    // The scope is free again.
    let third = home.start(&options, &["sleep", "701"]);
    assert_eq!(home.count(&third, "replaced"), 0);
    assert_eq!(home.record(&third)["state"], "running");
}

/// R16: many runs at once: the last one runs, all others have ended, none waits.
#[test]
fn many_replacements_leave_one() {
    let home = Home::new();
    let calls: Vec<_> = (0..12)
        .map(|_| {
            home.spawn(&["run", "-d", "--scope", "k", "--grace", "300ms", "--", "sleep", "702"])
        })
        .collect();
    for call in calls {
        // A run that was replaced before its start says so.
        let output = call.finish();
        assert!([0, 125].contains(&output.code), "{output:?}");
    }
    let records = home.records();
    assert_eq!(records.len(), 12);
    let live: Vec<_> = records.iter().filter(|record| record["state"] != "exited").collect();
    assert_eq!(live.len(), 1, "{live:#?}");
    for record in records.iter().filter(|record| record["state"] == "exited") {
        assert_eq!(record["termination"], "manual-cancel", "{record}");
        assert_eq!(record["extinct"], "yes");
    }
    assert_eq!(home.processes_of_runs().len(), 1);
}

/// R16: other scopes, and runs without one, are not touched.
#[test]
fn other_scopes_are_not_touched() {
    let home = Home::new();
    let others =
        [home.start(&["--scope", "a"], &["sleep", "703"]), home.start(&[], &["sleep", "704"])];
    let roots: Vec<Process> = others.iter().map(|run| home.root(run)).collect();
    home.start(&["--scope", "b"], &["sleep", "705"]);
    home.start(&["--scope", "b"], &["sleep", "706"]);
    assert!(roots.iter().all(Process::is_alive));
}

/// R15, R16: the scope is known to the next supervisor too.
#[test]
fn a_scope_outlives_its_supervisor() {
    let home = Home::new();
    let older = home.start(&["--scope", "k"], &["sleep", "707"]);
    let root = home.root(&older);
    home.kill_daemon();
    let newer = home.start(&["--scope", "k"], &["sleep", "708"]);
    assert!(!root.is_alive());
    assert_eq!(home.record(&older)["termination"], "manual-cancel");
    assert_eq!(home.record(&newer)["state"], "running");
}

/// R16, X1: a run that waits for its scope when the supervisor dies was never started, and its error says so.
#[test]
fn a_run_that_waits_for_its_scope_when_the_supervisor_dies_has_an_error() {
    let home = Home::new();
    let scope = ["--scope", "place", "--grace", "30s"];
    let older = home.start(&scope, &[helper!("ignore_term"), "1"]);
    let newer = home.spawn(&["run", "-d", "--scope", "place", "--", "sleep", "900"]);
    let waiting = "SELECT count(*) FROM runs WHERE state = 'starting' AND scope_key = 'place'";
    eventually("the newer run is recorded", || {
        (Registry::open(&home).number(waiting) == 1).then_some(())
    });
    home.kill_supervisor();
    let newer = newer.finish();
    assert_eq!(newer.code, 125, "{newer:?}");
    assert!(
        newer.stderr.contains("the supervisor ended before it started the run; run it again"),
        "{newer:?}"
    );
    // Its grace period ends later; the test does not wait for it.
    home.root(&older).signal(Signal::KILL);
}
