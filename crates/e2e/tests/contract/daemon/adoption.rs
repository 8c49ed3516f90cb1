//! No run dies with its supervisor: its input, terminal, deadlines and exit status outlive it.

use crate::daemon::setup::{Daemon, QUICK, answering, quick_home, replace_supervisor, state_file};
use crate::setup::{Backend, Setup, on_every_backend};
use ostler_e2e::{Home, Signal, Terminal, eventually, helper};

const ECHO: &str = "echo ready; while read line; do echo \"<$line>\"; done; echo bye; exit 6";
const ECHO_ON_TERMINAL: &str =
    "stty -echo; echo ready; while read line; do echo \"<$line>\"; done; echo bye; exit 6";

fn echo(setup: Setup) -> &'static str {
    match setup.backend {
        Backend::Pipe => ECHO,
        Backend::Pty => ECHO_ON_TERMINAL,
    }
}

on_every_backend! {
    /// D8: a run goes on with the same pid, input and output, through several supervisors.
    goes_on: a_run_goes_on_pipe a_run_goes_on_pty
        a_run_goes_on_pipe_without_cgroup a_run_goes_on_pty_without_cgroup
}

fn goes_on(setup: Setup) {
    let home = setup.home_with(&[QUICK]);
    let run = home.start_ready(&setup.options(&["--stdin"]), &["sh", "-c", echo(setup)]);
    let root = home.root(&run);
    let mut expected = vec!["ready".to_owned()];
    for round in 1..=3 {
        replace_supervisor(&home);
        let record = home.record(&run);
        assert_eq!((&record["state"], &record["pid"]), (&"running".into(), &root.pid.into()));
        assert_eq!(home.count(&run, "adopted"), round);
        home.ostler(&["write", &run, "--text", &format!("word {round}\n")]).ok();
        home.until_logged(&run, &format!("<word {round}>"));
        expected.push(format!("<word {round}>"));
    }
    assert!(root.is_alive());
    home.ostler(&["write", &run, "--eof", "--text", ""]).ok();
    let result = home.wait(&run);
    assert_eq!((&result["termination"], &result["exitCode"]), (&"exit".into(), &6.into()));
    expected.push("bye".to_owned());
    let log = home.ostler(&["logs", &run]).ok().text();
    assert_eq!(log.lines().map(str::trim_end).collect::<Vec<_>>(), expected);
    assert_eq!(home.metric("run_spawn_total", None), 1);
}

on_every_backend! {
    /// D8: a run writes and exits while no supervisor runs: no output is lost, and its exit code is known.
    ends_without_a_supervisor: an_end_meanwhile_is_learned_pipe an_end_meanwhile_is_learned_pty
        an_end_meanwhile_is_learned_pipe_without_cgroup an_end_meanwhile_is_learned_pty_without_cgroup
}

fn ends_without_a_supervisor(setup: Setup) {
    let home = setup.home_with(&[("OSTLER_WAIT_MS", "1000")]);
    let gate = home.folder().join("gate");
    let script = |end: &str| {
        let gate = gate.display();
        format!("echo ready; until test -e {gate}; do sleep 0.01; done; echo last words; {end}")
    };
    let start = |end: &str| home.start_ready(&setup.options(&[]), &["sh", "-c", &script(end)]);
    let (code, signal) = (start("exit 41"), start("kill -TERM $$"));
    let clean = start("exit 0");
    let roots = [&code, &signal, &clean].map(|run| home.root(run));
    let old = home.supervisor().expect("a supervisor");
    home.kill_supervisor();
    std::fs::write(&gate, "").expect("written");
    for root in &roots {
        root.wait_gone();
    }
    assert_eq!(home.supervisor(), None, "they ended without a supervisor");
    answering(&home, &old);
    for (run, termination, exit_code, exit_signal) in [
        (&code, "exit", Some(41), None),
        (&signal, "signal", None, Some(15)),
        (&clean, "exit", Some(0), None),
    ] {
        let result = home.wait(run);
        assert_eq!(result["termination"], termination, "{setup:?} {result}");
        assert_eq!(result["exitCode"], serde_json::json!(exit_code), "{result}");
        assert_eq!(result["exitSignal"], serde_json::json!(exit_signal), "{result}");
        assert_eq!(home.count(run, "exited"), 1);
        let log = home.ostler(&["logs", run]).ok().text();
        assert_eq!(log, setup.line("ready") + &setup.line("last words"));
    }
    assert_eq!(home.metric("run_exit_total", Some("reconciled-stale")), 0);
}

/// D8: the terminal is kept: a later viewer sees its screen, and its size and keys work.
#[test]
fn a_terminal_outlives_its_supervisor() {
    let home = quick_home();
    let script = format!("printf 'gone\\033[2J\\033[5;10Hpicture\\r\\n'; {ECHO_ON_TERMINAL}");
    let run = home.start_ready(&["--pty", "--size", "90x20"], &["sh", "-c", &script]);
    replace_supervisor(&home);
    let mut viewer = Terminal::start(home.command(&["attach", &run]), 90, 20);
    let shown = viewer.until_shown("picture");
    assert!(!shown.contains("gone"), "the screen, not the history: {shown:?}");
    viewer.keys(b"typed\r");
    viewer.until_shown("<typed>");
    viewer.keys(b"\x1d");
    assert_eq!(viewer.finish().0, Some(0));
    let sizes = home.start_ready(&["--pty"], &[helper!("sizes")]);
    replace_supervisor(&home);
    let viewer = Terminal::start(home.command(&["attach", &sizes]), 77, 22);
    viewer.until_shown("size 77x22");
    assert_eq!(home.record(&run)["state"], "running");
}

/// D8: the end of input reaches a run, sent before the crash or after it.
#[test]
fn the_end_of_input_reaches_a_run_before_and_after_a_crash() {
    let home = quick_home();
    let script = "echo ready; cat; until test -e \"$0\"; do sleep 0.01; done; echo over; exit 3";
    let gate = home.folder().join("gate");
    let gate = gate.to_str().expect("a path");
    let before = home.start_ready(&["--stdin"], &["sh", "-c", script, gate]);
    let after = home.start_ready(&["--stdin"], &["sh", "-c", script, gate]);
    home.ostler(&["write", &before, "--eof", "--text", "early\n"]).ok();
    home.until_logged(&before, "early");
    replace_supervisor(&home);
    home.ostler(&["write", &after, "--text", "late\n"]).ok();
    replace_supervisor(&home);
    home.ostler(&["write", &after, "--eof", "--text", ""]).ok();
    // A run whose input was closed accepts no more.
    let refused = home.ostler(&["write", &before, "--text", "x"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    std::fs::write(gate, "").expect("written");
    for (run, said) in [(&before, "early"), (&after, "late")] {
        assert_eq!(home.wait(run)["exitCode"], 3);
        assert_eq!(home.ostler(&["logs", run]).ok().text(), format!("ready\n{said}\nover\n"));
    }
}

/// D8: a run without input stays so, and no process holds a pipe for it.
#[test]
fn a_run_without_input_gets_none_after_a_crash() {
    let home = quick_home();
    let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 971"]);
    replace_supervisor(&home);
    let refused = home.ostler(&["write", &run, "--text", "x"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("stdin"), "{refused:?}");
}

/// D8: deadlines hold: the overall one from the start, the no-output one from the last output.
#[test]
fn deadlines_hold_across_a_crash() {
    let home = quick_home();
    let overall = home.start_ready(&["--timeout", "3s"], &["sh", "-c", "echo ready; sleep 972"]);
    let silent =
        home.start_ready(&["--no-output-timeout", "2s"], &["sh", "-c", "echo ready; sleep 973"]);
    let chatty = home.start(&["--no-output-timeout", "3s"], &[helper!("chatty"), "100000", "20"]);
    replace_supervisor(&home);
    let result = home.wait(&silent);
    assert_eq!(result["termination"], "no-output-timeout", "{result}");
    let result = home.wait(&overall);
    assert_eq!(result["termination"], "overall-timeout", "{result}");
    assert!(result["durationMs"].as_u64().is_some_and(|ms| ms >= 2_900), "{result}");
    assert_eq!(home.record(&chatty)["state"], "running", "the run was not silent");
}

/// D8: a deadline that passes while no supervisor runs is noticed by the next one.
#[test]
fn a_deadline_that_passes_without_a_supervisor_is_noticed() {
    let home = Home::with(&[("OSTLER_WAIT_MS", "2000")]);
    let run = home.start_ready(&["--timeout", "1s"], &["sh", "-c", "echo ready; sleep 974"]);
    home.kill_supervisor();
    assert_eq!(home.wait(&run)["termination"], "overall-timeout");
    assert_eq!(state_file(&home)["crash_count"], 1);
}

/// D8: `wait` and `logs -f` continue through more than one crash.
#[test]
fn wait_and_logs_continue_across_crashes() {
    let home = quick_home();
    let gate = home.folder().join("gate");
    let script = "echo ready; until test -e \"$0\"; do sleep 0.01; done; echo over; exit 12";
    let run = home.start_ready(&[], &["sh", "-c", script, gate.to_str().expect("a path")]);
    let waiting = home.spawn(&["wait", "--json", &run]);
    let patient = home.spawn(&["wait", "--json", "--timeout", "60s", &run]);
    let following = home.spawn(&["logs", "-f", &run]);
    following.until_written("ready");
    for _ in 0..3 {
        replace_supervisor(&home);
    }
    std::fs::write(&gate, "").expect("written");
    for wait in [waiting, patient] {
        let result = wait.finish().ok().json();
        assert_eq!((&result["termination"], &result["exitCode"]), (&"exit".into(), &12.into()));
    }
    assert_eq!(following.finish().ok().text(), "ready\nover\n");
}

/// D8, D4: the journal is followed through crashes, each entry once, until the daemon is stopped; then no supervisor is
/// started to continue.
#[test]
fn the_journal_is_followed_across_crashes_until_the_stop() {
    let home = quick_home();
    Daemon::start(&home);
    let following = home.spawn(&["events", "-f", "--json"]);
    following.until_written("supervisor-started");
    let mut runs = Vec::new();
    for _ in 0..3 {
        replace_supervisor(&home);
        let run = home.start(&[], &["true"]);
        home.wait(&run);
        runs.push(run);
    }
    home.ostler(&["stop"]).ok();
    let output = following.finish().ok().text();
    let entries: Vec<serde_json::Value> =
        output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let numbers: Vec<_> = entries.iter().filter_map(|entry| entry["seq"].as_i64()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    for run in &runs {
        let ends =
            entries.iter().filter(|entry| entry["runId"] == **run && entry["what"] == "exited");
        assert_eq!(ends.count(), 1, "{output}");
    }
    assert_eq!(home.processes(), []);
}

/// D8: a foreground run goes on, and its client has its exit code.
#[test]
fn a_foreground_run_goes_on_across_a_crash() {
    let home = quick_home();
    let gate = home.folder().join("gate");
    let script = "echo ready; until test -e \"$0\"; do sleep 0.01; done; echo over; exit 13";
    let run = home.spawn(&["run", "--", "sh", "-c", script, gate.to_str().expect("a path")]);
    run.until_written("ready");
    replace_supervisor(&home);
    replace_supervisor(&home);
    std::fs::write(&gate, "").expect("written");
    let output = run.finish();
    assert_eq!(output.code, 13, "{output:?}");
    assert_eq!(output.text(), "ready\nover\n");
}

/// D8: guardian and supervisor die at once: a waiting client does not report a stop.
#[test]
fn a_daemon_that_died_is_not_reported_as_stopped() {
    let home = quick_home();
    let run = home.spawn(&["run", "--", "sh", "-c", "trap '' PIPE; echo ready; exec sleep 1000"]);
    run.until_written("ready");
    home.kill_daemon();
    let output = run.finish();
    assert!(
        output.stderr.contains("is not restarted")
            && output.stderr.contains("may still be running"),
        "{output:?}"
    );
    assert!(!output.stderr.contains("stopped"), "{output:?}");
    home.ostler(&["start"]).ok();
    let run = home.records()[0]["runId"].as_str().expect("an id").to_owned();
    assert_eq!(home.wait(&run)["termination"], "manual-cancel", "the run's client has ended");
}

/// D8, R8: an adopted run is cancelled like any other, its whole tree.
#[test]
fn an_adopted_tree_is_cancelled_whole() {
    for setup in [Setup::PIPE, Setup::PTY, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home_with(&[QUICK]);
        let run =
            home.start_ready(&setup.options(&["--grace", "300ms"]), &[helper!("ignore_term"), "3"]);
        let tree = home.processes_of_runs();
        replace_supervisor(&home);
        let result = home.cancel(&run);
        assert_eq!(result["termination"], "manual-cancel", "{result}");
        assert_eq!(result["exitSignal"], 9, "its exit status is known: {result}");
        assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
    }
}

/// D8: the guardian accumulates neither descriptors nor zombies, however many supervisors and runs there were.
#[test]
fn the_guardian_accumulates_nothing() {
    let home = quick_home();
    let daemon = Daemon::start(&home);
    let open = || {
        let path = format!("/proc/{}/fd", daemon.guardian.pid);
        std::fs::read_dir(path).expect("descriptors").count()
    };
    let before = open();
    for _ in 0..5 {
        let runs: Vec<_> = (0..10).map(|_| home.start(&["--pty"], &["sleep", "975"])).collect();
        replace_supervisor(&home);
        for run in &runs {
            home.cancel(run);
        }
        home.run(&[], &["true"]);
    }
    eventually("as many descriptors as at the beginning", || (open() <= before + 1).then_some(()));
    let children = format!("/proc/{0}/task/{0}/children", daemon.guardian.pid);
    let children = || std::fs::read_to_string(&children).expect("children");
    eventually("one child, the supervisor", || {
        (children().split_whitespace().count() == 1).then_some(())
    });
    daemon.guardian.signal(Signal::CONT);
}
