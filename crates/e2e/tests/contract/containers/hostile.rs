//! Other users of the engine change a container of Ostler's, or one beside it: the journal is right, and
//! foreign containers are not touched.

use crate::containers::setup::{
    Engine, Kind, engine, on_each_engine, on_each_own_engine, own_engine,
};
use crate::units::setup::Project;
use ostler_e2e::{PATIENCE, Signal, eventually, eventually_within};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;

const SOON: &str = "restart = { initial = \"50ms\", max = \"50ms\" }";
const IDLE: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

fn ends(project: &Project, unit: &str) -> usize {
    project.view(unit)["ends"].as_array().map_or(0, Vec::len)
}

on_each_engine! {
    /// W5: a paused container is not dead: no check fails, the next shim continues with it, and a stop ends it.
    paused: docker_paused podman_paused
}
fn paused(engine: &Engine) {
    let project = engine.project();
    std::fs::create_dir_all(project.path("code")).expect("a folder");
    let check = "health = { exec = [\"/bin/sh\", \"-c\", \"echo >> /code/asked\"], interval = \"1s\", \
                 timeout = \"2s\", failures = 1, start_after = \"0\" }\nvolumes = [\"./code:/code\"]";
    let more = format!("{SOON}\nstop = {{ grace = \"2s\" }}");
    let checked = format!("{more}\n{check}");
    project.declare(&[("a", &engine.unit(IDLE, &checked)), ("b", &engine.unit(IDLE, &more))]);
    project.up();
    let (a, b) = (engine.id(&project, "a"), engine.id(&project, "b"));
    // Not while a command starts inside: one engine cannot handle that.
    let asked = project.until_lines("code/asked", 1);
    project.until_lines("code/asked", asked + 1);
    eventually("it can be paused", || {
        let inside = engine.ok(&["top", &a]);
        (!inside.contains("asked")).then(|| engine.ok(&["pause", &a]))
    });
    engine.ok(&["pause", &b]);
    for (unit, id) in [("a", &a), ("b", &b)] {
        let shim = project.crash(unit);
        project.next_process(unit, &shim);
        project.until_state(unit, "ready");
        assert_eq!(&engine.id(&project, unit), id, "continued, still paused");
    }
    engine.ok(&["unpause", &a]);
    let asked = project.lines("code/asked");
    project.until_lines("code/asked", asked + 1);
    assert_eq!(ends(&project, "a"), 1, "{:#}", project.view("a"));
    project.call(&["stop", "b"]).ok();
    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty());
}

on_each_engine! {
    /// W5: a renamed container is recognised by its id.
    renamed: docker_renamed podman_renamed
}
fn renamed(engine: &Engine) {
    let project = engine.project();
    project.declare(&[("a", &engine.unit(IDLE, SOON))]);
    project.up();
    let id = engine.id(&project, "a");
    let name = engine.inspect(&id)["Name"].as_str().expect("a name").trim_matches('/').to_owned();
    let theirs = format!("renamed-{}-{:?}", std::process::id(), engine.kind).to_lowercase();
    engine.ok(&["rename", &name, &theirs]);
    let shim = project.crash("a");
    project.next_process("a", &shim);
    project.until_state("a", "ready");
    assert_eq!(engine.id(&project, "a"), id, "continued under its new name");
    engine.ok(&["kill", &id]);
    let next = engine.next_id(&project, "a", &id);
    assert_eq!(
        engine.inspect(&next)["Name"].as_str().map(|name| name.trim_matches('/')),
        Some(&*name)
    );
    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty());
}

on_each_engine! {
    /// W5: a container from an image that was committed from ours has our labels, and is not ours.
    copied: docker_copied podman_copied
}
fn copied(engine: &Engine) {
    let project = engine.project();
    project.declare(&[("a", &engine.unit(IDLE, SOON))]);
    project.up();
    let id = engine.id(&project, "a");
    let image = format!("localhost/copy:{}", std::process::id());
    engine.ok(&["commit", &id, &image]);
    let copy = engine.ok(&["run", "-d", "--network", "none", &image]);
    assert_eq!(engine.of_project(&project).len(), 2, "both have the labels");
    let shim = project.crash("a");
    project.next_process("a", &shim);
    project.until_state("a", "ready");
    project.call(&["restart", "a"]).ok();
    project.until_state("a", "ready");
    project.call(&["down"]).ok();
    let left = engine.of_project(&project);
    assert_eq!(left, std::slice::from_ref(&copy), "the foreign container is kept, ours is removed");
    assert_eq!(engine.inspect(&copy)["State"]["Running"], true);
    engine.ok(&["rm", "-f", &copy]);
    engine.ok(&["rmi", &image]);
}

on_each_engine! {
    /// W5: another home's container for a unit of the same name is not ours.
    other_home: docker_other_home podman_other_home
}
fn other_home(engine: &Engine) {
    let project = engine.project();
    let taken = format!("other-home-{}-{:?}", std::process::id(), engine.kind).to_lowercase();
    let labels = ["--label", "ostler.home=another", "--label", "ostler.unit=a"];
    let run = ["run", "-d", "--network", "none", "--name", &taken];
    let command = [engine.image(), "/bin/sleep", "1000"];
    let theirs = engine.ok(&[&run[..], &labels[..], &command[..]].concat());
    let named = format!("container_name = {taken:?}");
    project.declare(&[("a", &engine.unit(IDLE, "")), ("b", &engine.unit(IDLE, &named))]);
    project.call(&["up"]);
    project.until_state("a", "ready");
    project.until("b", "refused", |view| view["state"] == "error");
    project.call(&["down"]).ok();
    assert_eq!(engine.inspect(&theirs)["State"]["Running"], true);
    engine.ok(&["rm", "-f", &theirs]);
}

on_each_engine! {
    /// W5, W6: a container that is removed during a check counts as removed or killed, not as unhealthy.
    removed_in_a_check: docker_removed_in_a_check podman_removed_in_a_check
}
fn removed_in_a_check(engine: &Engine) {
    let project = engine.project();
    std::fs::create_dir_all(project.path("code")).expect("a folder");
    let check = "health = { exec = [\"/bin/sh\", \"-c\", \"echo >> /code/asked; sleep 3\"], interval = \"100ms\", \
                 timeout = \"20s\", failures = 1, start_after = \"0\" }";
    let more = format!("{SOON}\n{check}\nvolumes = [\"./code:/code\"]");
    project.declare(&[("a", &engine.unit(IDLE, &more))]);
    project.up();
    let id = engine.id(&project, "a");
    project.until_lines("code/asked", 1);
    engine.ok(&["rm", "-f", &id]);
    engine.next_id(&project, "a", &id);
    let why = project.call(&["why", "a"]).text();
    assert!(!project.view("a")["ends"].to_string().contains("unhealthy"), "{why}");
    assert_eq!(ends(&project, "a"), 1, "{:#}", project.view("a"));
}

/// W5: a restart policy of the engine: an end is an end, and only Ostler restarts it. (Podman has no such
/// policy in the versions that we know.)
#[test]
fn docker_restarts_it_itself() {
    let Some(engine) = engine(Kind::Docker) else { return };
    let project = engine.project();
    project.declare(&[("a", &engine.unit("sleep 1000", SOON))]);
    project.up();
    let id = engine.id(&project, "a");
    engine.ok(&["update", "--restart", "always", &id]);
    engine.root(&id).signal(ostler_e2e::Signal::KILL);
    let next = engine.next_id(&project, "a", &id);
    let view = project.view("a");
    assert_eq!(view["ends"][0]["description"], "killed", "{view:#}");
    assert_eq!(engine.of_project(&project), [next], "one container, started by Ostler");
}

on_each_engine! {
    /// W5: a missing folder is named in the error (one engine creates it instead).
    no_folder: docker_no_folder podman_no_folder
}
fn no_folder(engine: &Engine) {
    let project = engine.project();
    let more = "volumes = [\"./nosuch:/data\"]\n\
                restart = { initial = \"10ms\", max = \"10ms\", limit = { count = 2, window = \"1m\" } }";
    project.declare(&[("a", &engine.unit(IDLE, more))]);
    project.call(&["up"]);
    let view =
        project.until("a", "settled", |view| view["state"] == "ready" || view["state"] == "error");
    if view["state"] == "error" {
        let why = project.call(&["why", "a"]).text();
        assert!(why.contains("nosuch"), "{why}");
        assert!(engine.of_project(&project).is_empty());
    }
}

on_each_own_engine! {
    /// W5: the engine is restarted while it creates containers: each exists once in the end.
    restarted_while_making: docker_restarted_while_making podman_restarted_while_making
}
fn restarted_while_making(engine: &Engine) {
    let project = engine.project();
    // An engine that is stopped while it creates the first may end that one.
    let idle = IDLE.replace("exit 0", "exit 5");
    let body = engine.unit(&idle, &format!("{SOON}\nstop = {{ grace = \"1s\" }}"));
    let names: Vec<String> = (0..4).map(|number| format!("m{number}")).collect();
    let units: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*body)).collect();
    project.declare(&units);
    project.call(&["up", "--no-wait"]).ok();
    eventually("the first is being created", || {
        (!engine.of_project(&project).is_empty()).then_some(())
    });
    engine.stop();
    engine.start().expect("started again");
    eventually_within(3 * PATIENCE, "each container runs, once", || {
        let is_ready = |name: &String| project.state(name) == "ready";
        let made = engine.of_project(&project);
        let is_so = made.len() == names.len() && made == engine.running_of_project(&project);
        (is_so && names.iter().all(is_ready)).then_some(())
    });
    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty());
}

/// W5: podman's cleanup helper does nothing: the end is noticed, and another container is created.
#[test]
fn podman_does_not_clear_away() {
    let Some(engine) = own_engine(Kind::Podman) else { return };
    engine.stop();
    engine.without_clearing();
    engine.start().expect("started again");
    let project = engine.project();
    let script = "trap 'exit 5' TERM; while :; do sleep 0.1; done";
    project.declare(&[("a", &engine.unit(script, SOON))]);
    project.up();
    let first = engine.id(&project, "a");
    engine.ok(&["kill", "-s", "TERM", &first]);
    let second = engine.next_id(&project, "a", &first);
    // No shim watches it between the end of one and the start of the next.
    let shim = project.process("a");
    shim.signal(Signal::STOP);
    engine.ok(&["kill", "-s", "TERM", &second]);
    eventually("the container is stopped", || {
        (engine.inspect(&second)["State"]["Status"] == "stopped").then_some(())
    });
    shim.signal(Signal::KILL);
    engine.next_id(&project, "a", &second);
    assert!(project.view("a").to_string().contains("exit 5"), "{}", project.view("a"));
    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty());
}

/// W5: a server that is not an engine: an error, and other units are not delayed.
#[test]
fn garbage_for_an_engine() {
    let answers: [&[u8]; 4] = [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nwhy",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}",
        b"",
    ];
    for answer in answers {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("e.sock");
        let engine = format!("unix://{}", path.display());
        let variables = [("CONTAINER_RUNTIME", "docker"), ("DOCKER_HOST", &*engine)];
        let project = Project::with(&[crate::daemon::setup::QUICK, variables[0], variables[1]]);
        let listener = UnixListener::bind(&path).expect("bound");
        std::thread::spawn(move || {
            for mut caller in listener.incoming().flatten() {
                let _ = caller.read(&mut [0; 4096]);
                let _ = caller.write_all(answer);
            }
        });
        let container = "backend = \"container\"\nimage = \"bb:1\"\ncommand = [\"x\"]";
        project.declare(&[("a", container), ("b", "command = [\"sleep\", \"1000\"]")]);
        project.call(&["up", "--no-wait"]).ok();
        project.until_state("b", "ready");
        project.until("a", "unknown", |view| {
            view["why"].as_str().is_some_and(|why| why.starts_with("unknown, deferred"))
        });
        assert_eq!(ends(&project, "a"), 0, "{:#}", project.view("a"));
        project.call(&["stop", "a"]).ok();
    }
}

on_each_engine! {
    /// W5: the declared stop signal is sent to the container, not to its shim.
    own_signal: docker_own_signal podman_own_signal
}
fn own_signal(engine: &Engine) {
    let project = engine.project();
    let script = "trap 'echo bye; exit 0' USR1; while :; do sleep 0.1; done";
    project
        .declare(&[("a", &engine.unit(script, "stop = { signal = \"USR1\", grace = \"10s\" }"))]);
    project.up();
    project.call(&["stop", "a"]).ok();
    assert!(engine.of_project(&project).is_empty());
    let output = project.call(&["logs", "a"]).ok().text();
    assert!(output.contains("bye"), "{output}");
}
