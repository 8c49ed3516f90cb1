//! A cancel ends the whole tree, once, with one reason.

use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Home, Process, eventually, helper};
use std::time::{Duration, Instant};

on_every_backend! {
    /// R6, R7, R8, R9, R19
    manual_cancel: manual_cancel_pipe manual_cancel_pty
        manual_cancel_pipe_without_cgroup manual_cancel_pty_without_cgroup
}

fn manual_cancel(setup: Setup) {
    let home = setup.home();
    let run = home.start_ready(&setup.options(&[]), &[helper!("fork_tree"), "8"]);
    let tree = home.processes_of_runs();
    assert!(tree.len() >= 9, "{tree:?}");
    let result = home.cancel(&run);
    assert_eq!(result["termination"], "manual-cancel", "{result}");
    assert_eq!(result["exitSignal"], 15, "it does not ignore TERM");
    assert_eq!(result["extinct"], "yes");
    assert_eq!(result["state"], "exited");
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
    assert_eq!(home.count(&run, "exited"), 1);
    assert_eq!(home.count(&run, "kill-sent"), 0, "TERM was enough");
    assert_eq!(home.metric("run_exit_total", Some("manual-cancel")), 1);
}

on_every_backend! {
    /// R8
    a_descendant_that_ignores_term: a_descendant_that_ignores_term_is_killed_pipe
        a_descendant_that_ignores_term_is_killed_pty
        a_descendant_that_ignores_term_is_killed_pipe_without_cgroup
        a_descendant_that_ignores_term_is_killed_pty_without_cgroup
}

fn a_descendant_that_ignores_term(setup: Setup) {
    let home = setup.home();
    // The root exits at TERM, its descendants do not.
    let script = format!("{} 3 & wait", helper!("ignore_term"));
    let run = home.start_ready(&setup.options(&["--grace", "300ms"]), &["sh", "-c", &script]);
    let tree = home.processes_of_runs();
    assert!(tree.len() >= 5, "{tree:?}");
    let began = Instant::now();
    let result = home.cancel(&run);
    // 1.3 s is promised; five times that on a loaded machine.
    assert!(began.elapsed() < Duration::from_millis(6_500), "{:?}", began.elapsed());
    assert_eq!(result["termination"], "manual-cancel", "{result}");
    assert_eq!(result["extinct"], "yes");
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
    assert_eq!(home.count(&run, "term-sent"), 1);
    assert_eq!(home.count(&run, "kill-sent"), 1);
    let killed = home.event(&run, "kill-sent");
    let mode = killed["evidence"]["mode"].as_str().expect("a mode");
    assert!(home.metric("run_cleanup_kill_total", Some(mode)) >= 1);
}

/// R32: without a grace period KILL follows TERM at once, also for a run that is being cancelled already.
#[test]
fn a_cancel_without_grace_does_not_wait() {
    let home = Home::new();
    let script = format!("exec {} 1", helper!("ignore_term"));
    for waits in [true, false] {
        let run = home.start_ready(&["--grace", "60s"], &["sh", "-c", &script]);
        if waits {
            home.ostler(&["cancel", "--no-wait", &run]).ok();
            eventually("TERM was sent", || (home.count(&run, "term-sent") == 1).then_some(()));
        }
        let began = Instant::now();
        home.ostler(&["cancel", "--now", &run]).ok();
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        let record = home.record(&run);
        assert_eq!(record["exitSignal"], 9, "{record}");
        assert_eq!(home.count(&run, "kill-sent"), 1);
    }
}

/// R6: twenty cancels at once, and more afterwards: one reason, one end, one TERM.
#[test]
fn a_duplicate_cancel_changes_nothing() {
    let home = Home::new();
    let run = home.start_ready(&["--grace", "500ms"], &[helper!("ignore_term")]);
    let calls: Vec<_> = (0..20).map(|_| home.spawn(&["cancel", "--json", &run])).collect();
    for call in calls {
        let result = call.finish().ok().json();
        assert_eq!(result["termination"], "manual-cancel");
        assert_eq!(result["exitSignal"], 9);
    }
    let late = home.ostler(&["cancel", &run]).ok();
    assert!(late.text().contains("had already ended"), "{late:?}");
    for (what, times) in [("exited", 1), ("term-sent", 1), ("kill-sent", 1), ("cancel-asked", 1)] {
        assert_eq!(home.count(&run, what), times, "{what}");
    }
    assert_eq!(home.metric("run_exit_total", Some("manual-cancel")), 1);
}

/// R6: a cancel after the end does not become the reason.
#[test]
fn a_cancel_after_the_end_keeps_the_reason() {
    let home = Home::new();
    let result = home.run(&[], &["sh", "-c", "exit 3"]);
    let run = result["runId"].as_str().expect("an id");
    let after = home.cancel(run);
    assert_eq!(after["termination"], "exit");
    assert_eq!(after["exitCode"], 3);
    assert_eq!(home.count(run, "exited"), 1);
}

/// R6, X2: Ctrl-C in the foreground cancels the run, and the exit code is the signal's.
#[test]
fn ctrl_c_in_the_foreground_cancels_the_run() {
    let home = Home::new();
    let foreground = home.spawn(&["run", "--json", "--", "sh", "-c", "echo ready; sleep 300"]);
    foreground.until_written("ready");
    foreground.signal(ostler_e2e::Signal::INT);
    let output = foreground.finish();
    assert_eq!(output.code, 128 + 15, "{output:?}");
    assert_eq!(output.json()["termination"], "manual-cancel");
    assert_eq!(output.json()["extinct"], "yes");
}

/// R8: a stopped tree cannot act on TERM, and is ended nevertheless.
#[test]
fn a_stopped_child_is_ended() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let run =
            home.start_ready(&["--grace", "300ms"], &["sh", "-c", "sleep 300 & echo ready; wait"]);
        let tree = home.processes_of_runs();
        for process in &tree {
            process.signal(ostler_e2e::Signal::STOP);
        }
        eventually("all processes are stopped", || {
            tree.iter().all(|process| process.state() == Some('T')).then_some(())
        });
        let result = home.cancel(&run);
        assert_eq!(result["termination"], "manual-cancel", "{result}");
        assert_eq!(result["extinct"], "yes");
        assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
    }
}

/// X2: `--no-wait` returns at once; several runs at a time; an unknown one is an error and the others still end.
#[test]
fn several_are_cancelled_at_once() {
    let home = Home::new();
    let runs: Vec<String> =
        (0..3).map(|_| home.start_ready(&["--grace", "1s"], &[helper!("ignore_term")])).collect();
    let roots: Vec<Process> = runs.iter().map(|run| home.root(run)).collect();
    let output = home.ostler(&["cancel", "--no-wait", &runs[0], "nonesuch", &runs[1], &runs[2]]);
    assert_eq!(output.code, 4, "{output:?}");
    assert!(output.stderr.contains("nonesuch"), "{output:?}");
    for run in &runs {
        assert_eq!(home.wait(run)["termination"], "manual-cancel");
    }
    assert!(roots.iter().all(|root| !root.is_alive()));
}

/// R6, R28: the caller's reason is in the result, the record, the journal and `why`; the first one stays.
#[test]
fn a_cancel_carries_the_callers_reason() {
    let home = Home::new();
    let run = home.start(&[], &["sleep", "1000"]);
    let reason = "budget of today is used up";
    let result = home.ostler(&["cancel", &run, "--reason", reason, "--json"]).ok().json();
    assert_eq!(result["termination"], "manual-cancel", "{result}");
    assert_eq!(result["cancelReason"], reason);
    home.ostler(&["cancel", &run, "--reason", "another", "--json"]).ok();
    assert_eq!(home.record(&run)["cancelReason"], reason);
    assert_eq!(home.event(&run, "cancel-asked")["why"], reason);
    let output = home.ostler(&["why", &run]).ok().text();
    assert!(output.matches(reason).count() >= 2, "its state and its journal: {output}");
    let listed = home.ostler(&["runs", "--all"]).ok().text();
    assert!(listed.contains("budget of"), "{listed}");
    // The next supervisor knows the reason, and a cancel without a reason has none.
    home.kill_supervisor();
    eventually("the next supervisor", || home.supervisor());
    assert_eq!(home.record(&run)["cancelReason"], reason);
    let plain = home.start(&[], &["sleep", "1000"]);
    assert!(home.cancel(&plain).get("cancelReason").is_none());
    let long = "x".repeat(1_001);
    for wrong in ["", "  ", &long] {
        let refused = home.ostler(&["cancel", &run, "--reason", wrong]);
        assert_eq!(refused.code, 2, "{refused:?}");
    }
}

/// R28: a hook gets the reason of the cancel.
#[test]
fn a_hook_gets_the_reason_of_a_cancel() {
    let project = crate::units::setup::Project::new();
    let received = project.path("heard");
    std::fs::write(
        project.file(),
        format!(
            "[hooks]\non_crash = [\"sh\", \"-c\", 'echo \"$OSTLER_WHY\" >> {received}']\n\
             [units.a]\ncommand = [\"sh\", \"-c\", 'trap \"exit 7\" TERM; while :; do sleep 0.1; done']\n\
             restart = {{ when = \"always\", initial = \"50ms\" }}\n"
        ),
    )
    .expect("written");
    project.up();
    let run = project.view("a")["runId"].as_str().expect("a run").to_owned();
    project.call(&["cancel", &run, "--reason", "wrong model"]).ok();
    eventually("the hook", || {
        let received = std::fs::read_to_string(&received).unwrap_or_default();
        received.contains("exit 7: cancelled: wrong model").then_some(())
    });
}
