//! The supervisor was killed; the next one corrects the records.

use crate::setup::{Boundary, Setup, on_every_backend};
use ostler_e2e::{Bystander, Home, Process, Registry, eventually, helper};

/// Survives the loss of its terminal, which ends with the supervisor that held it.
const RECONNECTING: &str = "trap '' HUP; sleep 301 & echo ready; wait; wait";

on_every_backend! {
    /// R2, R15, R18, R19
    restart_reconcile: restart_reconcile_pipe restart_reconcile_pty
        restart_reconcile_pipe_without_cgroup restart_reconcile_pty_without_cgroup
}

fn restart_reconcile(setup: Setup) {
    let home = setup.home();
    let reconnecting = home.start_ready(&setup.options(&[]), &["sh", "-c", RECONNECTING]);
    let ended = home.start_ready(&setup.options(&[]), &["sh", "-c", "echo ready; exec sleep 302"]);
    let root = home.root(&reconnecting);
    let tree: Vec<Process> = home.processes_of_runs();
    let gone = home.root(&ended);
    home.kill_daemon();
    gone.signal(ostler_e2e::Signal::KILL);
    gone.wait_gone();

    let record = home.record(&reconnecting);
    assert_eq!(record["state"], "running", "{record}");
    assert_eq!(record["pid"], root.pid);
    assert_eq!(home.count(&reconnecting, "adopted"), 1);
    let stale = home.record(&ended);
    assert_eq!(stale["state"], "exited", "{stale}");
    assert_eq!(stale["termination"], "reconciled-stale");
    assert_eq!(stale["extinct"], setup.extinct_of_gone());
    assert_eq!(home.count(&ended, "reconciled-stale"), 1);
    assert_eq!(home.count(&ended, "exited"), 1);
    assert_eq!(home.metric("run_reconcile_orphans_total", None), 1);
    assert_eq!(home.metric("run_exit_total", Some("reconciled-stale")), 1);
    assert_eq!(home.metric("run_spawn_total", None), 2, "counters outlive a supervisor");

    assert!(root.is_alive());
    let result = home.cancel(&reconnecting);
    assert_eq!(result["termination"], "manual-cancel", "{result}");
    assert_eq!(result["extinct"], setup.extinct_of_adopted());
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
}

on_every_backend! {
    /// R15: the exit status of an adopted run is known if the kernel reports it.
    adopted_exit: the_end_of_an_adopted_run_is_learned_pipe the_end_of_an_adopted_run_is_learned_pty
        the_end_of_an_adopted_run_is_learned_pipe_without_cgroup
        the_end_of_an_adopted_run_is_learned_pty_without_cgroup
}

fn adopted_exit(setup: Setup) {
    let home = setup.home();
    let file = home.folder().join("go");
    let script = format!(
        "trap '' HUP; echo ready; until test -e {}; do sleep 0.02; done; exit 9",
        file.display()
    );
    let run = home.start_ready(&setup.options(&[]), &["sh", "-c", &script]);
    home.kill_daemon();
    assert_eq!(home.record(&run)["state"], "running");
    std::fs::write(&file, "").expect("written");
    let result = home.wait(&run);
    assert_eq!(result["extinct"], setup.extinct_of_adopted(), "{result}");
    let doctor = home.ostler(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().expect("checks");
    let description = checks.iter().find(|check| check["check"] == "exit status").expect("a check");
    if description["verdict"] == "ok" {
        assert_eq!((&result["termination"], &result["exitCode"]), (&"exit".into(), &9.into()));
    } else {
        assert_eq!(result["termination"], "reconciled-stale", "{result}");
    }
}

/// R15: a run's deadlines outlive the supervisor.
#[test]
fn a_timeout_outlives_its_supervisor() {
    let home = Home::new();
    let run = home.start_ready(&["--timeout", "2s"], &["sh", "-c", RECONNECTING]);
    home.kill_daemon();
    assert_eq!(home.record(&run)["state"], "running");
    let result = home.wait(&run);
    assert_eq!(result["termination"], "overall-timeout", "{result}");
    assert!(result["durationMs"].as_u64().is_some_and(|ms| ms < 10_000), "{result}");
}

on_every_backend! {
    /// R6, R15: the next supervisor continues a cancellation, with the same reason.
    cancellation_goes_on: a_begun_cancellation_goes_on_pipe a_begun_cancellation_goes_on_pty
        a_begun_cancellation_goes_on_pipe_without_cgroup a_begun_cancellation_goes_on_pty_without_cgroup
}

fn cancellation_goes_on(setup: Setup) {
    let home = setup.home();
    let run = home.start_ready(&setup.options(&["--grace", "2s"]), &[helper!("ignore_term"), "2"]);
    let tree = home.processes_of_runs();
    home.ostler(&["cancel", "--no-wait", &run]).ok();
    home.spawn(&["events", "-f", "--json", "--run", &run]).until_written("term-sent");
    home.kill_daemon();
    let result = home.wait(&run);
    assert_eq!(result["termination"], "manual-cancel", "{result}");
    assert_eq!(result["extinct"], setup.extinct_of_adopted());
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
    assert_eq!(home.count(&run, "exited"), 1);
}

on_every_backend! {
    /// R15: the root died while no supervisor ran; the next one ends the remaining processes.
    rest_is_ended: what_a_dead_root_left_is_ended_pipe what_a_dead_root_left_is_ended_pty
        what_a_dead_root_left_is_ended_pipe_without_cgroup what_a_dead_root_left_is_ended_pty_without_cgroup
}

fn rest_is_ended(setup: Setup) {
    let home = setup.home();
    let run =
        home.start_ready(&setup.options(&["--grace", "300ms"]), &[helper!("ignore_term"), "3"]);
    let root = home.root(&run);
    let tree = home.processes_of_runs();
    home.kill_daemon();
    root.signal(ostler_e2e::Signal::KILL);
    root.wait_gone();
    let result = home.wait(&run);
    // Without a cgroup its reaper is alive, and has the exit status.
    let reason = match setup.boundary {
        Boundary::Strongest => "reconciled-stale",
        Boundary::WithoutCgroup => "signal",
    };
    assert_eq!(result["termination"], reason, "{setup:?} {result}");
    assert_eq!(result["extinct"], setup.extinct_of_adopted());
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
}

/// R4: a recorded pid that another process reused is never signalled; the record says so.
#[test]
fn a_recycled_pid_is_never_signalled() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 303"]);
        let root = home.root(&run);
        let mut innocent = Bystander::start("sleep", &["303"]);
        home.kill_daemon();
        root.signal(ostler_e2e::Signal::KILL);
        root.wait_gone();
        let pid = innocent.process().pid;
        // As if the kernel had reused the pid: same pid, another start time.
        Registry::open(&home).execute(
            "UPDATE runs SET pid = ?1, process_group_id = ?1 WHERE run_id = ?2",
            rusqlite::params![pid, run],
        );
        let record = home.record(&run);
        assert_eq!(record["state"], "exited", "{record}");
        assert_eq!(record["termination"], "reconciled-stale");
        home.cancel(&run);
        innocent.assert_alive();
        home.ostler(&["stop"]).ok();
        innocent.assert_alive();
    }
}

/// R4: the same for a run whose termination had begun.
#[test]
fn a_recycled_pid_is_not_signalled_by_a_cancellation_that_goes_on() {
    let home = Home::new();
    let run = home.start_ready(&["--grace", "20s"], &[helper!("ignore_term")]);
    let root = home.root(&run);
    let mut innocent = Bystander::start("setsid", &["-w", "sleep", "304"]);
    home.ostler(&["cancel", "--no-wait", &run]).ok();
    home.spawn(&["events", "-f", "--json", "--run", &run]).until_written("term-sent");
    home.kill_daemon();
    root.signal(ostler_e2e::Signal::KILL);
    root.wait_gone();
    Registry::open(&home).execute(
        "UPDATE runs SET pid = ?1, process_group_id = ?1 WHERE run_id = ?2",
        rusqlite::params![innocent.process().pid, run],
    );
    let result = home.wait(&run);
    assert_eq!(result["termination"], "manual-cancel", "the reason that was recorded: {result}");
    innocent.assert_alive();
}

/// R4: a record of an earlier boot names no live process.
#[test]
fn a_record_of_an_earlier_boot_is_stale() {
    let home = Setup::PIPE_WITHOUT_CGROUP.home();
    let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 305"]);
    let root = home.root(&run);
    home.kill_daemon();
    // The same pid and start time as a live process, but of another boot.
    Registry::open(&home).execute(
        "UPDATE runs SET boot_id = 'an-earlier-one', cgroup = NULL WHERE run_id = ?",
        [&run],
    );
    assert_eq!(home.record(&run)["termination"], "reconciled-stale");
    assert!(root.is_alive(), "the process was neither looked up nor signalled");
    root.signal(ostler_e2e::Signal::KILL);
}

/// R5: no decision reads command text: a process with the same command survives.
#[test]
fn a_process_with_the_same_command_is_never_signalled() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let mut alike = Bystander::start("sleep", &["306"]);
        let cancelled = home.start(&[], &["sleep", "306"]);
        let timed = home.start(&["--timeout", "200ms"], &["sleep", "306"]);
        let adopted = home.start(&[], &["sleep", "306"]);
        home.cancel(&cancelled);
        assert_eq!(home.wait(&timed)["termination"], "overall-timeout");
        home.kill_daemon();
        assert_eq!(home.record(&adopted)["state"], "running");
        home.stop();
        alike.assert_alive();
    }
}

/// R15: a process of a crashed supervisor whose terminal is gone gets HUP from the kernel; its record
/// says that it is over.
#[test]
fn a_terminal_that_died_with_its_supervisor_is_reconciled() {
    let home = Setup::PTY.home();
    let run = home.start_ready(&["--pty"], &["sh", "-c", "echo ready; exec sleep 307"]);
    let root = home.root(&run);
    home.kill_daemon();
    root.wait_gone();
    let record = home.record(&run);
    assert_eq!(record["state"], "exited", "{record}");
    assert_eq!(record["backendId"], "pty");
}

/// R15, R1: several crashes in a row; each supervisor continues the run.
#[test]
fn a_run_outlives_several_supervisors_in_a_row() {
    let home = Home::new();
    let run = home.start_ready(&[], &["sh", "-c", RECONNECTING]);
    let root = home.root(&run);
    for crash in 1..=3 {
        home.kill_daemon();
        let record = home.record(&run);
        assert_eq!(record["state"], "running", "{record}");
        assert_eq!(record["pid"], root.pid);
        assert_eq!(home.count(&run, "adopted"), crash);
    }
    eventually("its lease is renewed", || {
        home.record(&run)["leaseExpiresAtMs"].is_u64().then_some(())
    });
    assert_eq!(home.cancel(&run)["extinct"], "yes");
}
