//! `ostler up`: the daemon applies the file, and touches only what changed.

use crate::units::setup::Project;
use ostler_e2e::{Output, helper};

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";

fn pids(project: &Project, units: &[&str]) -> Vec<i32> {
    units.iter().map(|unit| project.process(unit).pid).collect()
}

/// X2: everything runs when `up` returns; a second `up` changes nothing.
#[test]
fn a_second_up_changes_nothing() {
    let project = Project::of(&[("a", SLEEP), ("b", SLEEP), ("c", SLEEP)]);
    let output = project.up().text();
    for unit in ["a", "b", "c"] {
        assert!(output.contains(&format!("{unit}: ready")), "{output}");
        assert_eq!(project.copies_of(unit), 1);
    }
    let before = pids(&project, &["a", "b", "c"]);
    let output = project.up().text();
    assert_eq!(output.matches("= keep").count(), 3, "{output}");
    assert_eq!(pids(&project, &["a", "b", "c"]), before);
}

/// X2: after an edit only changed units are restarted, and removed units are ended when `up` returns.
#[test]
fn only_what_differs_is_touched() {
    let project = Project::of(&[("a", SLEEP), ("b", SLEEP), ("c", SLEEP)]);
    project.up();
    let before = pids(&project, &["a", "b", "c"]);
    let gone = project.process("c");
    project.declare(&[("a", SLEEP), ("b", "command = [\"sleep\", \"2000\"]"), ("d", SLEEP)]);
    project.up();
    let after = pids(&project, &["a", "b", "d"]);
    assert_eq!(after[0], before[0], "a did not change");
    assert_ne!(after[1], before[1], "b did");
    assert!(project.process("b").command().contains("2000"));
    assert!(!gone.is_alive(), "c left the file, and `up` has returned");
    assert!(project.find("c").is_none(), "{:#?}", project.views());
    assert_eq!(project.view("b")["restarts"], 1);
}

/// X2: a change that does not affect the running copy is applied without a restart.
#[test]
fn a_changed_policy_restarts_no_unit() {
    let project = Project::of(&[("a", SLEEP)]);
    project.up();
    let before = project.process("a");
    let limit = "restart = { limit = { count = 9, window = \"1m\" } }";
    project.declare(&[("a", &format!("{SLEEP}\n{limit}"))]);
    let output = project.up().text();
    assert!(output.contains("~ update"), "{output}");
    assert_eq!(project.process("a"), before);
}

/// X2: the same keys in another order are no change.
#[test]
fn an_edit_that_means_the_same_is_no_change() {
    let project = Project::of(&[("a", SLEEP), ("b", SLEEP)]);
    project.up();
    let before = pids(&project, &["a", "b"]);
    project.declare(&[("b", SLEEP), ("a", &format!("# a remark\nbackend = \"pipe\"\n{SLEEP}"))]);
    let output = project.up().text();
    assert_eq!(output.matches("= keep").count(), 2, "{output}");
    assert_eq!(pids(&project, &["a", "b"]), before);
}

/// X2: `--no-wait` returns before a slow unit is ready; `--json` lists each unit.
#[test]
fn up_does_not_wait_with_no_wait() {
    let slow = "command = [\"sh\", \"-c\", \"while ! test -e go; do sleep 0.02; done; echo up; exec sleep 1000\"]\n\
                ready = { line = \"^up$\" }";
    let project = Project::of(&[("slow", slow)]);
    let plan = project.call(&["up", "--no-wait", "--json"]).ok().json();
    assert_eq!(plan[0]["unit"], "slow");
    assert_eq!(plan[0]["kind"], "add");
    assert_ne!(project.state("slow"), "ready");
    std::fs::write(project.path("go"), "").expect("written");
    let views = project.call(&["up", "--json"]).ok().json();
    assert_eq!(views[0]["unit"], "slow");
    assert_eq!(views[0]["state"], "ready");
    assert_eq!(views[0]["pid"], project.process("slow").pid);
}

/// X2: exit code 1 when a unit fails before it is ready; the others run.
#[test]
fn a_failed_unit_is_exit_1() {
    let project = Project::of(&[
        ("good", SLEEP),
        ("bad", "command = [\"sh\", \"-c\", \"exit 78\"]\nready = { line = \"up\" }"),
    ]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.text().contains("bad: error (exit 78)"), "{output:?}");
    assert_eq!(project.state("good"), "ready");
}

/// X1, X2: a missing program is named in the unit's error, within the policy's limit.
#[test]
fn a_missing_program_is_an_error_of_the_unit() {
    let body = format!("command = [\"no-such-program-here\"]\n{}", crate::units::setup::SOON);
    let project = Project::of(&[("bad", &body)]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    let why = project.call(&["why", "bad"]).ok().text();
    assert!(why.contains("no-such-program-here"), "{why}");
}

fn broken(project: &Project, text: &str) -> Output {
    std::fs::write(project.file(), text).expect("written");
    let output = project.call(&["up"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("nothing was changed"), "{output:?}");
    output
}

/// X1: a file with a mistake changes nothing, not even its valid parts.
#[test]
fn a_broken_file_changes_nothing() {
    let project = Project::of(&[("a", SLEEP)]);
    project.up();
    let before = project.process("a");
    let text = "[units.b]\ncommand = [\"sleep\", \"1\"]\n[units.c]\ncomand = [\"sleep\"]\n";
    let output = broken(&project, text);
    assert!(output.stderr.contains("ostler.toml:4"), "{output:?}");
    assert!(output.stderr.contains("command"), "{output:?}");
    broken(&project, "[units.a\n");
    broken(&project, "[units.a]\ncommand=[\"sleep\"]\ndepends_on=[\"a\"]\n");
    assert_eq!(project.process("a"), before);
    assert_eq!(project.views().len(), 1);
}

/// X1: a file with a mistake starts no daemon either.
#[test]
fn a_broken_file_starts_no_daemon() {
    let project = Project::new();
    broken(&project, "[units.a]\n");
    assert_eq!(project.home.processes(), []);
}

/// X2: `down` ends every unit of the file and forgets them; a unit that is in no file stays.
#[test]
fn down_ends_the_units_of_the_file() {
    let project = Project::of(&[("a", SLEEP), ("b", SLEEP)]);
    project.up();
    let marker = project.home.variable();
    let command = ["start", "--name", "own", "--", "env", &marker, "sleep", "1000"];
    project.call(&command).ok();
    let (a, own) = (project.process("a"), project.process("own"));
    project.call(&["down"]).ok();
    assert!(!a.is_alive());
    assert_eq!(project.views().len(), 1);
    assert!(own.is_alive());
}

/// X2: six at once start one copy of each unit, and all of them report it.
#[test]
fn six_concurrent_ups_start_one_copy_of_each_unit() {
    let project = Project::of(&[("a", SLEEP), ("b", SLEEP), ("c", SLEEP)]);
    let calls: Vec<_> = (0..6).map(|_| project.spawn(&["up"])).collect();
    for call in calls {
        let output = call.finish().ok().text();
        assert!(output.contains("c: ready"), "{output}");
    }
    for unit in ["a", "b", "c"] {
        assert_eq!(project.copies_of(unit), 1);
        assert_eq!(project.view(unit)["restarts"], 0);
    }
}

/// X3: `up` reports a program that exits at once as failed; a unit that only has to finish is no failure.
#[test]
fn up_reports_a_program_that_exits_at_once_as_failed() {
    let project = Project::of(&[
        ("misconfigured", "command = [\"sh\", \"-c\", \"exit 78\"]"),
        ("crashes", "command = [\"sh\", \"-c\", \"exit 1\"]\nrestart = { initial = \"1h\" }"),
        ("once", "command = [\"true\"]"),
        ("stays", "command = [\"sleep\", \"1000\"]"),
    ]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{}", output.text());
    let output = output.text();
    assert!(output.contains("misconfigured: error (exit 78)"), "{output}");
    assert!(output.contains("crashes: backoff"), "{output}");
    assert!(output.contains("once: done (exit 0)"), "{output}");
    assert!(output.contains("stays: ready"), "{output}");
}

/// X2: `down` returns though another caller starts the units again while it waits.
#[test]
fn a_down_returns_though_another_caller_starts_the_units() {
    let stubborn =
        format!("command = [\"{}\", \"1\"]\nstop = {{ grace = \"2s\" }}", helper!("ignore_term"));
    let project = Project::of(&[("a", &stubborn), ("b", SLEEP)]);
    project.up();
    let old = project.process("a");
    let down = project.spawn(&["down"]);
    project.until("a", "being ended", |view| view["desired"] == "stopped");
    assert!(old.is_alive(), "the unit is in its grace period");
    project.call(&["up", "--no-wait"]).ok();
    let output = down.finish();
    assert_eq!(output.code, 0, "{output:?}");
    project.next_process("a", &old);
}
