//! Podman without a service: Ostler runs the service, and podman's helpers beside containers belong to no run.

use crate::containers::setup::{Engine, Kind, own_engine};
use crate::daemon::setup::replace_supervisor;
use crate::units::setup::Project;
use ostler_e2e::{Process, Signal, eventually};

const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
const SOON: &str = "restart = { initial = \"50ms\", max = \"50ms\" }";

fn served(more: &str) -> Option<(Engine, Project)> {
    let engine = own_engine(Kind::Podman)?;
    let project = engine.unserved();
    let body = engine.unit(IDLE, &format!("{SOON}\n{more}"));
    project.declare(&[("a", &body), ("b", &body)]);
    project.up();
    Some((engine, project))
}

fn runs(project: &Project) -> Vec<String> {
    ["a", "b"].map(|unit| project.view(unit)["runId"].to_string()).to_vec()
}

fn ids(engine: &Engine, project: &Project) -> Vec<String> {
    ["a", "b"].map(|unit| engine.id(project, unit)).to_vec()
}

/// No container, service or helper is left.
fn assert_gone(engine: &Engine, project: &Project) {
    assert!(engine.of_project(project).is_empty());
    eventually("no process of it runs", || engine.processes().is_empty().then_some(()));
}

/// W5: without a socket Ostler runs podman's service, and ends it with the last unit that needs it.
#[test]
fn podman_is_served() {
    let check = "health = { exec = [\"/bin/sh\", \"-c\", \"true\"], interval = \"100ms\", start_after = \"0\" }";
    let Some((engine, project)) = served(check) else { return };
    assert_eq!(project.state("podman"), "ready");
    let service = project.process("podman");
    let beside: Vec<i32> =
        engine.processes().into_iter().filter(|pid| *pid != service.pid).collect();
    assert!(beside.len() >= 2, "one helper beside each container: {beside:?}");
    for pid in beside {
        // A helper that has just started, for a check, exits first.
        eventually("a helper beside a container is in no run", || {
            let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
            (!groups.contains("/run-")).then_some(())
        });
    }
    project.call(&["down"]).ok();
    assert_gone(&engine, &project);
}

/// W5: the service dies or is restarted: it runs again, and the containers go on.
#[test]
fn podman_service_dies() {
    let Some((engine, project)) = served("") else { return };
    let (runs_before, ids_before) = (runs(&project), ids(&engine, &project));
    let old = project.crash("podman");
    let next = project.next_process("podman", &old);
    project.call(&["restart", "podman"]).ok();
    assert!(project.process("podman").pid != next.pid);
    engine.ok(&["kill", &ids_before[0]]);
    let id = engine.next_id(&project, "a", &ids_before[0]);
    assert_eq!(
        (runs(&project)[1].clone(), engine.id(&project, "b")),
        (runs_before[1].clone(), ids_before[1].clone())
    );
    assert!(engine.root(&id).is_alive());
    project.call(&["down"]).ok();
    assert_gone(&engine, &project);
}

/// W5: the supervisor dies and is replaced: service and containers are the same.
#[test]
fn podman_service_is_adopted() {
    let Some((engine, project)) = served("") else { return };
    let before = (runs(&project), ids(&engine, &project), project.process("podman").pid);
    replace_supervisor(&project.home);
    for unit in ["a", "b", "podman"] {
        project.until_state(unit, "ready");
    }
    assert_eq!((runs(&project), ids(&engine, &project), project.process("podman").pid), before);
    project.call(&["stop"]).ok();
    assert_gone(&engine, &project);
}

/// W5: service and shims are killed at once. The containers run on, are adopted, and are removed at the end.
#[test]
fn podman_service_and_shims_are_killed() {
    let Some((engine, project)) = served("") else { return };
    let before = ids(&engine, &project);
    let all: Vec<Process> = ["a", "b", "podman"].map(|unit| project.process(unit)).into();
    for process in &all {
        process.signal(Signal::KILL);
    }
    for (unit, old) in ["a", "b", "podman"].iter().zip(&all) {
        project.next_process(unit, old);
    }
    assert_eq!(ids(&engine, &project), before);
    project.call(&["down"]).ok();
    assert_gone(&engine, &project);
}

/// W5: a shim is killed during `down`, the service with it: its container is removed nevertheless.
#[test]
fn podman_left_without_a_service() {
    let Some(engine) = own_engine(Kind::Podman) else { return };
    let project = engine.unserved();
    let deaf =
        engine.unit("trap '' TERM; while :; do sleep 0.1; done", "stop = { grace = \"30s\" }");
    project.declare(&[("a", &deaf)]);
    project.up();
    let shim = project.process("a");
    let down = project.spawn(&["down"]);
    project.until("a", "sent the stop signal", |view| view["state"] == "stopping");
    shim.signal(Signal::KILL);
    down.finish().ok();
    eventually("its container is removed", || engine.of_project(&project).is_empty().then_some(()));
    assert_gone(&engine, &project);
}
