//! A stop starts nothing new, ends everything, and only then returns.

use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Home, Signal, helper};

on_every_backend! {
    /// R8, R17
    stop: stop_ends_every_tree_pipe stop_ends_every_tree_pty
        stop_ends_every_tree_pipe_without_cgroup stop_ends_every_tree_pty_without_cgroup
}

fn stop(setup: Setup) {
    let home = setup.home();
    let options = setup.options(&["--grace", "300ms"]);
    let stubborn = home.start_ready(&options, &[helper!("ignore_term"), "2"]);
    let tame = home.start_ready(&options, &[helper!("fork_tree"), "4"]);
    let supervisor = home.supervisor().expect("a supervisor");
    let answer = home.ostler(&["stop", "--json"]).ok().json();
    let mut left = home.processes();
    left.retain(|process| *process != supervisor);
    assert!(left.is_empty(), "{left:?}");
    supervisor.wait_gone();
    let ended = answer["ended"].as_array().expect("a list");
    for run in [&stubborn, &tame] {
        let result = ended.iter().find(|result| result["runId"] == run.as_str()).expect("told");
        assert_eq!(result["termination"], "manual-cancel");
        assert_eq!(result["extinct"], "yes");
    }
    assert!(!home.file("ostler.pid").exists(), "the pid file is removed");
    assert_eq!(home.ostler(&["stop"]).code, 3, "there is nothing to stop");
    let record = home.record(&stubborn);
    assert_eq!(record["termination"], "manual-cancel", "the next supervisor knows it: {record}");
}

/// R17: when `stop` returns, the supervisor is gone too.
#[test]
fn stop_returns_when_the_supervisor_is_gone() {
    let home = Home::new();
    for _ in 0..20 {
        home.records();
        let supervisor = home.supervisor().expect("a supervisor");
        home.ostler(&["stop"]).ok();
        assert!(!supervisor.is_alive(), "{supervisor:?} is still there");
    }
}

/// R17: runs are refused during a stop, with the reason.
#[test]
fn a_spawn_is_refused_once_shutdown_has_begun() {
    let home = Home::new();
    home.start_ready(&["--grace", "3s"], &[helper!("ignore_term")]);
    let events = home.spawn(&["events", "-f", "--json"]);
    let stop = home.spawn(&["stop"]);
    events.until_written("supervisor-stopping");
    let refused = home.ostler(&["run", "--", "true"]);
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.stderr.contains("stopping"), "{refused:?}");
    stop.finish().ok();
    assert!(home.processes_of_runs().iter().all(|process| !process.command().contains("ignore")));
}

/// R17: runs that are starting or waiting for their scope are ended too.
#[test]
fn runs_that_are_starting_are_awaited_and_cancelled() {
    for _ in 0..5 {
        let home = Home::new();
        home.records();
        let options = ["run", "-d", "--scope", "k", "--grace", "200ms", "--"];
        let calls: Vec<_> = (0..8)
            .map(|_| home.spawn(&[&options[..], &[helper!("ignore_term")]].concat()))
            .collect();
        home.ostler(&["stop"]).ok();
        drop(calls);
        assert!(
            home.processes().iter().all(|process| !process.command().contains("ignore_term ")),
            "{:?}",
            home.processes()
        );
    }
}

/// R17: TERM to the supervisor is an orderly stop.
#[test]
fn term_to_the_supervisor_is_an_orderly_stop() {
    let home = Home::new();
    let run = home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term"), "1"]);
    let tree = home.processes_of_runs();
    let supervisor = home.supervisor().expect("a supervisor");
    supervisor.signal(Signal::TERM);
    supervisor.wait_gone();
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
    assert_eq!(home.record(&run)["termination"], "manual-cancel");
}

/// R17: two stops at once: both return when it is done.
#[test]
fn two_stops_at_once_both_return_when_it_is_done() {
    let home = Home::new();
    home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term")]);
    let calls: Vec<_> = (0..4).map(|_| home.spawn(&["stop"])).collect();
    for call in calls {
        let output = call.finish();
        assert!([0, 3].contains(&output.code), "{output:?}");
        assert!(home.processes_of_runs().is_empty() || home.supervisor().is_none());
    }
    ostler_e2e::eventually("all processes are gone", || home.processes().is_empty().then_some(()));
}

/// R4: stop leaves no cgroup behind.
#[test]
fn stop_leaves_no_boundary_behind() {
    let home = Home::new();
    let run = home.start(&[], &["sleep", "750"]);
    let record = home.record(&run);
    let Some(leaf) = record["cgroup"].as_str().map(std::path::PathBuf::from) else {
        ostler_e2e::skipped("no cgroup can be made here");
        return;
    };
    assert!(leaf.exists());
    home.ostler(&["stop"]).ok();
    assert!(!leaf.exists());
    assert!(leaf.parent().is_some_and(|room| !room.exists()));
}
