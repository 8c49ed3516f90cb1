//! A descendant that leaves the boundary is found, killed and named.

use crate::setup::{Boundary, Setup, on_every_backend};
use ostler_e2e::{Home, Process, eventually, helper};
use std::path::{Path, PathBuf};

fn pid_in(file: &Path) -> i32 {
    eventually("the escapee's pid", || std::fs::read_to_string(file).ok()?.trim().parse().ok())
}

fn escape(setup: Setup, way: &str) {
    let home = setup.home();
    let file = home.folder().join("pid");
    let arguments = [
        &["run", "--json", "--capture"],
        setup.options(&[]).as_slice(),
        &["--", helper!("escape"), way, file.to_str().expect("a path")],
    ]
    .concat();
    let output = home.ostler(&arguments);
    let result = output.json();
    assert_eq!(result["termination"], "ownership-escape", "{setup:?} {way}: {result}");
    assert_eq!(result["exitCode"], 0, "the root's own code is kept");
    assert_eq!(result["extinct"], "yes");
    assert_eq!(output.code, 125, "the run did not go well, whatever the program said");
    assert!(Process::find(pid_in(&file)).is_none(), "the escapee is dead");
    let run = result["runId"].as_str().expect("an id");
    let told = home.event(run, "escaped");
    assert!(told.to_string().contains(&pid_in(&file).to_string()), "it names the pid: {told}");
    assert_eq!(home.metric("run_ownership_escape_total", None), 1);
    assert_eq!(home.metric("run_exit_total", Some("ownership-escape")), 1);
}

on_every_backend! {
    /// R10, R18
    by_setsid: an_escape_by_setsid_pipe an_escape_by_setsid_pty
        an_escape_by_setsid_pipe_without_cgroup an_escape_by_setsid_pty_without_cgroup
}

fn by_setsid(setup: Setup) {
    escape(setup, "setsid");
}

on_every_backend! {
    /// R10, R18
    by_double_fork: an_escape_by_double_fork_pipe an_escape_by_double_fork_pty
        an_escape_by_double_fork_pipe_without_cgroup an_escape_by_double_fork_pty_without_cgroup
}

fn by_double_fork(setup: Setup) {
    escape(setup, "double-fork");
}

on_every_backend! {
    /// R10, R18
    by_a_new_group: an_escape_by_a_new_group_pipe an_escape_by_a_new_group_pty
        an_escape_by_a_new_group_pipe_without_cgroup an_escape_by_a_new_group_pty_without_cgroup
}

fn by_a_new_group(setup: Setup) {
    escape(setup, "setpgid");
}

on_every_backend! {
    /// R10: without its environment too, so that nothing but the kernel tells whose it is.
    by_env_i: an_escape_without_environment_pipe an_escape_without_environment_pty
        an_escape_without_environment_pipe_without_cgroup an_escape_without_environment_pty_without_cgroup
}

fn by_env_i(setup: Setup) {
    let home = setup.home();
    let file = home.folder().join("pid");
    let script = format!(
        "env -i setsid sh -c 'echo $$ > {0}; exec sleep 501' & until test -s {0}; do sleep 0.01; done; exit 0",
        file.display()
    );
    let result = home.run(&setup.options(&[]), &["sh", "-c", &script]);
    let escapee = pid_in(&file);
    let alive = Process::find(escapee);
    if let Some(process) = &alive {
        process.signal(ostler_e2e::Signal::KILL);
    }
    assert_eq!(result["termination"], "ownership-escape", "{setup:?}: {result}");
    assert_eq!(result["extinct"], "yes");
    assert!(alive.is_none(), "the escapee {escapee} was alive");
}

/// R10: the same beside another live run, where an orphan without a name could be either's.
#[test]
fn an_escape_without_environment_beside_another_run() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let file = home.folder().join("pid");
        let other = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 502"]);
        let script = format!(
            "env -i setsid sh -c 'echo $$ > {0}; exec sleep 503' & until test -s {0}; do sleep 0.01; done; exit 0",
            file.display()
        );
        let result = home.run(&[], &["sh", "-c", &script]);
        let escapee = Process::find(pid_in(&file));
        assert_eq!(home.record(&other)["state"], "running", "the other goes on");
        home.ostler(&["stop"]).ok();
        let left = escapee.as_ref().is_some_and(Process::is_alive);
        if let Some(process) = &escapee {
            process.signal(ostler_e2e::Signal::KILL);
        }
        assert!(!left, "{setup:?}: it outlived the stop: {result}");
        if setup.boundary == Boundary::Strongest {
            assert_eq!(result["termination"], "ownership-escape", "{result}");
            assert!(escapee.is_none(), "and it was killed when the run ended");
        }
    }
}

on_every_backend! {
    /// R8, R10: one that left while the root still runs is ended with it.
    cancelled_escape: an_escapee_is_cancelled_with_its_run_pipe an_escapee_is_cancelled_with_its_run_pty
        an_escapee_is_cancelled_with_its_run_pipe_without_cgroup
        an_escapee_is_cancelled_with_its_run_pty_without_cgroup
}

fn cancelled_escape(setup: Setup) {
    let home = setup.home();
    let files: Vec<PathBuf> =
        ["setsid", "double-fork"].iter().map(|way| home.folder().join(way)).collect();
    for file in &files {
        let way = file.file_name().and_then(|name| name.to_str()).expect("a name");
        let command = [helper!("escape"), way, file.to_str().expect("a path"), "stay"];
        let run = home.start_ready(&setup.options(&["--grace", "500ms"]), &command);
        let escapee = Process::find(pid_in(file)).expect("it lives");
        let result = home.cancel(&run);
        assert_eq!(result["termination"], "manual-cancel", "{setup:?} {way}: {result}");
        assert_eq!(result["extinct"], "yes");
        assert!(!escapee.is_alive(), "{setup:?} {way}");
    }
}

/// R10: where it is allowed, it becomes a run of its own, with all that a run has.
#[test]
fn an_allowed_escape_becomes_a_run_of_its_own() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let file = home.folder().join("pid");
        let command = [helper!("escape"), "double-fork", file.to_str().expect("a path")];
        let result = home.run(&["--allow-detach", "--grace", "500ms"], &command);
        assert_eq!(result["termination"], "exit", "{setup:?}: {result}");
        let daemon = Process::find(pid_in(&file)).expect("it lives on");
        let records = home.records();
        let own = records
            .iter()
            .find(|record| record["pid"] == daemon.pid)
            .unwrap_or_else(|| panic!("{setup:?}: no record of {daemon:?}: {records:#?}"));
        assert_eq!(own["state"], "running", "{own}");
        assert_eq!(own["startTime"], daemon.start_time);
        assert_eq!(home.metric("run_ownership_escape_total", None), 0);
        let run = own["runId"].as_str().expect("an id");
        assert_eq!(home.count(run, "detached"), 1);
        // It outlives its supervisor's crash like any other, and is ended like any other.
        home.kill_daemon();
        assert_eq!(home.record(run)["state"], "running");
        assert_eq!(home.cancel(run)["extinct"], setup.extinct_of_adopted());
        assert!(!daemon.is_alive());
    }
}

/// R10, R15: an escape that a crashed supervisor never saw is found by the next one.
#[test]
fn an_escape_during_a_crash_is_found_by_the_next_supervisor() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let file = home.folder().join("pid");
        let command = [helper!("escape"), "double-fork", file.to_str().expect("a path"), "stay"];
        let run = home.start_ready(&["--grace", "500ms"], &command);
        let escapee = Process::find(pid_in(&file)).expect("it lives");
        let root = home.root(&run);
        home.kill_daemon();
        root.signal(ostler_e2e::Signal::KILL);
        root.wait_gone();
        let result = home.wait(&run);
        assert_eq!(result["extinct"], setup.extinct_of_adopted(), "{setup:?}: {result}");
        assert!(!escapee.is_alive(), "{setup:?}");
    }
}

/// R8: two thousand processes that multiply and ignore TERM: one cancel ends all.
#[test]
fn a_fork_bomb_is_ended() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let run = home.start_ready(&["--grace", "200ms"], &[helper!("fork_bomb"), "2000"]);
        eventually("two thousand stand", || {
            (home.processes_of_runs().len() >= 2_000).then_some(())
        });
        let result = home.cancel(&run);
        assert_eq!(result["termination"], "manual-cancel", "{setup:?}: {result}");
        assert_eq!(result["extinct"], "yes", "{setup:?}: {result}");
        assert!(home.processes_of_runs().is_empty());
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0, "and life goes on");
    }
}

/// R8: a cancel while it still multiplies.
#[test]
fn a_fork_bomb_is_ended_while_it_multiplies() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home: Home = setup.home();
        let run = home.start(&["--grace", "0"], &[helper!("fork_bomb"), "2000"]);
        let result = home.cancel(&run);
        assert_eq!(result["extinct"], "yes", "{setup:?}: {result}");
        assert!(home.processes_of_runs().is_empty(), "{setup:?}");
    }
}
