//! Consecutive command checks share a boundary: processes that a check leaves behind are not counted for the next one, and none
//! stay.

use crate::units::setup::Project;
use ostler_e2e::{Process, eventually};
use std::path::PathBuf;

const UNIT: &str =
    "command = [\"sleep\", \"1000\"]\nrestart = { initial = \"10ms\", max = \"10ms\" }";
const OFTEN: &str = "interval = \"20ms\", start_after = \"0\", failures = 1000";
/// The shell command that prints the check's own cgroup.
const GROUP: &str = "grep ^0:: /proc/self/cgroup";

fn unit(check: &str, more: &str) -> String {
    let check = serde_json::to_string(check).expect("a string");
    format!("{UNIT}\nhealth = {{ exec = [\"sh\", \"-c\", {check}], {OFTEN}{more} }}")
}

fn words(project: &Project, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(project.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The pids in a file that are still alive.
fn alive(project: &Project, name: &str) -> Vec<Process> {
    let pids = words(project, name);
    pids.iter()
        .filter_map(|pid| Process::find(pid.parse().ok()?))
        .filter(Process::is_alive)
        .collect()
}

/// The boundaries of checks: all but those of the units themselves. `None` where there are no boundaries.
fn kept(project: &Project) -> Option<Vec<PathBuf>> {
    let (room, leaves) = project.home.boundaries();
    room?;
    let recorded: Vec<String> = project
        .home
        .records()
        .iter()
        .filter_map(|record| record["runId"].as_str().map(|run| format!("run-{run}")))
        .collect();
    let is_recorded = |leaf: &PathBuf| {
        leaf.file_name().is_some_and(|name| recorded.iter().any(|run| name == run.as_str()))
    };
    Some(leaves.into_iter().filter(|leaf| !is_recorded(leaf)).collect())
}

/// W6: consecutive checks share one boundary, which is removed after the last check.
#[test]
fn a_boundary_is_kept_for_the_next_check_and_removed_after_the_last() {
    let project = Project::with(&[("OSTLER_LEASE", "1s")]);
    project.declare(&[("a", &unit(&format!("{GROUP} >> groups"), ""))]);
    project.up();
    project.until_lines("groups", 20);
    let mut groups = words(&project, "groups");
    groups.sort();
    groups.dedup();
    let Some(leaves) = kept(&project) else { return };
    assert_eq!((groups.len(), leaves.len()), (1, 1), "{groups:?}, {leaves:?}");
    project.call(&["stop", "a"]).ok();
    eventually("no boundary is left", || project.home.boundaries().1.is_empty().then_some(()));
    // A new one is created when it is needed.
    let before = project.lines("groups");
    project.call(&["start", "a"]).ok();
    project.until_lines("groups", before + 2);
}

/// W6: processes that a check leaves behind are ended with it, before the next one begins.
#[test]
fn processes_left_by_a_check_are_ended_before_the_next() {
    let project = Project::new();
    let check = "for pid in $(cat left); do kill -0 $pid && echo $pid >> met; done; \
                 test -e enough && exit 0; \
                 setsid sleep 987 & echo $! >> left; sleep 986 & echo $! >> left; echo x >> checked";
    project.declare(&[("a", &unit(check, "")), ("b", &unit("echo x >> beside", ""))]);
    project.up();
    let unit = project.process("a");
    project.until_lines("checked", 4);
    std::fs::write(project.path("enough"), "").expect("written");
    eventually("no process of them is left", || alive(&project, "left").is_empty().then_some(()));
    assert_eq!(words(&project, "met"), Vec::<String>::new());
    let before = project.lines("beside");
    project.until_lines("beside", before + 10);
    assert!(unit.is_alive(), "none of them failed");
}

/// W6: a check is ended whole at its timeout, whatever it started, and the next one begins anew.
#[test]
fn a_check_is_ended_whole_at_its_timeout() {
    let project = Project::new();
    let check = "test -e enough && exec true; sleep 987 & echo $! >> kids; setsid sleep 986 & echo $! >> kids; \
                 echo $$ >> kids; echo x >> checked; exec sleep 985";
    project.declare(&[("a", &unit(check, ", timeout = \"100ms\""))]);
    project.up();
    project.until_lines("checked", 3);
    std::fs::write(project.path("enough"), "").expect("written");
    eventually("nothing of them is left", || alive(&project, "kids").is_empty().then_some(()));
}

/// W6: two checks at the same time are in two boundaries; a daemon of one is not ended with the other.
#[test]
fn two_checks_at_once_have_a_boundary_each() {
    let project = Project::new();
    let meet = |own: &str, other: &str| {
        format!(
            "test -e met && exit 0; {GROUP} > {own}.part; mv {own}.part {own}; \
             until test -e {other}; do sleep 0.01; done; echo x >> both; until test -e met; do sleep 0.01; done"
        )
    };
    let quick = unit(&format!("{GROUP} >> quick"), "");
    project.declare(&[
        ("a", &unit(&meet("a", "b"), ", timeout = \"100s\"")),
        ("b", &unit(&meet("b", "a"), ", timeout = \"100s\"")),
        ("c", &quick),
    ]);
    project.up();
    project.until_lines("both", 2);
    let before = project.lines("quick");
    project.until_lines("quick", before + 10);
    if kept(&project).is_some() {
        let (a, b) = (words(&project, "a"), words(&project, "b"));
        let quick = &words(&project, "quick")[before..];
        assert_ne!(a, b);
        assert!(!quick.contains(&a[0]) && !quick.contains(&b[0]), "{a:?}, {b:?}, {quick:?}");
    }
    std::fs::write(project.path("met"), "").expect("written");
}

/// W6, R15: the supervisor is killed while a check runs in a reused boundary: the next one ends the whole check and
/// removes the boundary.
#[test]
fn a_check_in_a_kept_boundary_does_not_outlive_its_supervisor() {
    let project = Project::new();
    let check = format!(
        "echo x >> checked; test -e hang || exit 0; {GROUP} > group; \
         setsid sleep 987 & echo $! >> kids; echo $$ >> kids; exec sleep 986"
    );
    project.declare(&[("a", &unit(&check, ", timeout = \"100s\""))]);
    project.up();
    let unit = project.process("a");
    project.until_lines("checked", 5);
    std::fs::write(project.path("hang"), "").expect("written");
    project.until_lines("kids", 2);
    assert_eq!(alive(&project, "kids").len(), 2);
    let group = words(&project, "group").remove(0);
    project.home.kill_supervisor();
    std::fs::remove_file(project.path("hang")).expect("removed");
    project.call(&["ls"]).ok();
    eventually("nothing of the check is left", || alive(&project, "kids").is_empty().then_some(()));
    if let (Some(_), leaves) = project.home.boundaries() {
        let is_there = |leaf: &PathBuf| {
            leaf.file_name().is_some_and(|name| group.ends_with(&*name.to_string_lossy()))
        };
        assert!(!leaves.iter().any(is_there), "{group}: {leaves:?}");
    }
    let before = project.lines("checked");
    project.until_lines("checked", before + 2);
    assert!(unit.is_alive(), "the unit itself goes on");
    project.home.stop();
    assert_eq!(project.home.boundaries().1, Vec::<PathBuf>::new());
}
