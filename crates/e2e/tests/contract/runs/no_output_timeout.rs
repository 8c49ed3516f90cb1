//! A run without output on both streams for its timeout is ended.

use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Home, helper};

on_every_backend! {
    /// R6, R7, R18, R19
    no_output_timeout: no_output_timeout_pipe no_output_timeout_pty
        no_output_timeout_pipe_without_cgroup no_output_timeout_pty_without_cgroup
}

fn no_output_timeout(setup: Setup) {
    let home = setup.home();
    let options = setup.options(&["--no-output-timeout", "1s", "--grace", "300ms"]);
    let arguments = [
        &["run", "--json", "--capture"],
        options.as_slice(),
        // Twice as long as the timeout, in much shorter steps.
        &["--", helper!("chatty"), "20", "100"],
    ]
    .concat();
    let output = home.ostler(&arguments);
    assert_eq!(output.code, 124, "{output:?}");
    let result = output.json();
    assert_eq!(result["termination"], "no-output-timeout", "{result}");
    assert_eq!(result["timedOut"], true);
    assert_eq!(result["noOutputTimedOut"], true);
    assert_eq!(result["extinct"], "yes");
    let written = result["stdout"].as_str().expect("text");
    assert!(written.contains("line 19"), "output restarted the timeout until the end: {written}");
    assert!(result["durationMs"].as_u64().is_some_and(|ms| ms >= 2_500), "{result}");
    let run = result["runId"].as_str().expect("an id");
    assert_eq!(home.count(run, "timed-out"), 1);
    assert_eq!(home.metric("run_timeout_total", Some("no_output")), 1);
    assert_eq!(home.metric("run_exit_total", Some("no-output-timeout")), 1);
}

/// R6: standard error counts as output.
#[test]
fn standard_error_restarts_the_no_output_timeout() {
    let home = Home::new();
    let options = ["--no-output-timeout", "1s", "--grace", "300ms"];
    let result = home.run(&options, &[helper!("chatty"), "20", "100", "stderr"]);
    assert_eq!(result["termination"], "no-output-timeout", "{result}");
    assert!(result["stderr"].as_str().is_some_and(|text| text.contains("line 19")), "{result}");
}

/// R6: a program that never writes counts as silent from its start.
#[test]
fn a_program_that_never_writes_is_ended() {
    let home = Home::new();
    let result = home.run(&["--no-output-timeout", "300ms"], &["sleep", "300"]);
    assert_eq!(result["termination"], "no-output-timeout", "{result}");
    assert_eq!(result["exitSignal"], 15);
}

/// R6: a program that closed its output counts as silent.
#[test]
fn a_program_that_closed_its_output_is_silent() {
    let home = Home::new();
    let options = ["--no-output-timeout", "500ms", "--timeout", "4s"];
    let result = home.run(&options, &["sh", "-c", "exec >&- 2>&-; exec sleep 300"]);
    assert_eq!(result["termination"], "no-output-timeout", "{result}");
}
