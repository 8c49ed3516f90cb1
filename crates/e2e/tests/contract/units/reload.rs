//! `ostler reload`: `--dry-run` prints what it would do, and it does exactly that.

use crate::units::setup::Project;
use serde_json::Value;

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";
const OTHER: &str = "command = [\"sleep\", \"2000\"]";
const LIMIT: &str = "restart = { limit = { count = 9, window = \"1m\" } }";

/// One unit for each kind of change, and a stopped one.
fn edited() -> Project {
    let project = Project::of(&[
        ("gone", SLEEP),
        ("same", SLEEP),
        ("other", SLEEP),
        ("policy", SLEEP),
        ("idle", SLEEP),
    ]);
    project.up();
    project.call(&["stop", "idle"]).ok();
    let policy = format!("{SLEEP}\n{LIMIT}");
    project.declare(&[
        ("new", SLEEP),
        ("same", SLEEP),
        ("other", OTHER),
        ("policy", &policy),
        ("idle", SLEEP),
    ]);
    project
}

const PLAN: [(&str, &str); 6] = [
    ("gone", "remove"),
    ("idle", "keep"),
    ("new", "add"),
    ("other", "restart"),
    ("policy", "update"),
    ("same", "keep"),
];

/// All facts of units except their current usage.
fn all(project: &Project) -> Vec<Value> {
    let mut views = project.views();
    for view in &mut views {
        view.as_object_mut().expect("a view").remove("usage");
    }
    views
}

fn kinds(plan: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let plan = plan.as_array().expect("a list").iter();
    let mut plan: Vec<_> = plan.map(|one| (word(&one["unit"]), word(&one["kind"]))).collect();
    plan.sort();
    plan
}

/// X2: `--dry-run` prints what would change, and changes nothing.
#[test]
fn a_dry_run_changes_nothing() {
    let project = edited();
    let (views, processes) = (all(&project), project.home.processes());
    let plan = project.call(&["reload", "--dry-run", "--json"]).ok().json();
    let description: Vec<_> = kinds(&plan);
    let description: Vec<_> =
        description.iter().map(|(unit, kind)| (unit.as_str(), kind.as_str())).collect();
    assert_eq!(description, PLAN);
    let lines = project.call(&["reload", "--dry-run"]).ok().text();
    assert!(lines.starts_with("using "), "{lines}");
    assert_eq!(lines.lines().count(), 1 + PLAN.len(), "{lines}");
    for (unit, kind) in PLAN {
        let is_reported = |line: &str| line.contains(kind) && line.ends_with(&format!(" {unit}"));
        assert!(lines.lines().any(is_reported), "{kind} {unit} is missing:\n{lines}");
    }
    assert_eq!(all(&project), views);
    assert_eq!(project.home.processes(), processes);
    let again = project.call(&["reload", "--dry-run", "--json"]).ok().json();
    assert_eq!(again, plan, "two dry runs changed nothing");
}

/// X2: `reload` does what `--dry-run` has printed, all of it and nothing else.
#[test]
fn reload_does_what_was_printed() {
    let project = edited();
    let pid = |unit: &str| project.process(unit).pid;
    let before = ["same", "policy", "other"].map(pid);
    let gone = project.process("gone");
    let planned = project.call(&["reload", "--dry-run"]).ok().text();
    let output = project.call(&["reload"]).ok().text();
    assert!(output.starts_with(&planned), "planned:\n{planned}\ntold:\n{output}");
    let after = ["same", "policy", "other"].map(pid);
    assert_eq!(after[..2], before[..2], "neither was to be restarted");
    assert_ne!(after[2], before[2], "this one was");
    assert!(project.process("other").command().contains("2000"));
    assert!(!gone.is_alive());
    assert!(project.find("gone").is_none());
    assert_eq!((project.state("new"), project.state("idle")), ("ready".into(), "stopped".into()));
    let left = project.call(&["reload", "--dry-run", "--json"]).ok().json();
    assert!(kinds(&left).iter().all(|(_, kind)| kind == "keep"), "{left}");
}

/// X2: units that left the file are gone when `reload` or `up` returns, and are listed.
#[test]
fn the_end_of_removed_units_is_awaited() {
    let deaf = "command = \"trap '' TERM; echo up; while :; do sleep 0.02; done\"\n\
                ready = { line = \"^up$\" }\nstop = { grace = \"700ms\" }";
    let project = Project::of(&[("a", SLEEP), ("deaf", deaf)]);
    for verb in ["reload", "up"] {
        project.declare(&[("a", SLEEP), ("deaf", deaf)]);
        project.up();
        let gone = project.process("deaf");
        project.declare(&[("a", SLEEP)]);
        let output = project.call(&[verb]).ok().text();
        assert!(!gone.is_alive(), "{verb} has returned");
        assert!(
            output.contains("- remove   deaf\n") && output.contains("\ndeaf: removed\n"),
            "{output}"
        );
        assert!(project.find("deaf").is_none());
    }
}
