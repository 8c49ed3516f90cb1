//! `ostler stop`: final, complete, bounded, whatever state the daemon is in.

use crate::daemon::{Counting, Daemon, quick_home, state_file, status};
use ostler_e2e::{Home, Signal, eventually, helper};
use std::time::{Duration, Instant};

/// D4: it returns when guardian, supervisor and every tree are gone, and says what had to be killed.
#[test]
fn stop_returns_when_all_is_gone_and_says_what_it_killed() {
    let home = Home::new();
    let stubborn = home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term"), "3"]);
    let tame = home.start_ready(&["--pty"], &[helper!("fork_tree"), "4"]);
    let daemon = Daemon::of(&home);
    let everybody = home.processes();
    assert!(everybody.len() >= 10, "{everybody:?}");
    let description = home.ostler(&["stop"]).ok().text();
    let left: Vec<_> = everybody.iter().filter(|process| process.is_alive()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(description.contains("2 runs ended, 1 of them by SIGKILL"), "{description}");
    let line = |run: &str| {
        description.lines().find(|line| line.contains(run)).expect("its line").to_owned()
    };
    assert!(line(&stubborn).contains("KILL"), "{description}");
    assert!(!line(&tame).contains("KILL"), "{description}");
    assert!(
        description.contains(&format!("supervisor {}", daemon.supervisor.pid)),
        "{description}"
    );
    assert!(!home.file("ostler.pid").exists());
    assert!(!home.file("guardian.sock").exists());
    assert_eq!(state_file(&home)["crash_count"], 0, "it is no crash");
}

/// D4: nothing to stop: exit 3, and nobody is started for it.
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

/// D4: during a wait: at once, without another crash, and the runs that live on are ended by their rules.
#[test]
fn stop_during_a_wait_ends_the_runs_that_live_on() {
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
    assert!(trees.len() >= 4, "they live on: {trees:?}");
    let began = Instant::now();
    let answer = home.ostler(&["stop", "--json"]).ok().json();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(!daemon.guardian.is_alive());
    assert_eq!(home.processes(), []);
    let description = answer["ended"].as_array().expect("a list").clone();
    let of = |run: &str| description.iter().find(|result| result["runId"] == run).cloned();
    assert_eq!(of(&stubborn).expect("told")["exitSignal"], 9, "{answer}");
    assert_eq!(of(&pty).expect("told")["termination"], "manual-cancel", "{answer}");
    // Known to the next one too, with the truth about the one that ended by itself.
    let record = home.record(&stubborn);
    assert_eq!(
        (&record["termination"], &record["exitSignal"]),
        (&"manual-cancel".into(), &9.into())
    );
    let record = home.record(&ended);
    assert_eq!((&record["termination"], &record["exitSignal"]), (&"signal".into(), &9.into()));
}

/// D4: a supervisor that stands still is woken for it, and its runs end by their rules.
#[test]
fn stop_works_when_the_supervisor_is_stopped() {
    let home = Home::new();
    let run = home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term"), "1"]);
    let daemon = Daemon::of(&home);
    daemon.supervisor.signal(Signal::STOP);
    let began = Instant::now();
    let description = home.ostler(&["stop"]).ok().text();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(home.processes(), []);
    assert!(description.contains("1 run ended, 1 of them by SIGKILL"), "{description}");
    assert_eq!(home.record(&run)["termination"], "manual-cancel");
}

/// D4: and when the guardian does.
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
        assert!(!daemon.supervisor.is_alive(), "{signal:?}: it was waited for");
        assert!(trees.iter().all(|process| !process.is_alive()), "{signal:?}: {trees:?}");
        assert_eq!(state_file(&home)["crash_count"], 0, "{signal:?}");
        assert_eq!(status(&home)["running"], false);
        assert_eq!(home.record(&run)["termination"], "manual-cancel", "{signal:?}");
    }
}

/// D4: a hang-up is nothing to a daemon, and neither is any other signal that has no meaning to it.
#[test]
fn a_hang_up_is_nothing_to_a_daemon() {
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
fn a_signal_to_the_guardian_during_a_wait_is_a_stop() {
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

/// D4: the supervisor is killed in the middle of its stopping: still everything ends, and it is final.
#[test]
fn a_stop_goes_on_when_the_supervisor_is_killed_in_it() {
    let home = quick_home();
    let run = home.start_ready(&["--grace", "2s"], &[helper!("ignore_term"), "2"]);
    let counting = Counting::start(&home, &[], 10, 5, 0);
    let daemon = Daemon::of(&home);
    let events = home.spawn(&["events", "-f", "--json"]);
    let stop = home.spawn(&["stop"]);
    events.until_written("supervisor-stopping");
    daemon.supervisor.signal(Signal::KILL);
    let description = stop.finish().ok();
    assert!(!daemon.guardian.is_alive(), "{description:?}");
    drop(events);
    assert_eq!(home.processes(), []);
    for run in [&run, &counting.run] {
        assert_eq!(home.record(run)["termination"], "manual-cancel");
        assert_eq!(home.count(run, "exited"), 1);
    }
}

/// D4, D1: stop and start again, and again: never two at once, never none.
#[test]
fn stop_and_start_take_turns() {
    let home = Home::new();
    let mut before = Daemon::start(&home);
    for _ in 0..5 {
        home.ostler(&["stop"]).ok();
        assert!(!before.guardian.is_alive() && !before.supervisor.is_alive());
        let description = home.ostler(&["start"]).ok().text();
        assert!(description.starts_with("started"), "{description}");
        before = Daemon::of(&home);
    }
}
