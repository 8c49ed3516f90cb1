//! `ostler stop` is final, complete and bounded in time, in any state of the daemon.

use crate::daemon::setup::{Counting, Daemon, quick_home, state_file, status};
use ostler_e2e::{Home, Signal, eventually, helper};
use std::time::{Duration, Instant};

/// D4: `stop` returns when guardian, supervisor and every tree are gone, and prints what it killed.
#[test]
fn stop_returns_when_all_is_gone_and_prints_what_it_killed() {
    let home = Home::new();
    let stubborn = home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term"), "3"]);
    let tame = home.start_ready(&["--pty"], &[helper!("fork_tree"), "4"]);
    let daemon = Daemon::of(&home);
    let processes = home.processes();
    assert!(processes.len() >= 10, "{processes:?}");
    let output = home.ostler(&["stop"]).ok().text();
    let left: Vec<_> = processes.iter().filter(|process| process.is_alive()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(output.contains("2 runs ended, 1 of them by SIGKILL"), "{output}");
    let line =
        |run: &str| output.lines().find(|line| line.contains(run)).expect("its line").to_owned();
    assert!(line(&stubborn).contains("KILL"), "{output}");
    assert!(!line(&tame).contains("KILL"), "{output}");
    assert!(output.contains(&format!("supervisor {}", daemon.supervisor.pid)), "{output}");
    assert!(!home.file("ostler.pid").exists());
    assert!(!home.file("guardian.sock").exists());
    assert_eq!(state_file(&home)["crash_count"], 0, "a stop is no crash");
}

/// D4: without a daemon: exit 3, and no daemon is started.
#[test]
fn stop_when_nothing_runs_is_exit_3() {
    let home = Home::new();
    let never = home.ostler(&["stop"]);
    assert_eq!(never.code, 3, "{never:?}");
    assert!(never.stderr.contains("no supervisor is running"), "{never:?}");
    Daemon::start(&home);
    home.ostler(&["stop"]).ok();
    assert_eq!(home.ostler(&["stop"]).code, 3);
    assert!(home.processes().is_empty());
}

/// D4: a stop during a restart delay begins at once, counts no crash, and ends the live runs by their rules.
#[test]
fn stop_during_a_restart_delay_ends_the_live_runs() {
    let home = Home::with(&[("OSTLER_WAIT_MS", "600000")]);
    let stubborn = home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term"), "2"]);
    let pty = home.start_ready(&["--pty"], &["sh", "-c", "echo ready; exec sleep 962"]);
    let ended = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 963"]);
    let root = home.root(&ended);
    let daemon = Daemon::of(&home);
    home.kill_supervisor();
    eventually("the crash is known", || (state_file(&home)["crash_count"] == 1).then_some(()));
    root.signal(Signal::KILL);
    root.wait_gone();
    let trees = home.processes_of_runs();
    assert!(trees.len() >= 4, "the runs are alive: {trees:?}");
    let began = Instant::now();
    let answer = home.ostler(&["stop", "--json"]).ok().json();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(!daemon.guardian.is_alive());
    assert_eq!(home.processes(), []);
    let description = answer["ended"].as_array().expect("a list").clone();
    let of = |run: &str| description.iter().find(|result| result["runId"] == run).cloned();
    assert_eq!(of(&stubborn).expect("told")["exitSignal"], 9, "{answer}");
    assert_eq!(of(&pty).expect("told")["termination"], "manual-cancel", "{answer}");
    // The next supervisor knows them too, including the one that exited by itself.
    let record = home.record(&stubborn);
    assert_eq!(
        (&record["termination"], &record["exitSignal"]),
        (&"manual-cancel".into(), &9.into())
    );
    let record = home.record(&ended);
    assert_eq!((&record["termination"], &record["exitSignal"]), (&"signal".into(), &9.into()));
}

/// D4: a stopped supervisor is continued, and its runs end by their rules.
#[test]
fn stop_works_when_the_supervisor_is_stopped() {
    let home = Home::new();
    let run = home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term"), "1"]);
    let daemon = Daemon::of(&home);
    daemon.supervisor.signal(Signal::STOP);
    let began = Instant::now();
    let output = home.ostler(&["stop"]).ok().text();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(home.processes(), []);
    assert!(output.contains("1 run ended, 1 of them by SIGKILL"), "{output}");
    assert_eq!(home.record(&run)["termination"], "manual-cancel");
}

/// D4: the same with a stopped guardian.
#[test]
fn stop_works_when_the_guardian_is_stopped() {
    let home = Home::new();
    let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 964"]);
    let daemon = Daemon::of(&home);
    daemon.guardian.signal(Signal::STOP);
    home.ostler(&["stop"]).ok();
    assert_eq!(home.processes(), []);
    assert_eq!(home.record(&run)["termination"], "manual-cancel");
}

/// D4: TERM, INT or QUIT to the guardian is the same.
#[test]
fn a_signal_to_the_guardian_is_a_stop() {
    for signal in [Signal::TERM, Signal::INT, Signal::QUIT] {
        let home = Home::new();
        let run = home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term"), "1"]);
        let trees = home.processes_of_runs();
        let daemon = Daemon::of(&home);
        daemon.guardian.signal(signal);
        daemon.guardian.wait_gone();
        assert!(!daemon.supervisor.is_alive(), "{signal:?}: the stop is complete");
        assert!(trees.iter().all(|process| !process.is_alive()), "{signal:?}: {trees:?}");
        assert_eq!(state_file(&home)["crash_count"], 0, "{signal:?}");
        assert_eq!(status(&home)["running"], false);
        assert_eq!(home.record(&run)["termination"], "manual-cancel", "{signal:?}");
    }
}

/// D4: the daemon ignores a hang-up and other signals without a meaning.
#[test]
fn the_daemon_ignores_a_hang_up() {
    let home = Home::new();
    let daemon = Daemon::start(&home);
    for process in [&daemon.guardian, &daemon.supervisor] {
        process.signal(Signal::HUP);
        process.signal(Signal::CHILD);
    }
    assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
    assert_eq!(Daemon::of(&home), daemon);
}

/// D4: a signal to the guardian during a wait, by its pid.
#[test]
fn a_signal_to_the_guardian_during_a_restart_delay_is_a_stop() {
    let mut home = Home::with(&[("OSTLER_WAIT_MS", "600000")]);
    let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 965"]);
    let daemon = Daemon::of(&home);
    home.kill_supervisor();
    eventually("the crash is known", || (state_file(&home)["crash_count"] == 1).then_some(()));
    daemon.guardian.signal(Signal::INT);
    daemon.guardian.wait_gone();
    assert_eq!(home.processes(), []);
    home.unset("OSTLER_WAIT_MS");
    assert_eq!(home.record(&run)["termination"], "manual-cancel");
}

/// D4: the supervisor is killed during a stop: everything ends, and the stop is final.
#[test]
fn a_stop_continues_after_the_supervisor_was_killed() {
    let home = quick_home();
    let run = home.start_ready(&["--grace", "2s"], &[helper!("ignore_term"), "2"]);
    let counting = Counting::start(&home, &[], 10, 5, 0);
    let daemon = Daemon::of(&home);
    let events = home.spawn(&["events", "-f", "--json"]);
    let stop = home.spawn(&["stop"]);
    events.until_written("supervisor-stopping");
    daemon.supervisor.signal(Signal::KILL);
    let output = stop.finish().ok();
    assert!(!daemon.guardian.is_alive(), "{output:?}");
    drop(events);
    assert_eq!(home.processes(), []);
    for run in [&run, &counting.run] {
        assert_eq!(home.record(run)["termination"], "manual-cancel");
        assert_eq!(home.count(run, "exited"), 1);
    }
}

/// D4, D1: stop and start alternate: never two daemons, never none.
#[test]
fn stop_and_start_alternate() {
    let home = Home::new();
    let mut before = Daemon::start(&home);
    for _ in 0..5 {
        home.ostler(&["stop"]).ok();
        assert!(!before.guardian.is_alive() && !before.supervisor.is_alive());
        let output = home.ostler(&["start"]).ok().text();
        assert!(output.starts_with("started"), "{output}");
        before = Daemon::of(&home);
    }
}
