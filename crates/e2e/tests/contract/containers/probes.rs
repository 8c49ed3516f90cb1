//! The health section of an agent's manifest: checks inside the container, all the time.

use crate::containers::setup::{Engine, on_each_engine};
use crate::units::setup::Project;
use ostler_e2e::eventually;
use serde_json::json;

const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
const QUICK: &str = "liveness_backoff = { initial = \"100ms\", factor = 2, max = \"1s\" }";

/// Scripts in a folder that is /code inside, and a manifest beside them.
fn agent(project: &Project, scripts: &[(&str, &str)], health: &serde_json::Value) {
    std::fs::create_dir_all(project.path("code")).expect("a folder");
    for (name, text) in scripts {
        std::fs::write(project.path(&format!("code/{name}")), text).expect("written");
    }
    let manifest = json!({ "about": "an agent", "health": health });
    std::fs::write(project.path("manifest.json"), manifest.to_string()).expect("written");
}

fn unit(engine: &Engine, more: &str) -> String {
    let more = format!("{more}\nmanifest = \"manifest.json\"\nvolumes = [\"./code:/code\"]");
    engine.unit(IDLE, &more)
}

fn put(project: &Project, name: &str) {
    std::fs::write(project.path(&format!("code/{name}")), "").expect("written");
}

on_each_engine! {
    /// W6, W7: it becomes unhealthy long after its start: it is restarted with the liveness backoff's delay.
    sick_later: docker_sick_later podman_sick_later
}
fn sick_later(engine: &Engine) {
    let project = engine.project();
    let health =
        json!({ "liveness": { "script": "live.sh", "interval": 0.2, "failureThreshold": 3 } });
    agent(&project, &[("live.sh", "echo >> ./asked; ! test -e ./sick")], &health);
    project.declare(&[("a", &unit(engine, QUICK))]);
    project.up();
    let id = engine.id(&project, "a");
    project.until_lines("code/asked", 6);
    assert_eq!(engine.id(&project, "a"), id, "healthy, and left alone");
    put(&project, "sick");
    let view = project.until("a", "created again", |view| !view["ends"][0].is_null());
    std::fs::remove_file(project.path("code/sick")).expect("removed");
    assert!(
        view["ends"][0]["description"]
            .as_str()
            .is_some_and(|description| description.contains("unhealthy")),
        "{view:#}"
    );
    assert_eq!(view["ends"][0]["then"], "restarted after 100 ms", "{view:#}");
    engine.next_id(&project, "a", &id);
    let why = project.call(&["why", "a"]).ok().text();
    assert!(why.contains("checks in a row failed"), "{why}");
}

on_each_engine! {
    /// W7, W20: readiness gates the dependents; a later failure is a warning, and no restart.
    readiness: docker_readiness podman_readiness
}
fn readiness(engine: &Engine) {
    let project = engine.project();
    let health =
        json!({ "readiness": { "script": "ready.sh", "interval": 0.2, "failureThreshold": 2 } });
    agent(&project, &[("ready.sh", "test -e ./go")], &health);
    let needs = "command = [\"sleep\", \"1000\"]\ndepends_on = [\"a\"]";
    project.declare(&[("a", &unit(engine, "")), ("b", needs)]);
    let up = project.spawn(&["up"]);
    eventually("the check has failed", || {
        let why = project.call(&["why", "a"]).text();
        why.contains("check failed: not ready").then_some(())
    });
    let id = engine.id(&project, "a");
    assert_eq!(project.state("a"), "starting");
    let view = |unit: &str| project.call(&["status", unit, "--json"]).json()[0].clone();
    assert_eq!(view("a")["probeState"], "running");
    assert_ne!(project.state("b"), "ready");
    put(&project, "go");
    up.finish().ok();
    project.until_state("b", "ready");
    let well = view("a");
    assert_eq!(well["probeState"], "success", "{well}");
    assert!(well["lastSeenRunningAt"].as_u64() > well["startedAtMs"].as_u64(), "{well}");
    assert!(view("b").get("probeState").is_none(), "only containers have it");
    std::fs::remove_file(project.path("code/go")).expect("removed");
    project.until("a", "reported as not ready", |view| {
        view["why"].as_str().is_some_and(|why| why.contains("not ready"))
    });
    assert_eq!(project.state("a"), "ready", "the container runs on");
    assert_eq!(view("a")["probeState"], "failed");
    put(&project, "go");
    project.until("a", "ready again", |view| view["why"].as_str().unwrap_or_default().is_empty());
    assert_eq!(engine.id(&project, "a"), id, "and was never restarted");
    assert_eq!(project.view("a")["ends"].as_array().map_or(0, Vec::len), 0);
}

on_each_engine! {
    /// W6: a probe that forks and hangs leaves nothing behind, and delays no other.
    hanging: docker_hanging podman_hanging
}
fn hanging(engine: &Engine) {
    let project = engine.project();
    let health = json!({ "liveness": { "script": "live.sh", "interval": 0.1, "timeout": 2, "failureThreshold": 2 } });
    let hang = "setsid sh -c 'sleep 987 & sleep 986' & sleep 985";
    agent(&project, &[("live.sh", hang)], &health);
    let well = "command = [\"sleep\", \"1000\"]\nhealth = { exec = [\"sh\", \"-c\", \"echo x >> checked\"], interval = \"50ms\", start_after = \"0\" }";
    project.declare(&[("a", &unit(engine, QUICK)), ("well", well)]);
    project.up();
    project.until_lines("checked", 10);
    project.until("a", "the check timed out", |view| !view["ends"][0].is_null());
    project.call(&["stop", "a"]).ok();
    let left = || {
        let listed = std::process::Command::new("ps").args(["-eo", "args"]).output().expect("ps");
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        listed.lines().filter(|line| ["sleep 985", "sleep 986", "sleep 987"].contains(line)).count()
    };
    eventually("no process of it is left", || (left() == 0).then_some(()));
    assert_eq!(project.state("well"), "ready");
}

on_each_engine! {
    /// W6: processes of a hanging probe are ended while its container goes on.
    forking: docker_forking podman_forking
}
fn forking(engine: &Engine) {
    let project = engine.project();
    let health = json!({ "liveness": { "script": "live.sh", "interval": 0.2, "timeout": 2, "failureThreshold": 1000 } });
    let fork = "echo x >> /code/checked; setsid sh -c 'sleep 977' > /dev/null 2>&1 & sleep 976";
    agent(&project, &[("live.sh", fork)], &health);
    project.declare(&[("a", &unit(engine, ""))]);
    project.up();
    let id = engine.id(&project, "a");
    project.until_lines("code/checked", 4);
    let inside = engine.ok(&["top", &id]);
    let left = inside.lines().filter(|line| line.contains("sleep 97")).count();
    assert!(left <= 3, "only of the current check: {inside}");
    assert_eq!(engine.id(&project, "a"), id);
}

on_each_engine! {
    /// W8: a missing script or an invalid manifest is an error of that unit alone, with the file.
    broken: docker_broken podman_broken
}
fn broken(engine: &Engine) {
    let project = engine.project();
    let health = json!({ "liveness": { "script": "nosuch.sh" } });
    agent(&project, &[], &health);
    std::fs::write(project.path("half.json"), "{\"health\": ").expect("written");
    let half = unit(engine, "").replace("manifest.json", "half.json");
    let gone = unit(engine, "").replace("manifest.json", "gone.json");
    project.declare(&[
        ("missing", &unit(engine, "")),
        ("half", &half),
        ("gone", &gone),
        ("fine", &engine.unit(IDLE, "")),
    ]);
    project.call(&["up"]);
    for (name, file) in
        [("missing", "/code/nosuch.sh"), ("half", "half.json"), ("gone", "gone.json")]
    {
        project.until(name, "in error", |view| view["state"] == "error");
        let why = project.call(&["why", name]).text();
        assert!(why.contains(file), "{name}: {why}");
    }
    project.until_state("fine", "ready");
    assert_eq!(engine.of_project(&project).len(), 1);
}

/// W8: a path that leaves its folder is refused before anything is started.
#[test]
fn names_that_lead_elsewhere_are_refused() {
    let project = Project::new();
    let body = "backend = \"container\"\nimage = \"x:1\"\nmanifest = \"manifest.json\"";
    project.declare(&[("a", body)]);
    for name in ["../x.sh", "a/b.sh", "/bin/sh", "", "..", "a\u{0}b"] {
        agent(&project, &[], &json!({ "readiness": { "script": name } }));
        let up = project.call(&["up"]);
        assert!(up.code != 0 && up.stderr.contains("manifest.json"), "{name:?}: {}", up.stderr);
        assert!(up.stderr.contains("health.readiness.script"), "{}", up.stderr);
    }
}
