//! The overall timeout of a run.

use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Home, helper};
use std::collections::HashMap;

on_every_backend! {
    /// R6, R7, R8, R18, R19
    overall_timeout: overall_timeout_pipe overall_timeout_pty
        overall_timeout_pipe_without_cgroup overall_timeout_pty_without_cgroup
}

fn overall_timeout(setup: Setup) {
    let home = setup.home();
    // Output does not extend this deadline.
    let arguments = [
        &["run", "--json", "--timeout", "400ms", "--grace", "300ms"],
        setup.options(&[]).as_slice(),
        &["--", helper!("chatty"), "1000", "20"],
    ]
    .concat();
    let output = home.ostler(&arguments);
    assert_eq!(output.code, 124, "{output:?}");
    let result = output.json();
    assert_eq!(result["termination"], "overall-timeout", "{result}");
    assert_eq!(result["timedOut"], true);
    assert_eq!(result["noOutputTimedOut"], false);
    assert_eq!(result["extinct"], "yes");
    assert!(result["durationMs"].as_u64().is_some_and(|ms| ms >= 400), "{result}");
    let run = result["runId"].as_str().expect("an id");
    assert_eq!(home.count(run, "timed-out"), 1);
    assert_eq!(home.count(run, "exited"), 1);
    assert_eq!(home.metric("run_timeout_total", Some("overall")), 1);
    assert_eq!(home.metric("run_timeout_total", Some("no_output")), 0);
    assert_eq!(home.metric("run_exit_total", Some("overall-timeout")), 1);
}

/// R8: a timeout ends a tree that ignores TERM as a cancel does.
#[test]
fn a_timeout_kills_what_ignores_term() {
    let home = Home::new();
    let result =
        home.run(&["--timeout", "300ms", "--grace", "200ms"], &[helper!("ignore_term"), "3"]);
    assert_eq!(result["termination"], "overall-timeout", "{result}");
    assert_eq!(result["exitSignal"], 9);
    assert_eq!(result["extinct"], "yes");
    assert!(home.processes_of_runs().is_empty());
}

/// R6: an exit that races with the timeout has one winner, and one end.
#[test]
fn an_exit_that_races_with_the_timeout_ends_once() {
    let home = Home::new();
    let runs: Vec<String> = (0..60)
        .map(|index| {
            // Around the deadline, on both sides.
            let nap = format!("sleep 0.{:03}", 85 + index / 2);
            home.start(&["--timeout", "100ms"], &["sh", "-c", &nap])
        })
        .collect();
    let mut reasons: HashMap<String, usize> = HashMap::new();
    for run in &runs {
        let result = home.wait(run);
        let reason = result["termination"].as_str().expect("a reason").to_owned();
        assert!(reason == "exit" || reason == "overall-timeout", "{result}");
        assert_eq!(result["timedOut"], reason == "overall-timeout", "{result}");
        assert_eq!(result["extinct"], "yes");
        assert_eq!(home.count(run, "exited"), 1, "{run}");
        assert_eq!(home.event(run, "exited")["evidence"]["termination"], reason.as_str());
        *reasons.entry(reason).or_default() += 1;
    }
    let counted = |reason: &str| home.metric("run_exit_total", Some(reason)) as usize;
    for reason in ["exit", "overall-timeout"] {
        assert_eq!(counted(reason), reasons.get(reason).copied().unwrap_or(0), "{reasons:?}");
    }
    assert_eq!(home.metric("run_spawn_total", None), 60);
}

/// R6: the first reason wins, also when another comes during the termination.
#[test]
fn the_first_reason_wins() {
    let home = Home::new();
    let options = ["--timeout", "600ms", "--grace", "1500ms"];
    let run = home.start_ready(&options, &[helper!("ignore_term")]);
    let cancelled = home.cancel(&run);
    assert_eq!(cancelled["termination"], "manual-cancel", "the timeout came during the grace");
    let run = home.start_ready(&["--timeout", "200ms", "--grace", "1s"], &[helper!("ignore_term")]);
    home.spawn(&["events", "-f", "--json", "--run", &run]).until_written("timed-out");
    assert_eq!(home.cancel(&run)["termination"], "overall-timeout");
}
