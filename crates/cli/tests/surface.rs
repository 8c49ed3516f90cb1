//! The help texts and the usage errors of the executable. No test here starts a supervisor.

#![expect(clippy::disallowed_methods, reason = "a test starts the executable as a user would")]

use std::process::{Command, Output};

fn ostler(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(arguments)
        .env("OSTLER_HOME", "/nonexistent/ostler")
        .output()
        .expect("the executable starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// X2: every verb has a help text, and every reading verb has `--json`.
#[test]
fn every_verb_explains_itself() {
    let verbs = [
        "run", "runs", "wait", "cancel", "write", "attach", "screen", "answer", "logs", "events",
        "why", "metrics", "doctor", "stop", "ls", "status", "crashes", "handoff",
    ];
    let overview = text(&ostler(&["--help"]).stdout);
    for verb in verbs {
        assert!(overview.contains(&format!("\n  {verb} ")), "{verb} is missing in:\n{overview}");
        let help = ostler(&[verb, "--help"]);
        assert_eq!(help.status.code(), Some(0));
        assert!(verb == "attach" || text(&help.stdout).contains("--json"), "{verb} has no --json");
    }
    assert!(overview.contains("Exit codes"));
    assert!(!overview.contains("supervisor  "), "the supervisor is not a public verb");
}

/// X1: the error for a bad argument names it and a valid form; exit 2.
#[test]
fn bad_arguments_are_reported() {
    for (arguments, expected) in [
        (&["run", "--timeout", "banana", "--", "true"][..], "\"banana\" is not a duration"),
        (&["run", "--timeout", "10", "--", "true"], "30s"),
        (&["run", "--grace", "2m", "--", "true"], "at most 60s"),
        (&["run", "--colour", "--", "true"], "--colour"),
        (&["run"], "<CMD>"),
        (&["run", "--env", "=x", "--", "true"], "NAME=VALUE"),
        (&["run", "--pty", "--size", "big", "--", "true"], "120x30"),
        (&["run", "--capture", "--", "true"], "--json"),
        (&["logs", "x", "--grep", "("], "regex"),
        (&["attach", "x", "--detach-key", "q"], "ctrl-]"),
        (&["rnu", "--", "true"], "run"),
        (&["cancel"], "<RUNS>"),
        (&["screen"], "<NAME>"),
        (&["mail"], "Usage"),
        (&["mail", "send", "deacon"], "--subject"),
        (&["mail", "send", "a\nb", "-s", "x", "-m", "y"], "control characters"),
        (&["mail", "read"], "<ID>"),
        (&["handoff", "-m", "y"], "--subject"),
        (&[], "Usage"),
    ] {
        let output = ostler(arguments);
        let description = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {description}");
        assert!(
            description.contains(expected),
            "{arguments:?} does not say {expected:?}:\n{description}"
        );
    }
}

/// X1: the error names a home that cannot be used; `run` has its own exit code for it.
#[test]
fn a_home_that_cannot_be_created_is_reported() {
    if std::fs::create_dir_all("/proc/ostler").is_ok() {
        return;
    }
    for (verb, code) in [(&["runs"][..], 1), (&["run", "--", "true"], 125)] {
        let output = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(verb)
            .env("OSTLER_HOME", "/proc/ostler")
            .output()
            .expect("the executable starts");
        let description = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{description}");
        assert!(
            description.contains("/proc/ostler") && description.contains("OSTLER_HOME"),
            "{description}"
        );
    }
}

#[test]
fn without_a_supervisor_and_without_starting_one_it_is_exit_3() {
    for verb in [&["runs"][..], &["why", "x"], &["metrics"], &["events"]] {
        let output = ostler(&[&["--no-start"], verb].concat());
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("no supervisor is running"));
    }
}

#[test]
fn completions_name_the_verbs() {
    let script = text(&ostler(&["completions", "bash"]).stdout);
    assert!(script.contains("cancel") && script.contains("--no-output-timeout"));
}
