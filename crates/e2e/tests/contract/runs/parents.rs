//! A run that is started from inside another one ends with it, unless `--keep` is given.

use crate::daemon::setup::QUICK;
use crate::setup::Setup;
use crate::tmux::setup::{SERVER, Tmux, unit};
use crate::units::setup::Project;
use ostler_e2e::{Home, Process, Signal, eventually};
use serde_json::Value;

fn ostler() -> String {
    Home::binary().display().to_string()
}

/// The live run with this command.
#[track_caller]
fn run_of(home: &Home, command: &str) -> Value {
    eventually(&format!("a run of {command:?}"), || {
        let is_it = |record: &Value| record["command"] == command && record["state"] == "running";
        home.records().into_iter().find(is_it)
    })
}

fn id(record: &Value) -> String {
    record["runId"].as_str().expect("an id").to_owned()
}

fn state(home: &Home, record: &Value) -> Value {
    home.record(&id(record))["state"].clone()
}

/// Calls `ostler run -d` for each of these commands, one of them from a detached process, and stays.
fn starts(commands: &[&str], apart: &str) -> String {
    let ostler = ostler();
    let calls: String =
        commands.iter().map(|command| format!("{ostler} run -d {command}; ")).collect();
    format!("{calls}(setsid sh -c '{ostler} run -d {apart}' &) ; echo ready; exec sleep 700")
}

/// R21: a run started with `run -d` inside a run ends with it, at any depth, and a cancel returns when all of it
/// is gone; a run with `--keep` goes on.
#[test]
fn a_run_that_a_run_started_ends_with_it() {
    for setup in [Setup::PIPE, Setup::PTY, Setup::PIPE_WITHOUT_CGROUP, Setup::PTY_WITHOUT_CGROUP] {
        let home = setup.home();
        let inner =
            format!("--grace 30s -- sh -c '{} run -d -- sleep 702; exec sleep 701'", ostler());
        let script = starts(&[&inner, "--keep -- sleep 703"], "-- sleep 704");
        let parent = home.start_ready(&setup.options(&[]), &["sh", "-c", &script]);
        let nested = run_of(&home, "sleep 702");
        let child = home.record(nested["parent"].as_str().expect("a parent"));
        let (kept, apart) = (run_of(&home, "sleep 703"), run_of(&home, "sleep 704"));
        for run in [&child, &kept, &apart] {
            assert_eq!(run["parent"], parent.as_str(), "{setup:?}: {run}");
        }
        assert_eq!((&kept["keep"], &apart["keep"]), (&true.into(), &false.into()));
        home.cancel(&parent);
        for run in [&child, &nested, &apart] {
            assert_eq!(state(&home, run), "exited", "{setup:?}: {run}");
            assert_eq!(home.record(&id(run))["termination"], "manual-cancel");
        }
        assert_eq!(state(&home, &kept), "running", "{setup:?}");
        let why = home.ostler(&["why", &id(&apart)]).ok().text();
        assert!(why.contains("its parent run ended"), "{why}");
    }
}

/// R21: also where the parent ends by itself.
#[test]
fn a_run_ends_when_its_parent_ends_by_itself() {
    let home = Home::new();
    let script = format!("{} run -d -- sleep 705; read line", ostler());
    let parent = home.start(&["--stdin"], &["sh", "-c", &script]);
    let child = run_of(&home, "sleep 705");
    home.ostler(&["write", &parent, "--eof"]).ok();
    assert_eq!(home.wait(&parent)["termination"], "exit");
    assert_eq!(home.wait(&id(&child))["termination"], "manual-cancel");
}

/// R21: the same for units: a stop returns when no process of the tree is left, and the tree is printed.
#[test]
fn a_run_that_a_unit_started_ends_with_it() {
    let project = Project::new();
    let script = starts(&["--grace 30s -- sleep 706", "--keep -- sleep 707"], "-- sleep 708");
    let command = format!("command = [\"sh\", \"-c\", \"{script}\"]");
    project.declare(&[("coder", &command)]);
    project.up();
    let home = &project.home;
    let [child, kept, apart] = ["sleep 706", "sleep 707", "sleep 708"].map(|own| run_of(home, own));
    let unit_run = project.view("coder")["runId"].clone();
    assert_eq!((&child["parent"], &apart["parent"]), (&unit_run, &unit_run));
    let shown = project.call(&["runs"]).ok().text();
    let short = |run: &Value| id(run).rsplit('-').next().expect("an end").to_owned();
    assert!(shown.contains(&format!("└ {}", short(&child))), "{shown}");
    let status = project.call(&["status", "coder"]).ok().text();
    assert!(status.contains(&format!("{} running  sleep 706", short(&child))), "{status}");
    assert!(status.contains(&format!("{} running, kept  sleep 707", short(&kept))), "{status}");
    let status = project.call(&["status", "coder", "--json"]).ok().json();
    assert_eq!(status[0]["runs"].as_array().map(Vec::len), Some(3), "{status}");
    project.call(&["stop", "coder"]).ok();
    assert_eq!((state(home, &child), state(home, &apart)), ("exited".into(), "exited".into()));
    assert_eq!(state(home, &kept), "running");
}

/// R21: an agent in a pane belongs to its own run, and not to the run of the tmux server.
#[test]
fn a_run_that_an_agent_in_tmux_started_ends_with_it() {
    ostler_e2e::needs!("tmux");
    for variables in [&[][..], &[("OSTLER_NO_CGROUP", "1")][..]] {
        let tmux = Tmux::with(variables);
        tmux.project.declare(&[("a", &unit(&starts(&["-- sleep 709"], "-- sleep 710"), ""))]);
        tmux.project.up();
        let home = &tmux.project.home;
        let children = ["sleep 709", "sleep 710"].map(|command| run_of(home, command));
        let run = tmux.project.view("a")["runId"].clone();
        assert!(children.iter().all(|child| child["parent"] == run), "{children:#?}");
        tmux.project.call(&["stop", "a"]).ok();
        assert!(children.iter().all(|child| state(home, child) == "exited"), "{variables:?}");
        assert_eq!(tmux.project.state(SERVER), "ready");
    }
}

/// R21: if a parent ended while there was no supervisor, the next supervisor ends its children.
#[test]
fn children_end_if_their_parent_ended_without_a_supervisor() {
    for setup in [Setup::PIPE, Setup::PIPE_WITHOUT_CGROUP] {
        let home = setup.home_with(&[QUICK]);
        let script = starts(&["-- sleep 711", "--keep -- sleep 712"], "-- sleep 713");
        let parent = home.start_ready(&[], &["sh", "-c", &script]);
        let runs = ["sleep 711", "sleep 712", "sleep 713"].map(|own| run_of(&home, own));
        let root = home.root(&parent);
        home.kill_daemon();
        root.signal(Signal::KILL);
        root.wait_gone();
        home.ostler(&["start"]).ok();
        for (run, state) in runs.iter().zip(["exited", "running", "exited"]) {
            eventually("the children have ended", || {
                (home.record(&id(run))["state"] == state).then_some(())
            });
        }
        // A run whose parent is alive goes on.
        let parent =
            home.start_ready(&[], &["sh", "-c", &starts(&["-- sleep 714"], "-- sleep 715")]);
        let child = run_of(&home, "sleep 714");
        home.kill_supervisor();
        eventually("the run is adopted", || {
            (home.count(&id(&child), "adopted") == 1).then_some(())
        });
        assert_eq!(state(&home, &child), "running", "{setup:?}");
        home.cancel(&parent);
        eventually("the child ends", || (state(&home, &child) == "exited").then_some(()));
    }
}

/// R21: the kernel decides which run a caller belongs to: a variable alone makes no child.
#[test]
fn a_forged_variable_makes_no_parent() {
    let mut home = Home::new();
    let other = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 716"]);
    home.set("OSTLER_RUN_ID", &other);
    let run = home.start(&[], &["sleep", "717"]);
    assert_eq!(home.record(&run)["parent"], Value::Null);
    home.cancel(&other);
    assert_eq!(home.record(&run)["state"], "running");
    let root = home.root(&run);
    assert_eq!(
        root.variable("OSTLER_RUN_ID"),
        Some(run.clone()),
        "its own id is in its environment"
    );
    assert!(Process::find(root.pid).is_some());
}

/// R21: a run that is started while its parent is being ended is refused.
#[test]
fn no_run_starts_inside_a_run_that_is_ending() {
    let home = Home::new();
    let script = format!(
        "trap '{} run -d -- sleep 718; exit 0' TERM; echo ready; while :; do sleep 0.02; done",
        ostler()
    );
    let parent = home.start_ready(&["--grace", "30s"], &["sh", "-c", &script]);
    home.cancel(&parent);
    let records = home.records();
    let late =
        records.iter().find(|record| record["command"] == "sleep 718").expect("the marker exists");
    assert_eq!((&late["state"], &late["pid"]), (&"exited".into(), &Value::Null), "{late}");
}
