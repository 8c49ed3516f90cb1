//! A container is a unit like any other: the same commands, ends and records. On real engines.

use crate::containers::setup::{Engine, on_each_engine};
use ostler_e2e::{Process, eventually};

const SOON: &str = "restart = { initial = \"50ms\", max = \"50ms\" }";
const IDLE: &str = "trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.1; done";

on_each_engine! {
    /// W5: up, ls, logs, why, restart, stop, start, down; labels; nothing is left.
    life: docker_life podman_life
}
fn life(engine: &Engine) {
    let own = engine.ok(&["run", "-d", "--network", "none", engine.image(), "/bin/sleep", "1000"]);
    let project = engine.project();
    project.declare(&[("a", &engine.unit(IDLE, &format!("{SOON}\nenv.COLOUR = \"red\"")))]);
    project.up();
    assert_eq!(project.state("a"), "ready");
    let first = engine.id(&project, "a");
    let labels = engine.inspect(&first)["Config"]["Labels"].clone();
    let view = project.view("a");
    assert_eq!(labels["ostler.unit"], "a");
    assert_eq!(labels["ostler.run"], view["runId"]);
    eventually("its output", || {
        project.call(&["logs", "a"]).text().contains("hello").then_some(())
    });
    let why = project.call(&["why", "a"]).ok().text();
    assert!(why.contains("ready"), "{why}");

    project.call(&["restart", "a"]).ok();
    let second = engine.next_id(&project, "a", &first);
    assert_eq!(engine.of_project(&project), [second.as_str()]);

    project.call(&["stop", "a"]).ok();
    assert_eq!(project.state("a"), "stopped");
    assert!(
        project.call(&["logs", "a"]).text().contains("bye"),
        "it exited by itself, and was not killed"
    );
    assert!(engine.of_project(&project).is_empty(), "the container is removed with its end");
    project.call(&["start", "a"]).ok();
    project.until_state("a", "ready");
    engine.id(&project, "a");

    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty());
    project.home.stop();
    let notes = std::fs::read_dir(project.home.file("containers")).map_or(0, Iterator::count);
    assert_eq!(notes, 0, "no notes of it either");
    assert_eq!(
        engine.inspect(&own)["State"]["Running"],
        true,
        "the user's own container is untouched"
    );
    engine.ok(&["rm", "-f", &own]);
}

on_each_engine! {
    /// W5: a change of the file creates another container; without a change it is kept.
    reload: docker_reload podman_reload
}
fn reload(engine: &Engine) {
    let project = engine.project();
    let unit = |colour: &str| engine.unit(IDLE, &format!("env.COLOUR = \"{colour}\""));
    project.declare(&[("a", &unit("red")), ("b", &unit("red"))]);
    project.up();
    let (a, b) = (engine.id(&project, "a"), engine.id(&project, "b"));
    project.declare(&[("a", &unit("blue")), ("b", &unit("red"))]);
    project.call(&["reload"]).ok();
    let new = engine.next_id(&project, "a", &a);
    assert_eq!(engine.id(&project, "b"), b);
    let env = engine.inspect(&new)["Config"]["Env"].to_string();
    assert!(env.contains("COLOUR=blue"), "{env}");

    engine.ok(&["tag", engine.image(), "localhost/other:1"]);
    let other = unit("blue").replace(engine.image(), "localhost/other:1");
    project.declare(&[("a", &other), ("b", &unit("red"))]);
    project.call(&["reload"]).ok();
    engine.next_id(&project, "a", &new);
    assert_eq!(engine.id(&project, "b"), b);
    assert_eq!(engine.of_project(&project).len(), 2);
}

on_each_engine! {
    /// W5: a container killed or removed from outside is reported so, and created again.
    struck: docker_struck podman_struck
}
fn struck(engine: &Engine) {
    let project = engine.project();
    project.declare(&[("a", &engine.unit(IDLE, SOON))]);
    project.up();
    let first = engine.id(&project, "a");
    engine.ok(&["kill", &first]);
    let second = engine.next_id(&project, "a", &first);
    assert_eq!(project.view("a")["ends"][0]["description"], "killed");
    engine.ok(&["rm", "-f", &second]);
    let third = engine.next_id(&project, "a", &second);
    let ends = project.view("a")["ends"].clone();
    assert!(matches!(ends[0]["description"].as_str(), Some("exit 1" | "killed")), "{ends}");
    assert_eq!(engine.of_project(&project), [third]);
}

on_each_engine! {
    /// W5: its own exit code is the run's.
    exits: docker_exits podman_exits
}
fn exits(engine: &Engine) {
    let project = engine.project();
    let once = "restart = { when = \"never\" }";
    project.declare(&[("a", &engine.unit("echo out; echo err >&2; exit 7", once))]);
    project.call(&["up"]);
    let view = project.until("a", "over", |view| !view["ends"][0].is_null());
    assert_eq!(view["ends"][0]["description"], "exit 7", "{view:#}");
    let logs = project.call(&["logs", "a"]).text();
    assert!(logs.contains("out\n") && logs.contains("err\n"), "{logs:?}");
    assert!(engine.of_project(&project).is_empty());
}

on_each_engine! {
    /// W5: out of memory inside is reported so.
    memory: docker_memory podman_memory
}
fn memory(engine: &Engine) {
    let project = engine.project();
    let eat = "sleep 0.5; a=x; while :; do a=$a$a$a$a; done";
    let more = "limits = { memory = \"16M\" }\nrestart = { when = \"never\" }";
    project.declare(&[("a", &engine.unit(eat, more))]);
    project.call(&["up"]);
    let view = project.until("a", "over", |view| !view["ends"][0].is_null());
    assert_eq!(view["ends"][0]["description"], "killed, out of memory", "{view:#}");
    let why = project.call(&["why", "a"]).ok().text();
    assert!(why.contains("out of memory") || why.contains("want of memory"), "{why}");
}

on_each_engine! {
    /// W5: another kill is not reported as out of memory, though there is a limit.
    no_memory: docker_no_memory podman_no_memory
}
fn no_memory(engine: &Engine) {
    let project = engine.project();
    let more = "limits = { memory = \"16M\" }\nrestart = { when = \"never\" }";
    project.declare(&[("a", &engine.unit(IDLE, more))]);
    project.up();
    engine.ok(&["kill", &engine.id(&project, "a")]);
    let view = project.until("a", "over", |view| !view["ends"][0].is_null());
    assert_eq!(view["ends"][0]["description"], "killed", "{view:#}");
}

on_each_engine! {
    /// W5: a foreign container has the name: an error, and the foreign one goes on.
    foreign_name: docker_foreign_name podman_foreign_name
}
fn foreign_name(engine: &Engine) {
    let theirs = format!("foreign-{}", std::process::id());
    let run =
        ["run", "-d", "--name", &theirs, "--network", "none", engine.image(), "/bin/sleep", "1000"];
    let id = engine.ok(&run);
    let project = engine.project();
    let named = format!("{SOON}\ncontainer_name = \"{theirs}\"");
    project.declare(&[("a", &engine.unit(IDLE, &named)), ("fine", &engine.unit(IDLE, SOON))]);
    project.call(&["up"]);
    project.until("a", "in error", |view| view["state"] == "error");
    let why = project.call(&["why", "a"]).text();
    assert!(why.contains("which ostler did not create") && why.contains("rename"), "{why}");
    assert_eq!(project.view("a")["ends"][0]["description"], "exit 78");
    project.until_state("fine", "ready");
    project.call(&["down"]).ok();
    assert_eq!(engine.inspect(&id)["State"]["Running"], true);
    engine.ok(&["rm", "-f", &id]);
}

on_each_engine! {
    /// W5: a missing image.
    no_image: docker_no_image podman_no_image
}
fn no_image(engine: &Engine) {
    let project = engine.project();
    let body = engine.unit(IDLE, SOON).replace(engine.image(), "localhost/nosuch:1");
    project.declare(&[("a", &body)]);
    project.call(&["up"]);
    project.until("a", "in error", |view| view["state"] == "error");
    let why = project.call(&["why", "a"]).text();
    assert!(why.contains("exit 78") && why.contains("localhost/nosuch:1"), "{why}");
    assert!(why.contains("pull it first"), "{why}");
}

on_each_engine! {
    /// W5: a command that is not in the image is an error, without waiting for the engine.
    no_command: docker_no_command podman_no_command
}
fn no_command(engine: &Engine) {
    let project = engine.project();
    let body = engine.unit(
        "",
        "restart = { initial = \"10ms\", max = \"10ms\", limit = { count = 2, window = \"1m\" } }",
    );
    project.declare(&[("a", &body.replace("/bin/sh", "/nosuch"))]);
    project.call(&["up"]);
    project.until("a", "in error", |view| view["state"] == "error");
    let why = project.call(&["why", "a"]).text();
    assert!(why.contains("/nosuch"), "{why}");
    assert!(engine.of_project(&project).is_empty());
}

on_each_engine! {
    /// W5: a container that ignores its signal is killed after the grace period.
    deaf: docker_deaf podman_deaf
}
fn deaf(engine: &Engine) {
    let project = engine.project();
    let deaf = "trap '' TERM; echo up; while :; do sleep 0.1; done";
    project.declare(&[("a", &engine.unit(deaf, "stop = { grace = \"500ms\" }"))]);
    project.up();
    let root: Process = engine.root(&engine.id(&project, "a"));
    project.call(&["stop", "a"]).ok();
    assert!(!root.is_alive());
    assert!(engine.of_project(&project).is_empty());
}
