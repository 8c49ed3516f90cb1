//! The supervisor crashes: the crash is counted and logged, and another supervisor starts after a delay.

use crate::daemon::setup::{Daemon, answering, crash_log, quick_home, state_file};
use ostler_e2e::{Home, Signal, eventually};
use std::time::{Duration, Instant};

/// D2, D3: the first three waits in real time. Each time another process starts, and the crash was recorded before.
#[test]
fn the_waits_are_one_two_and_four_seconds() {
    let home = Home::new();
    let first = Daemon::start(&home);
    let mut supervisor = first.supervisor.clone();
    for (crashes, wait) in [(1, 1), (2, 2), (3, 4)] {
        let wait = Duration::from_secs(wait);
        supervisor.signal(Signal::KILL);
        supervisor.wait_gone();
        let died = Instant::now();
        let counted = eventually("the crash is counted", || {
            let file = state_file(&home);
            (file["crash_count"] == crashes).then_some(file)
        });
        assert!(counted.get("gateway_pid").is_none(), "no supervisor during the delay: {counted}");
        let entries = eventually("the crash is logged", || {
            let log = String::from_utf8(crash_log(&home)).expect("text");
            let entries = log.matches("=== CRASH ").count();
            (entries >= crashes).then_some(entries)
        });
        assert_eq!(entries, crashes);
        assert!(died.elapsed() < wait, "logged before the delay, not after");
        let next = eventually("the next supervisor", || home.supervisor());
        let waited = died.elapsed();
        // The guardian noticed the death at once.
        assert!(waited > wait - Duration::from_millis(150), "{crashes}: {waited:?}");
        assert!(waited < wait * 5, "{crashes}: {waited:?}");
        assert_ne!(next, supervisor);
        supervisor = answering(&home, &supervisor);
        assert_eq!(home.guardian(), Some(first.guardian.clone()));
        eventually("the new pid is in the file", || {
            (state_file(&home)["gateway_pid"] == supervisor.pid).then_some(())
        });
    }
}

/// D2: any signal is a crash, and `crash.log` says which.
#[test]
fn an_end_by_any_signal_is_a_crash() {
    let home = quick_home();
    let daemon = Daemon::start(&home);
    let mut supervisor = daemon.supervisor;
    let signals = [
        (Signal::KILL, "killed"),
        (Signal::ABORT, "aborted"),
        (Signal::ILL, "illegal instruction"),
        (Signal::ALARM, "alarm clock"),
    ];
    for (number, (signal, name)) in signals.into_iter().enumerate() {
        supervisor.signal(signal);
        supervisor.wait_gone();
        supervisor = answering(&home, &supervisor);
        assert_eq!(state_file(&home)["crash_count"], number + 1);
        let log = String::from_utf8(crash_log(&home)).expect("text");
        let last = log.rsplit("=== CRASH ").next().expect("an entry");
        assert!(last.contains("Exit code: -1\n"), "{last}");
        assert!(last.contains(&format!("Error: signal: {name}")), "{name}: {last}");
    }
    assert_eq!(home.guardian(), Some(daemon.guardian));
}

/// D2: every supervisor is a process of the same executable, and none of the guardian's copies.
#[test]
fn every_supervisor_is_a_fresh_process_of_the_same_executable() {
    let home = quick_home();
    let daemon = Daemon::start(&home);
    let executable = |pid: i32| std::fs::read_link(format!("/proc/{pid}/exe")).expect("a program");
    assert_eq!(executable(daemon.guardian.pid), executable(daemon.supervisor.pid));
    let next = crate::daemon::setup::replace_supervisor(&home);
    assert_eq!(executable(next.pid), executable(daemon.guardian.pid));
    assert_eq!(next.arguments()[1..], ["supervisor"]);
    // A signal mask or handler of the first is not in the second.
    assert!(next.start_time > daemon.supervisor.start_time);
}

/// D2: exit 0 ends the guardian too: no supervisor is started, nothing is counted.
#[test]
fn a_clean_exit_ends_the_guardian() {
    let home = quick_home();
    let daemon = Daemon::start(&home);
    daemon.supervisor.signal(Signal::TERM);
    daemon.supervisor.wait_gone();
    daemon.guardian.wait_gone();
    assert_eq!(state_file(&home)["crash_count"], 0);
    assert_eq!(crash_log(&home), b"");
    assert!(!home.file("ostler.pid").exists());
    assert_eq!(home.ostler(&["status"]).code, 3);
    assert!(home.processes().is_empty());
}

/// D3: there is no limit: another supervisor starts after the thirtieth crash too.
#[test]
fn restarts_of_the_supervisor_have_no_limit() {
    let home = Home::with(&[("OSTLER_WAIT_MS", "5")]);
    let daemon = Daemon::start(&home);
    let mut supervisor = daemon.supervisor;
    for _ in 0..30 {
        // Also before it is ready.
        supervisor.signal(Signal::KILL);
        supervisor.wait_gone();
        supervisor = eventually("the next one", || {
            home.supervisor().filter(|process| *process != supervisor)
        });
    }
    answering(&home, &daemon.guardian);
    assert_eq!(state_file(&home)["crash_count"], 30);
    assert_eq!(home.guardian(), Some(daemon.guardian));
    assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
}

/// D3: a call during the delay is answered by the next supervisor.
#[test]
fn a_call_during_the_restart_delay_is_answered_by_the_next_supervisor() {
    let home = Home::new();
    let daemon = Daemon::start(&home);
    daemon.supervisor.signal(Signal::KILL);
    daemon.supervisor.wait_gone();
    for verb in [&["--no-start", "runs"][..], &["run", "--", "echo", "heard"]] {
        let output = home.ostler(verb).ok();
        assert_eq!(output.stderr, "", "{verb:?}");
    }
    assert_eq!(home.guardian(), Some(daemon.guardian), "and of no other run");
}

/// D6: `crash.log` has the crashes of units too, each with its last 50 lines, and keeps them when other runs have pushed its
/// run out of the history; a stop, a clean exit and exit code 75 are no crash.
#[test]
fn the_crash_log_has_the_crashes_of_units() {
    let project = crate::units::setup::Project::with(&[
        crate::daemon::setup::QUICK,
        ("OSTLER_HISTORY_COUNT", "5"),
    ]);
    let never = "restart = { when = \"never\" }";
    project.declare(&[
        (
            "bad",
            &format!("command = [\"sh\", \"-c\", \"seq 1 60; echo last >&2; exit 3\"]\n{never}"),
        ),
        ("good", &format!("command = [\"sh\", \"-c\", \"echo well; exit 0\"]\n{never}")),
        ("long", "command = [\"sleep\", \"1000\"]"),
    ]);
    project.call(&["up"]);
    let run =
        project.until_state("bad", "error")["ends"][0]["runId"].as_str().expect("an id").to_owned();
    project.until_state("good", "done");
    project.call(&["stop", "long"]).ok();
    let log = || String::from_utf8(crash_log(&project.home)).expect("text");
    let text = log();
    assert_eq!(text.matches("=== CRASH ").count(), 1, "{text}");
    assert!(
        text.contains(&format!(
            "Unit: bad (run {run})\nRan for: 0s\nExit code: 3\nError: exit 3\n"
        )),
        "{text}"
    );
    assert!(text.contains("Last 50 lines of output:\n12\n13\n"), "{text}");
    assert!(text.ends_with("60\nlast\n"), "{text}");
    project.call(&["start", "long"]).ok();
    project.until_state("long", "ready");
    project.crash("long");
    eventually("the crash is logged", || log().contains("Unit: long (run ").then_some(()));
    for _ in 0..30 {
        project.home.run(&[], &["true"]);
    }
    eventually("the history was cut", || (project.home.records().len() < 20).then_some(()));
    assert!(log().starts_with(&text), "the crash log is unchanged");
}
