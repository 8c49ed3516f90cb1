//! A descendant that leaves the boundary is found, ended and named.

use crate::setup::{Boundary, Setup, on_every_backend};
use ostler_e2e::{Home, Process, eventually, helper};
use std::path::{Path, PathBuf};

fn pid_in(file: &Path) -> i32 {
    eventually("the escapee's pid", || std::fs::read_to_string(file).ok()?.trim().parse().ok())
}

/// Runs an escape with these options and those of the setup, and checks the result.
fn escape_with(setup: Setup, way: &str, options: &[&str], code: i32, termination: &str) {
    let home = setup.home();
    let file = home.folder().join("pid");
    let arguments = [
        &["run", "--json", "--capture"],
        setup.options(options).as_slice(),
        &["--", helper!("escape"), way, file.to_str().expect("a path")],
    ]
    .concat();
    let output = home.ostler(&arguments);
    let result = output.json();
    assert_eq!(result["termination"], termination, "{setup:?} {way}: {result}");
    assert_eq!(result["exitCode"], 0, "the root's own code is kept");
    assert_eq!(result["extinct"], "yes");
    assert_eq!(output.code, code, "{result}");
    let escapee = pid_in(&file);
    assert_eq!(result["escaped"][0]["pid"], escapee, "{result}");
    assert!(result["escaped"][0]["command"].as_str().is_some_and(|text| text.contains("escape")));
    assert!(Process::find(escapee).is_none(), "the escapee is dead");
    let run = result["runId"].as_str().expect("an id");
    let description = home.event(run, "escaped");
    assert!(
        description.to_string().contains(&escapee.to_string()),
        "it names the pid: {description}"
    );
    assert_eq!(home.count(run, "kill-sent"), 0, "it ended by TERM");
    assert_eq!(home.metric("run_ownership_escape_total", None), 1);
    assert_eq!(home.metric("run_exit_total", Some(termination)), 1);
}

fn escape(setup: Setup, way: &str) {
    escape_with(setup, way, &[], 0, "exit");
}

on_every_backend! {
    /// R10: with --strict an escape is a failure, whatever the exit code.
    strictly: a_strict_run_fails_by_an_escape_pipe a_strict_run_fails_by_an_escape_pty
        a_strict_run_fails_by_an_escape_pipe_without_cgroup a_strict_run_fails_by_an_escape_pty_without_cgroup
}

fn strictly(setup: Setup) {
    escape_with(setup, "setsid", &["--strict"], 125, "ownership-escape");
}

/// A process that writes a line at TERM, or ignores TERM with an empty trap.
const LINGERS: &str =
    "setsid sh -c 'trap \"$1\" TERM; echo $$ > \"$2\"; while :; do sleep 0.02; done' x";

fn lingering(trap: &str, file: &Path, code: i32) -> [String; 3] {
    let file = file.display();
    let script = format!(
        "{LINGERS} '{trap}' {file} & until test -s {file}; do sleep 0.01; done; exit {code}"
    );
    ["sh".to_owned(), "-c".to_owned(), script]
}

on_every_backend! {
    /// R10: an escaped process gets TERM and the grace period; the exit code stays the program's own.
    sweeping: an_escape_has_the_grace_period_pipe an_escape_has_the_grace_period_pty
        an_escape_has_the_grace_period_pipe_without_cgroup an_escape_has_the_grace_period_pty_without_cgroup
}

fn sweeping(setup: Setup) {
    let home = setup.home();
    let (file, bye) = (home.folder().join("pid"), home.folder().join("bye"));
    let command = lingering(&format!("echo bye > {}; exit 0", bye.display()), &file, 7);
    let options = setup.options(&["--grace", "30s"]);
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let output = home.ostler(&[&["run"], options.as_slice(), &["--"], &words].concat());
    assert_eq!(output.code, 7, "{setup:?}: {output:?}");
    assert_eq!(std::fs::read_to_string(&bye).expect("it had time to exit").trim(), "bye");
    let escapee = pid_in(&file);
    let line = format!("pid {escapee} (sh -c");
    let description =
        output.stderr.lines().filter(|description| description.contains(&line)).count();
    assert_eq!(description, 1, "{setup:?}: one line of it: {}", output.stderr);
    let command = lingering("", &file, 3);
    std::fs::remove_file(&file).expect("removed");
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let result = home.run(&setup.options(&["--grace", "200ms"]), &words);
    assert_eq!(result["exitCode"], 3, "{setup:?}: {result}");
    assert_eq!(result["extinct"], "yes", "a process that ignores TERM is killed: {result}");
    assert_eq!(result["escaped"][0]["pid"], pid_in(&file));
}

/// R10: the same rule for units: a process left behind changes neither the unit's end nor its restarts.
#[test]
fn a_process_left_behind_does_not_change_how_a_unit_ended() {
    let project = crate::units::setup::Project::new();
    let script = |code: i32| {
        format!(
            "command = [\"sh\", \"-c\", \"setsid sleep 600 & sleep 0.1; exit {code}\"]\n\
             restart = {{ initial = \"10ms\", max = \"10ms\", limit = {{ count = 2, window = \"60s\" }} }}"
        )
    };
    project.declare(&[("good", &script(0)), ("bad", &script(3))]);
    project.call(&["up"]);
    let view = project.until_state("good", "done");
    assert_eq!(view["ends"][0]["description"], "exit 0", "{view:#}");
    let view = project.until_state("bad", "error");
    assert_eq!(
        view["ends"].as_array().map(Vec::len),
        Some(2),
        "started again, and failed: {view:#}"
    );
    assert_eq!(view["ends"][0]["description"], "exit 3", "{view:#}");
    let run = view["ends"][0]["runId"].as_str().expect("a run");
    assert_eq!(project.home.record(run)["escaped"][0]["command"], "sleep 600");
}

/// R10: an escape that is being ended when the supervisor dies is recorded by the next one, once.
#[test]
fn an_escape_that_is_being_ended_survives_a_crash() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let file = home.folder().join("pid");
        let command = lingering("", &file, 3);
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let run = home.start(&["--grace", "2s"], &words);
        eventually("TERM is sent", || (home.count(&run, "term-sent") > 0).then_some(()));
        home.kill_supervisor();
        let result = home.wait(&run);
        assert_eq!(result["exitCode"], 3, "{setup:?}: {result}");
        assert_eq!(result["termination"], "exit", "{setup:?}: {result}");
        assert_eq!(result["escaped"][0]["pid"], pid_in(&file), "{setup:?}: {result}");
        assert_eq!(home.count(&run, "escaped"), 1, "{setup:?}");
    }
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
    /// R10: an escape with an empty environment, so that only the kernel knows its run.
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
    assert_eq!(result["termination"], "exit", "{setup:?}: {result}");
    assert_eq!(result["escaped"][0]["pid"], escapee, "{setup:?}: {result}");
    assert_eq!(result["extinct"], "yes");
    assert!(alive.is_none(), "the escapee {escapee} was alive");
}

/// R10: the same beside another live run, where an orphan without environment could belong to either run.
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
        assert_eq!(home.record(&other)["state"], "running", "the other run goes on");
        home.ostler(&["stop"]).ok();
        let left = escapee.as_ref().is_some_and(Process::is_alive);
        if let Some(process) = &escapee {
            process.signal(ostler_e2e::Signal::KILL);
        }
        assert!(!left, "{setup:?}: it outlived the stop: {result}");
        if setup.boundary == Boundary::Strongest {
            assert_eq!(result["escaped"][0]["command"], "sleep 503", "{result}");
            assert!(escapee.is_none(), "and it was ended when the run ended");
        }
    }
}

on_every_backend! {
    /// R8, R10: a descendant that escaped while the root still runs is ended with it.
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
        let escapee = Process::find(pid_in(file)).expect("the escapee is running");
        let result = home.cancel(&run);
        assert_eq!(result["termination"], "manual-cancel", "{setup:?} {way}: {result}");
        assert_eq!(result["extinct"], "yes");
        assert!(!escapee.is_alive(), "{setup:?} {way}");
    }
}

/// R10: if escapes are allowed, an escape becomes a run of its own.
#[test]
fn an_allowed_escape_becomes_a_run_of_its_own() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let file = home.folder().join("pid");
        let command = [helper!("escape"), "double-fork", file.to_str().expect("a path")];
        let result = home.run(&["--allow-detach", "--grace", "500ms"], &command);
        assert_eq!(result["termination"], "exit", "{setup:?}: {result}");
        let daemon = Process::find(pid_in(&file)).expect("the escapee is running");
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
        let escapee = Process::find(pid_in(&file)).expect("the escapee is running");
        let root = home.root(&run);
        home.kill_daemon();
        root.signal(ostler_e2e::Signal::KILL);
        root.wait_gone();
        let result = home.wait(&run);
        assert_eq!(result["extinct"], setup.extinct_of_adopted(), "{setup:?}: {result}");
        assert!(!escapee.is_alive(), "{setup:?}");
    }
}

/// R8: one cancel ends a fork bomb of two thousand processes that ignore TERM.
#[test]
fn a_fork_bomb_is_ended() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home();
        let run = home.start_ready(&["--grace", "200ms"], &[helper!("fork_bomb"), "2000"]);
        eventually("two thousand processes exist", || {
            (home.processes_of_runs().len() >= 2_000).then_some(())
        });
        let result = home.cancel(&run);
        assert_eq!(result["termination"], "manual-cancel", "{setup:?}: {result}");
        assert_eq!(result["extinct"], "yes", "{setup:?}: {result}");
        assert!(home.processes_of_runs().is_empty());
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0, "further runs work");
    }
}

/// R8: a cancel while the fork bomb is still growing.
#[test]
fn a_fork_bomb_is_ended_while_it_grows() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home: Home = setup.home();
        let run = home.start(&["--grace", "0"], &[helper!("fork_bomb"), "2000"]);
        let result = home.cancel(&run);
        assert_eq!(result["extinct"], "yes", "{setup:?}: {result}");
        assert!(home.processes_of_runs().is_empty(), "{setup:?}");
    }
}
