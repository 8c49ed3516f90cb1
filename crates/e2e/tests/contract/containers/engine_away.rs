//! Containers go on while the engine is stopped or frozen, and while the supervisor or the shim is
//! killed.

use crate::containers::setup::{Engine, on_each_engine, on_each_own_engine};
use crate::daemon::setup::replace_supervisor;
use crate::units::setup::Project;
use ostler_e2e::{Signal, eventually, eventually_within};
use std::time::Duration;

const COUNT: &str = "i=0; while :; do echo line $i; i=$((i+1)); sleep 0.02; done";
const SOON: &str = "restart = { initial = \"50ms\", max = \"50ms\" }";
const MANY: usize = 10;

fn names() -> Vec<String> {
    (0..MANY).map(|number| format!("u{number}")).collect()
}

fn many(engine: &Engine, project: &Project, script: &str) {
    let body = engine.unit(script, &format!("{SOON}\nstop = {{ grace = \"200ms\" }}"));
    let names = names();
    let units: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), body.as_str())).collect();
    project.declare(&units);
    project.up();
}

fn ids(engine: &Engine, project: &Project) -> Vec<String> {
    names().iter().map(|name| engine.id(project, name)).collect()
}

/// Numbered from 0, none missing and none twice; at least this many.
#[track_caller]
fn assert_counted(project: &Project, run: &str, least: usize) {
    let text = eventually("enough lines", || {
        let text = project.call(&["logs", run]).ok().text();
        (text.lines().filter(|line| line.starts_with("line ")).count() >= least).then_some(text)
    });
    for (number, line) in text.lines().filter(|line| line.starts_with("line ")).enumerate() {
        assert_eq!(line, format!("line {number}"), "{run}");
    }
}

fn lines(project: &Project, unit: &str) -> usize {
    project.call(&["logs", unit]).ok().text().lines().count()
}

on_each_own_engine! {
    /// W5: the engine is stopped and started again under ten containers: the same ten go on, none is restarted, no
    /// line is lost.
    engine_restarted: docker_engine_restarted podman_engine_restarted
}
fn engine_restarted(engine: &Engine) {
    let project = engine.project();
    many(engine, &project, COUNT);
    let before = ids(engine, &project);
    engine.stop();
    for name in names() {
        let view = project.until(&name, "unknown", |view| {
            view["why"].as_str().is_some_and(|why| why.starts_with("unknown, deferred"))
        });
        assert_eq!(view["state"], "ready", "{view:#}");
    }
    engine.start().expect("started again");
    for name in names() {
        project.until(&name, "known again", |view| {
            view["state"] == "ready" && view["why"].as_str().unwrap_or_default().is_empty()
        });
    }
    assert_eq!(ids(engine, &project), before);
    for name in names() {
        let view = project.view(&name);
        assert_eq!(view["ends"].as_array().map_or(0, Vec::len), 0, "{view:#}");
        assert_counted(&project, &name, lines(&project, &name) + 10);
    }
    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty());
}

on_each_own_engine! {
    /// W5: a frozen engine causes no restart, and delays no other unit.
    engine_frozen: docker_engine_frozen podman_engine_frozen
}
fn engine_frozen(engine: &Engine) {
    let project = engine.project();
    let check = "health = { exec = [\"/bin/true\"], interval = \"200ms\", timeout = \"1s\", failures = 2, start_after = \"0\" }";
    project.declare(&[
        ("a", &engine.unit(COUNT, &format!("{SOON}\n{check}"))),
        ("plain", "command = [\"sleep\", \"1000\"]"),
    ]);
    project.up();
    let id = engine.id(&project, "a");
    engine.freeze();
    eventually_within(Duration::from_secs(40), "its state is unknown", || {
        let view = project.view("a");
        assert_eq!(view["state"], "ready", "{view:#}");
        let why = view["why"].as_str().unwrap_or_default();
        why.starts_with("unknown, deferred").then_some(())
    });
    let began = std::time::Instant::now();
    project.call(&["restart", "plain"]).ok();
    assert!(began.elapsed() < Duration::from_secs(5));
    engine.thaw();
    project.until("a", "known again", |view| view["why"].as_str().unwrap_or_default().is_empty());
    assert_eq!(engine.id(&project, "a"), id);
    assert_eq!(project.view("a")["ends"].as_array().map_or(0, Vec::len), 0);
    assert_counted(&project, "a", lines(&project, "a") + 10);
}

on_each_engine! {
    /// W5: SIGKILL of the supervisor with ten containers running: the same ids, no restart, no line lost or twice.
    supervisor_killed: docker_supervisor_killed podman_supervisor_killed
}
fn supervisor_killed(engine: &Engine) {
    let project = engine.project();
    many(engine, &project, COUNT);
    let before = ids(engine, &project);
    let runs: Vec<String> = project.views().iter().map(|view| view["runId"].to_string()).collect();
    for _ in 0..3 {
        replace_supervisor(&project.home);
        for name in names() {
            project.until_state(&name, "ready");
        }
    }
    assert_eq!(ids(engine, &project), before);
    let after: Vec<String> = project.views().iter().map(|view| view["runId"].to_string()).collect();
    assert_eq!(after, runs);
    for name in names() {
        assert_counted(&project, &name, lines(&project, &name) + 10);
    }
    assert_eq!(engine.of_project(&project).len(), MANY);
    project.call(&["down"]).ok();
    assert!(engine.of_project(&project).is_empty());
}

on_each_engine! {
    /// W5: SIGKILL of the shim: the next one continues with the same container at the same position of the log.
    shim_killed: docker_shim_killed podman_shim_killed
}
fn shim_killed(engine: &Engine) {
    let project = engine.project();
    project.declare(&[("a", &engine.unit(COUNT, SOON))]);
    project.up();
    let id = engine.id(&project, "a");
    eventually("some lines", || (lines(&project, "a") > 20).then_some(()));
    let first = project.view("a")["runId"].as_str().expect("a run").to_owned();
    let old = project.crash("a");
    project.next_process("a", &old);
    assert_eq!(engine.id(&project, "a"), id, "the same container");
    let second = project.view("a")["runId"].as_str().expect("a run").to_owned();
    eventually("the output continues", || {
        let text = project.call(&["logs", &second]).ok().text();
        (text.lines().count() > 10).then_some(())
    });
    let text = |run: &str| project.call(&["logs", run]).ok().text();
    let all = text(&first) + &text(&second);
    let numbers: Vec<usize> =
        all.lines().filter_map(|line| line.strip_prefix("line ")?.parse().ok()).collect();
    // A line that was copied and not yet noted may come twice, and only that one line.
    let doubles = numbers.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(doubles <= 1, "{numbers:?}");
    assert!(numbers.windows(2).all(|pair| pair[1] <= pair[0] + 1), "a gap: {numbers:?}");
}

on_each_engine! {
    /// W5: a server and a container are killed at once: both are started again, by the same supervisor.
    both_killed: docker_both_killed podman_both_killed
}
fn both_killed(engine: &Engine) {
    let project = engine.project();
    let server = format!("command = [\"sleep\", \"1000\"]\n{SOON}");
    project.declare(&[("server", &server), ("a", &engine.unit(COUNT, SOON))]);
    project.up();
    let supervisor = project.home.supervisor_pid();
    let (id, server) = (engine.id(&project, "a"), project.process("server"));
    let inside = engine.root(&id);
    inside.signal(Signal::KILL);
    server.signal(Signal::KILL);
    let new = engine.next_id(&project, "a", &id);
    let next = project.next_process("server", &server);
    assert!(engine.root(&new).pid != inside.pid && next.pid != server.pid);
    assert_eq!(project.home.supervisor_pid(), supervisor);
    assert_eq!(engine.of_project(&project).len(), 1);
}

on_each_own_engine! {
    /// W5: stopped while the engine is frozen: the container is removed as soon as the engine answers.
    stopped_while_frozen: docker_stopped_while_frozen podman_stopped_while_frozen
}
fn stopped_while_frozen(engine: &Engine) {
    let project = engine.project();
    project.declare(&[("a", &engine.unit(COUNT, "stop = { grace = \"500ms\" }"))]);
    project.up();
    engine.freeze();
    project.call(&["stop", "a"]).ok();
    assert_eq!(project.state("a"), "stopped");
    engine.thaw();
    eventually("the container is removed", || engine.of_project(&project).is_empty().then_some(()));
}

on_each_own_engine! {
    /// W5: stopped while the engine is away: the container gets its signal as soon as the engine is back, and its own exit code
    /// is recorded.
    stopped_while_away: docker_stopped_while_away podman_stopped_while_away
}
fn stopped_while_away(engine: &Engine) {
    let project = engine.project();
    let script = "trap 'exit 7' TERM; while :; do sleep 0.1; done";
    project.declare(&[("a", &engine.unit(script, "stop = { grace = \"60s\" }"))]);
    project.up();
    let run = project.view("a")["runId"].as_str().expect("a run").to_owned();
    engine.stop();
    project.until("a", "without an engine", |view| view.to_string().contains("deferred"));
    let stopping = project.spawn(&["stop", "a"]);
    project.until("a", "sent the stop signal", |view| view["state"] == "stopping");
    engine.start().expect("started again");
    stopping.finish().ok();
    assert!(engine.of_project(&project).is_empty());
    let story = project.call(&["why", &run]).ok().text();
    assert!(story.contains("exit code 7"), "{story}");
}

on_each_own_engine! {
    /// W5: a unit that is removed while the engine is frozen: its container is removed later, and
    /// the container of a new unit with the same name is not.
    withdrawn_while_frozen: docker_withdrawn_while_frozen podman_withdrawn_while_frozen
}
fn withdrawn_while_frozen(engine: &Engine) {
    let project = engine.project();
    let short = "stop = { grace = \"500ms\" }";
    project.declare(&[("a", &engine.unit(COUNT, short)), ("b", &engine.unit(COUNT, short))]);
    project.up();
    let b = engine.id(&project, "b");
    engine.freeze();
    project.call(&["down"]).ok();
    assert!(project.find("a").is_none());
    project.declare(&[("b", &engine.unit(COUNT, &format!("{short}\nenv.NEW = \"1\"")))]);
    project.call(&["up", "--no-wait"]).ok();
    engine.thaw();
    project.until_state("b", "ready");
    eventually("only the new one is left", || {
        let left = engine.of_project(&project);
        (left.len() == 1 && left[0] == engine.id(&project, "b")).then_some(())
    });
    assert!(engine.id(&project, "b") != b, "made anew");
    project.until_state("b", "ready");
    assert_eq!(project.view("b")["ends"].as_array().map_or(0, Vec::len), 0);
}

on_each_own_engine! {
    /// W5: the engine hangs during a stop of the daemon, and the next supervisor removes the remaining containers.
    left_by_a_stop: docker_left_by_a_stop podman_left_by_a_stop
}
fn left_by_a_stop(engine: &Engine) {
    let project = engine.project();
    project.declare(&[("a", &engine.unit(COUNT, "stop = { grace = \"500ms\" }"))]);
    project.up();
    engine.freeze();
    project.call(&["stop"]).ok();
    engine.thaw();
    assert_eq!(engine.of_project(&project).len(), 1, "no supervisor could remove it");
    project.call(&["runs"]).ok();
    eventually("the container is removed", || engine.of_project(&project).is_empty().then_some(()));
}

on_each_engine! {
    /// W5, D8: the shim has reported that the container runs, and the daemon died then: the report is repeated.
    reported_before_a_crash: docker_said_in_vain podman_said_in_vain
}
fn reported_before_a_crash(engine: &Engine) {
    let project = engine.project();
    project.declare(&[("a", &engine.unit("sleep 1000", ""))]);
    project.home.ostler(&["start"]).ok();
    let (supervisor, guardian) = (project.home.supervisor(), project.home.guardian());
    project.call(&["up", "--no-wait"]).ok();
    project.until("a", "its shim runs", |view| view["pid"].is_i64());
    for process in [&guardian, &supervisor].into_iter().flatten() {
        process.signal(Signal::STOP);
    }
    let note = project.home.file("containers/a.place");
    eventually("the container runs, and that was reported", || note.exists().then_some(()));
    let id = eventually("one container", || engine.of_project(&project).first().cloned());
    for process in [&guardian, &supervisor].into_iter().flatten() {
        process.signal(Signal::KILL);
        process.wait_gone();
    }
    project.until_state("a", "ready");
    assert_eq!(engine.of_project(&project), [id], "it is the same one");
}
