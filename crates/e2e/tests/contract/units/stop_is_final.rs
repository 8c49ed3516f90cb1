//! X4: a stopped unit stays stopped until a user starts it.

use crate::daemon::setup::replace_supervisor;
use crate::units::setup::{AT_ONCE, Project};
use ostler_e2e::{Registry, eventually};

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";

fn two() -> Project {
    let body = format!("{SLEEP}\n{AT_ONCE}");
    let project = Project::of(&[("a", &body), ("b", SLEEP)]);
    project.up();
    let old = project.process("a");
    let output = project.call(&["stop", "a"]).ok();
    assert!(!old.is_alive(), "`stop` returns when the unit is stopped: {output:?}");
    project
}

#[track_caller]
fn assert_stopped(project: &Project) {
    // The other unit runs, so all decisions have been made.
    project.until_state("b", "ready");
    let view = project.view("a");
    assert_eq!(
        (view["state"].as_str(), view["desired"].as_str()),
        (Some("stopped"), Some("stopped"))
    );
    assert_eq!(project.copies_of("a"), 0);
    assert_eq!(project.copies_of("b"), 1);
}

#[track_caller]
fn assert_up_again(project: &Project) {
    project.up();
    assert_eq!(project.state("a"), "ready");
    assert_eq!(project.copies_of("a"), 1);
}

/// X4: it stays stopped across `reload`, with and without a change, and across a change of others.
#[test]
fn it_stays_stopped_across_reload() {
    let project = two();
    project.call(&["reload"]).ok();
    assert_stopped(&project);
    project.declare(&[("a", "command = [\"sleep\", \"3000\"]"), ("b", SLEEP)]);
    project.call(&["reload"]).ok();
    assert_stopped(&project);
    assert_up_again(&project);
    assert!(project.process("a").command().contains("3000"));
}

/// X4: it stays stopped across SIGKILL of the supervisor.
#[test]
fn it_stays_stopped_across_a_crash() {
    let project = two();
    let b = project.process("b");
    for _ in 0..3 {
        replace_supervisor(&project.home);
        assert_stopped(&project);
    }
    assert_eq!(project.process("b"), b, "the other unit was never touched");
    assert_up_again(&project);
}

/// X4: it stays stopped across `ostler stop` and `ostler start`. Wanted units run again.
#[test]
fn it_stays_stopped_across_a_restart_of_the_daemon() {
    let project = two();
    let b = project.process("b");
    project.home.stop();
    assert!(!b.is_alive());
    project.call(&["start"]).ok();
    assert_stopped(&project);
    assert_up_again(&project);
}

/// X4: it stays stopped across the loss of supervisor and guardian at once, and a reboot.
#[test]
fn it_stays_stopped_across_another_boot() {
    let project = two();
    let b = project.process("b");
    project.home.kill_daemon();
    // As after a reboot: no process is left, and the kernel has another boot id.
    for process in project.home.processes_of_runs() {
        process.signal(ostler_e2e::Signal::KILL);
        process.wait_gone();
    }
    assert!(!b.is_alive());
    for leaf in project.home.boundaries().1 {
        std::fs::remove_dir(leaf).expect("an empty cgroup");
    }
    let registry = Registry::open(&project.home);
    registry.execute("UPDATE runs SET boot_id = 'ffffffff-0000-4000-8000-000000000000'", []);
    drop(registry);
    project.call(&["start"]).ok();
    assert_stopped(&project);
    assert_up_again(&project);
}

/// X4: a finished unit stays so across a crash of the supervisor, and is started at the next boot.
#[test]
fn a_finished_unit_is_not_started_until_the_next_boot() {
    let body = "command = [\"sh\", \"-c\", \"echo x >> ran\"]";
    let project = Project::of(&[("once", body)]);
    project.up();
    project.until_state("once", "done");
    replace_supervisor(&project.home);
    project.until_state("once", "done");
    assert_eq!(project.lines("ran"), 1);
    project.home.kill_daemon();
    let registry = Registry::open(&project.home);
    let changed = change_boot(&registry);
    assert_eq!(changed, 1);
    drop(registry);
    project.call(&["start"]).ok();
    project.until_lines("ran", 2);
    project.until_state("once", "done");
}

fn change_boot(registry: &Registry) -> usize {
    let now = ostler_e2e::boot_id();
    registry.execute(
        "UPDATE units SET record = replace(record, ?1, 'ffffffff-0000-4000-8000-000000000000')",
        [now],
    )
}

/// X4: a stop during the restart delay.
#[test]
fn a_stop_during_the_restart_delay_is_final() {
    let body =
        "command = [\"sh\", \"-c\", \"echo x >> ran; exit 1\"]\nrestart = { initial = \"300ms\" }";
    let project = Project::of(&[("a", body), ("b", SLEEP)]);
    project.call(&["up", "--no-wait"]).ok();
    project.until_state("a", "backoff");
    project.call(&["stop", "a"]).ok();
    let ran = project.lines("ran");
    replace_supervisor(&project.home);
    assert_stopped(&project);
    assert_eq!(project.lines("ran"), ran);
    assert_eq!(project.view("a")["desired"], "stopped");
}

/// X4: a stop before the unit is ready.
#[test]
fn a_stop_during_the_start_is_final() {
    let body = format!("{SLEEP}\nready = {{ line = \"never\" }}\n{AT_ONCE}");
    let project = Project::of(&[("a", &body), ("b", SLEEP)]);
    project.call(&["up", "--no-wait"]).ok();
    project.until("a", "running", |view| view["pid"].is_i64());
    project.call(&["stop", "a"]).ok();
    assert_stopped(&project);
    // And so soon after a start that there may be no process yet.
    for _ in 0..10 {
        project.call(&["start", "--no-wait", "a"]).ok();
        project.call(&["stop", "a"]).ok();
        assert_eq!(project.copies_of("a"), 0);
    }
    assert_stopped(&project);
}

/// X4: a start during the stop: the unit runs again, and there are never two copies.
#[test]
fn a_start_during_the_stop_takes_effect_after_the_end() {
    let body = "command = [\"sh\", \"-c\", \"trap 'while ! test -e go; do sleep 0.02; done; exit 0' TERM; echo up; while :; do sleep 0.02; done\"]\n\
                ready = { line = \"^up$\" }\nstop = { grace = \"20s\" }";
    let project = Project::of(&[("a", body)]);
    project.up();
    let old = project.process("a");
    project.call(&["stop", "--no-wait", "a"]).ok();
    project.until_state("a", "stopping");
    let start = project.spawn(&["start", "a"]);
    eventually("TERM was received", || {
        let view = project.view("a");
        (view["desired"] == "running").then_some(())
    });
    assert!(old.is_alive());
    assert_eq!(project.copies_of("a"), 1);
    std::fs::write(project.path("go"), "").expect("written");
    start.finish().ok();
    let new = project.next_process("a", &old);
    assert!(!old.is_alive() && new.is_alive());
    assert_eq!(project.copies_of("a"), 1);
}

/// X2, X4: restart of a stopped unit starts it.
#[test]
fn a_restart_of_a_stopped_unit_starts_it() {
    let project = two();
    project.call(&["restart", "a"]).ok();
    assert_eq!(project.state("a"), "ready");
    assert_eq!(project.copies_of("a"), 1);
}

/// X1, X2: an unknown name is exit 4, with the known names.
#[test]
fn an_unknown_name_is_an_error_with_the_known_names() {
    let project = two();
    for verb in ["start", "stop", "restart", "status", "logs", "why"] {
        let output = project.call(&[verb, "nobody"]);
        assert_eq!(output.code, 4, "{verb}: {output:?}");
        assert!(output.stderr.contains("nobody"), "{verb}: {output:?}");
    }
    let output = project.call(&["start", "nobody"]);
    assert!(output.stderr.contains("a, b"), "{output:?}");
    // One wrong name among valid ones: nothing is done.
    assert_eq!(project.call(&["start", "a", "nobody"]).code, 4);
    assert_eq!(project.state("a"), "stopped");
}
