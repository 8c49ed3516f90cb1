//! `ostler up`: the daemon matches the file, and nothing is touched that did not change.

use crate::units::Project;
use ostler_e2e::{Output, helper};

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";

fn pids(project: &Project, units: &[&str]) -> Vec<i32> {
    units.iter().map(|unit| project.process(unit).pid).collect()
}

/// X2: everything runs when `up` returns; a second `up` changes nothing.
#[test]
fn a_second_up_changes_nothing() {
    let project = Project::of(&[("a", SLEEP), ("b", SLEEP), ("c", SLEEP)]);
    let description = project.up().text();
    for unit in ["a", "b", "c"] {
        assert!(description.contains(&format!("{unit}: ready")), "{description}");
        assert_eq!(project.copies_of(unit), 1);
    }
    let before = pids(&project, &["a", "b", "c"]);
    let description = project.up().text();
    assert_eq!(description.matches("= keep").count(), 3, "{description}");
    assert_eq!(pids(&project, &["a", "b", "c"]), before);
}

/// X2: after an edit only what differs is started anew, and what left the file is ended when `up` returns.
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

/// X2: a change that is no matter of the running copy is taken up without a restart.
#[test]
fn a_changed_policy_restarts_nobody() {
    let project = Project::of(&[("a", SLEEP)]);
    project.up();
    let before = project.process("a");
    let limit = "restart = { limit = { count = 9, window = \"1m\" } }";
    project.declare(&[("a", &format!("{SLEEP}\n{limit}"))]);
    let description = project.up().text();
    assert!(description.contains("~ update"), "{description}");
    assert_eq!(project.process("a"), before);
}

/// X2: the same words in another order are the same file.
#[test]
fn an_edit_that_means_the_same_is_no_change() {
    let project = Project::of(&[("a", SLEEP), ("b", SLEEP)]);
    project.up();
    let before = pids(&project, &["a", "b"]);
    project.declare(&[("b", SLEEP), ("a", &format!("# a remark\nbackend = \"pipe\"\n{SLEEP}"))]);
    let description = project.up().text();
    assert_eq!(description.matches("= keep").count(), 2, "{description}");
    assert_eq!(pids(&project, &["a", "b"]), before);
}

/// X2: `--no-wait` returns before a unit that takes its time is ready; `--json` tells each unit.
#[test]
fn up_can_be_told_not_to_wait() {
    let slow = "command = [\"sh\", \"-c\", \"while ! test -e go; do sleep 0.02; done; echo up; exec sleep 1000\"]\n\
                ready = { line = \"^up$\" }";
    let project = Project::of(&[("slow", slow)]);
    let plan = project.call(&["up", "--no-wait", "--json"]).ok().json();
    assert_eq!(plan[0]["unit"], "slow");
    assert_eq!(plan[0]["kind"], "add");
    assert_ne!(project.state("slow"), "ready");
    std::fs::write(project.path("go"), "").expect("written");
    let views = project.call(&["up", "--json"]).ok().json();
    assert_eq!(views[0]["name"], "slow");
    assert_eq!(views[0]["state"], "ready");
    assert_eq!(views[0]["pid"], project.process("slow").pid);
}

/// X2: exit code 1 when one ends in error before it is ready; the others run.
#[test]
fn one_in_error_is_exit_1() {
    let project = Project::of(&[
        ("good", SLEEP),
        ("bad", "command = [\"sh\", \"-c\", \"exit 78\"]\nready = { line = \"up\" }"),
    ]);
    let output = project.call(&["up"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.text().contains("bad: error (exit 78)"), "{output:?}");
    assert_eq!(project.state("good"), "ready");
}

/// X1, X2: a program that is not there is told by its name, as an error of the unit, within the policy's limit.
#[test]
fn a_program_that_is_not_there_is_told() {
    let body = format!("command = [\"no-such-program-here\"]\n{}", crate::units::SOON);
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

/// X1: a file with a mistake changes nothing, not even what is right in it.
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
fn a_broken_file_starts_nobody() {
    let project = Project::new();
    broken(&project, "[units.a]\n");
    assert_eq!(project.home.processes(), []);
}

/// X2: `down` ends every unit of the file and forgets them; a unit that is in no file stays.
#[test]
fn down_ends_what_the_file_has() {
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

/// X2: six at once make one of each, and all of them are told so.
#[test]
fn six_at_once_make_one_of_each() {
    let project = Project::of(&[("a", SLEEP), ("b", SLEEP), ("c", SLEEP)]);
    let calls: Vec<_> = (0..6).map(|_| project.spawn(&["up"])).collect();
    for call in calls {
        let description = call.finish().ok().text();
        assert!(description.contains("c: ready"), "{description}");
    }
    for unit in ["a", "b", "c"] {
        assert_eq!(project.copies_of(unit), 1);
        assert_eq!(project.view(unit)["restarts"], 0);
    }
}

/// X3: a program that ends as soon as it began was never up, and `up` says so; one that only had to be run was.
#[test]
fn up_does_not_call_ready_what_ends_at_once() {
    let project = Project::of(&[
        ("misconfigured", "command = [\"sh\", \"-c\", \"exit 78\"]"),
        ("crashes", "command = [\"sh\", \"-c\", \"exit 1\"]\nrestart = { initial = \"1h\" }"),
        ("once", "command = [\"true\"]"),
        ("stays", "command = [\"sleep\", \"1000\"]"),
    ]);
    let description = project.call(&["up"]);
    assert_eq!(description.code, 1, "{}", description.text());
    let description = description.text();
    assert!(description.contains("misconfigured: error (exit 78)"), "{description}");
    assert!(description.contains("crashes: backoff"), "{description}");
    assert!(description.contains("once: done (exit 0)"), "{description}");
    assert!(description.contains("stays: ready"), "{description}");
}

/// X2: `down` returns though somebody brings the units back while it waits.
#[test]
fn a_down_returns_though_somebody_brings_them_back() {
    let stubborn =
        format!("command = [\"{}\", \"1\"]\nstop = {{ grace = \"2s\" }}", helper!("ignore_term"));
    let project = Project::of(&[("a", &stubborn), ("b", SLEEP)]);
    project.up();
    let old = project.process("a");
    let down = project.spawn(&["down"]);
    project.until("a", "being ended", |view| view["desired"] == "stopped");
    assert!(old.is_alive(), "it has its grace");
    project.call(&["up", "--no-wait"]).ok();
    let description = down.finish();
    assert_eq!(description.code, 0, "{description:?}");
    project.next_process("a", &old);
}
