//! Guardian and supervisor restart each other.

use crate::daemon::setup::{
    Counting, Daemon, all, answering, crash_log, pid_in_file, quick_home, replace_supervisor,
    state_file, status,
};
use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Home, Process, Signal, eventually, helper};
use std::time::{Duration, Instant};

/// SIGKILL of the guardian; returns the new one, once it is in the files.
#[track_caller]
fn replace_guardian(home: &Home) -> Process {
    let old = home.guardian().expect("a guardian");
    old.signal(Signal::KILL);
    old.wait_gone();
    let new = eventually("a new guardian that the supervisor knows", || {
        let pid = status(home)["pid"].as_i64()? as i32;
        Process::find(pid).filter(|process| *process != old)
    });
    assert_eq!(Daemon::of(home).guardian, new);
    new
}

/// D9: a new one within a second or so; the supervisor stays, nothing is counted, the files name it.
#[test]
fn a_killed_guardian_is_replaced_and_nothing_else_changes() {
    let home = quick_home();
    let run = home.start_ready(&["--stdin"], &["sh", "-c", "echo ready; read x; exit 19"]);
    replace_supervisor(&home);
    let daemon = Daemon::of(&home);
    let before = state_file(&home);
    assert_eq!(before["crash_count"], 1);
    let began = Instant::now();
    let guardian = replace_guardian(&home);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(home.supervisor(), Some(daemon.supervisor.clone()));
    assert_eq!(pid_in_file(&home), Some(guardian.pid));
    let after = state_file(&home);
    assert_eq!(after["pid"], guardian.pid);
    assert_eq!(after["gateway_pid"], daemon.supervisor.pid);
    for field in ["started_at", "crash_count", "last_crash_at"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert_eq!(status(&home)["crashCount"], 1);
    home.ostler(&["write", &run, "--text", "x\n"]).ok();
    assert_eq!(home.wait(&run)["exitCode"], 19);
}

on_every_backend! {
    /// D9, D8: the new guardian holds all that the old one held: the supervisor dies, the runs go on.
    then_supervisor: guardian_and_then_supervisor_pipe guardian_and_then_supervisor_pty
        guardian_and_then_supervisor_pipe_without_cgroup guardian_and_then_supervisor_pty_without_cgroup
}

fn then_supervisor(setup: Setup) {
    let home = setup.home_with(&[crate::daemon::setup::QUICK]);
    let options = setup.options(&["--stdin"]);
    let run =
        home.start_ready(&options, &["sh", "-c", "echo ready; read x; echo \"<$x>\"; exit 19"]);
    let counting = Counting::start(&home, &options, 10, 2, 21);
    let ended = Counting::start(&home, &options, 10, 2, 22);
    replace_guardian(&home);
    let old = home.supervisor().expect("a supervisor");
    old.signal(Signal::KILL);
    ended.end();
    ended.root.wait_gone();
    answering(&home, &old);
    assert_eq!(state_file(&home)["crash_count"], 1, "counted by the new one");
    replace_guardian(&home);
    replace_supervisor(&home);
    home.ostler(&["write", &run, "--text", "hello\n"]).ok();
    home.until_logged(&run, "<hello>");
    counting.end();
    assert_eq!(home.wait(&run)["exitCode"], 19);
    assert_eq!(home.wait(&counting.run)["exitCode"], 21);
    assert_eq!(home.wait(&ended.run)["exitCode"], 22, "its end was recorded");
    counting.assert_whole(&home);
    ended.assert_whole(&home);
}

/// D9: the new guardian continues the crash count and the delays.
#[test]
fn a_new_guardian_continues_the_crash_count() {
    let home = Home::new();
    let daemon = Daemon::start(&home);
    home.kill_supervisor();
    answering(&home, &daemon.supervisor);
    replace_guardian(&home);
    let old = home.supervisor().expect("a supervisor");
    home.kill_supervisor();
    let died = Instant::now();
    let next = eventually("the next supervisor", || home.supervisor());
    assert!(died.elapsed() > Duration::from_millis(1_850), "the second wait: {:?}", died.elapsed());
    assert_ne!(next, old);
    assert_eq!(state_file(&home)["crash_count"], 2);
    assert_eq!(crash_log(&home).windows(9).filter(|part| part == b"=== CRASH").count(), 2);
}

/// D9: however often the guardian is killed, there is one of each, and the supervisor stays.
#[test]
fn one_supervisor_outlives_many_guardians() {
    let home = quick_home();
    let daemon = Daemon::start(&home);
    for _ in 0..10 {
        replace_guardian(&home);
    }
    assert_eq!(home.supervisor(), Some(daemon.supervisor));
    assert_eq!(all(&home, "guardian").len(), 1);
    home.ostler(&["stop"]).ok();
    assert_eq!(home.processes(), []);
}

/// D9, R15: both die at once: the next start adopts the live runs, and nothing runs twice.
#[test]
fn a_crash_of_both_is_reconciled_by_the_next_start() {
    let home = quick_home();
    let script = "trap '' HUP; echo ready; exec sleep 976";
    let runs: Vec<_> = (0..10).map(|_| home.start_ready(&[], &["sh", "-c", script])).collect();
    let roots: Vec<_> = runs.iter().map(|run| home.root(run)).collect();
    for _ in 0..3 {
        home.kill_daemon();
        assert_eq!(
            home.ostler(&["status"]).code,
            3,
            "no process is left that could restart the daemon"
        );
        Daemon::start(&home);
        for (run, root) in runs.iter().zip(&roots) {
            let record = home.record(run);
            assert_eq!((&record["state"], &record["pid"]), (&"running".into(), &root.pid.into()));
        }
        assert_eq!(home.processes_of_runs().len(), runs.len(), "nothing twice");
    }
    assert_eq!(home.metric("run_spawn_total", None), 10);
    assert_eq!(state_file(&home)["crash_count"], 0, "a new session");
}

/// D9: a supervisor that hangs is replaced, and its runs go on, with their output.
#[test]
fn a_supervisor_that_hangs_is_replaced() {
    let mut home = quick_home();
    home.set("OSTLER_WATCHDOG", "1s");
    let counting = Counting::start(&home, &[], 5, 5, 23);
    let pty =
        home.start_ready(&["--pty"], &["sh", "-c", "stty -echo; echo ready; read x; exit 24"]);
    let daemon = Daemon::of(&home);
    for round in 1..=2 {
        let hung = home.supervisor().expect("a supervisor");
        hung.signal(Signal::STOP);
        hung.wait_gone();
        answering(&home, &hung);
        assert_eq!(state_file(&home)["crash_count"], round);
    }
    let log = String::from_utf8(crash_log(&home)).expect("text");
    assert!(log.contains("no keep-alive"), "it says why: {log}");
    assert_eq!(home.guardian(), Some(daemon.guardian));
    assert_eq!(home.record(&counting.run)["pid"], counting.root.pid);
    counting.end();
    home.ostler(&["write", &pty, "--text", "x\n"]).ok();
    assert_eq!(home.wait(&counting.run)["exitCode"], 23);
    assert_eq!(home.wait(&pty)["exitCode"], 24);
    counting.assert_whole(&home);
}

/// D9: a busy supervisor is left alone.
#[test]
fn a_busy_supervisor_is_not_killed() {
    let mut home = quick_home();
    home.set("OSTLER_WATCHDOG", "1s");
    let daemon = Daemon::start(&home);
    let floods: Vec<_> = (0..3).map(|_| Counting::start(&home, &[], 2_000, 1, 0)).collect();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
    }
    for flood in &floods {
        flood.end();
        home.wait(&flood.run);
    }
    assert_eq!(Daemon::of(&home), daemon);
    assert_eq!(state_file(&home)["crash_count"], 0);
}

/// D9: a stopped guardian does not delay the supervisor; when it continues it gets everything.
#[test]
fn a_stopped_guardian_does_not_delay_the_supervisor() {
    let mut home = quick_home();
    home.set("OSTLER_WATCHDOG", "1s");
    let daemon = Daemon::start(&home);
    let held = || {
        let path = format!("/proc/{}/fd", daemon.guardian.pid);
        std::fs::read_dir(path).expect("descriptors").count()
    };
    let held_before = held();
    daemon.guardian.signal(Signal::STOP);
    let began = Instant::now();
    let runs: Vec<_> = (0..30).map(|_| Counting::start(&home, &["--stdin"], 1, 20, 25)).collect();
    let pty =
        home.start_ready(&["--pty"], &["sh", "-c", "stty -echo; echo ready; read x; exit 26"]);
    assert_eq!(home.run(&[], &["echo", "hello"])["stdout"], "hello\n");
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    // Longer than the watchdog: the guardian must not count its own pause as the supervisor's silence.
    eventually("a while", || (began.elapsed() > Duration::from_millis(2_500)).then_some(()));
    daemon.guardian.signal(Signal::CONT);
    assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
    assert_eq!(Daemon::of(&home), daemon);
    assert_eq!(state_file(&home)["crash_count"], 0);
    // Everything was handed over.
    // Input, both outputs and the process of each; the terminal and its process.
    eventually("it holds what was started", || (held() >= held_before + 30 * 4 + 2).then_some(()));
    replace_supervisor(&home);
    for run in &runs {
        run.end();
        assert_eq!(home.wait(&run.run)["exitCode"], 25);
        run.assert_whole(&home);
    }
    home.ostler(&["write", &pty, "--text", "x\n"]).ok();
    assert_eq!(home.wait(&pty)["exitCode"], 26);
}

/// D9: the guardian is killed while twenty runs start: each starts once, and all are held afterwards.
#[test]
fn a_guardian_killed_while_runs_are_started() {
    let home = quick_home();
    let daemon = Daemon::start(&home);
    let command = ["run", "-d", "--stdin", "--grace", "300ms", "--", helper!("ignore_term")];
    let calls: Vec<_> = (0..20).map(|_| home.spawn(&command)).collect();
    replace_guardian(&home);
    replace_guardian(&home);
    let runs: Vec<_> =
        calls.into_iter().map(|call| call.finish().ok().text().trim().to_owned()).collect();
    assert_eq!(home.supervisor(), Some(daemon.supervisor));
    let pids: Vec<_> = runs.iter().map(|run| home.root(run)).collect();
    assert_eq!(home.processes_of_runs().len(), 20, "none twice");
    replace_supervisor(&home);
    for (run, root) in runs.iter().zip(pids) {
        assert_eq!(home.root(run), root);
        home.ostler(&["write", run, "--text", "still there\n"]).ok();
    }
    assert_eq!(home.processes_of_runs().len(), 20);
}

/// D9: a guardian that was stopped does not kill a supervisor whose keep-alives did not fit into its queue.
#[test]
fn a_guardian_that_was_stopped_briefly_does_not_kill_the_supervisor() {
    let mut home = quick_home();
    home.set("OSTLER_WATCHDOG", "2s");
    let daemon = Daemon::start(&home);
    for _ in 0..2 {
        daemon.guardian.signal(Signal::STOP);
        let began = Instant::now();
        // The kernel queues ten messages for a socket: these fill the queue.
        for _ in 0..12 {
            home.start(&[], &["sleep", "1000"]);
        }
        // One and a half times the watchdog.
        eventually("a while", || (began.elapsed() > Duration::from_millis(2_300)).then_some(()));
        daemon.guardian.signal(Signal::CONT);
        eventually("the guardian checks again", || {
            (began.elapsed() > Duration::from_millis(4_800)).then_some(())
        });
        assert_eq!(Daemon::of(&home), daemon);
        assert_eq!(state_file(&home)["crash_count"], 0);
    }
}
