//! States of agents on terminals.

use crate::daemon::setup::replace_supervisor;
use crate::terminals::agent_setup::{Agent, On, on_both_terminals};
use ostler_e2e::{Terminal, eventually};
use serde_json::Value;

on_both_terminals! {
    /// T2: working, idle, waiting and limited are seen on the screen and shown by `ls`, `status`, `why` and JSON.
    seen: states_are_seen_on_the_screen_pty states_are_seen_on_the_screen_tmux
}

fn seen(on: On) {
    let agent = Agent::of(on, "hello");
    let idle = agent.until("idle");
    assert_eq!((&idle["profile"], &idle["source"]), (&"claude".into(), &"screen".into()));
    assert!(agent.row().contains(" idle "), "{}", agent.row());

    agent.type_in("work\r");
    agent.until("working");
    assert!(agent.row().contains(" working "), "{}", agent.row());

    agent.type_in("x");
    agent.until("idle");
    agent.type_in("\rask remove build\r");
    let asks = agent.until_asked("Do you want to remove build?");
    assert!(asks["sinceAtMs"].as_u64() >= idle["sinceAtMs"].as_u64(), "{asks}");
    let row = agent.row();
    assert!(row.contains("waiting for you") && row.contains("Do you want to remove"), "{row}");
    let status = agent.call(&["status", "a"]).ok().text();
    assert!(status.contains("State: waiting for you since "), "{status}");
    assert!(
        status.contains("Asks: ") && status.contains("Do you want to remove build?"),
        "{status}"
    );
    assert!(status.contains("Agent: claude"), "{status}");
    let screen = agent.call(&["screen", "a", "--json"]).ok().json();
    assert_eq!(screen["agent"]["state"], "waiting", "{screen}");
    let why = agent.call(&["why", "a"]).ok().text();
    assert!(why.contains("\n  waiting for you for "), "{why}");
    assert!(why.contains("waiting for a person: ") && why.contains("to remove build?"), "{why}");

    agent.type_in("1");
    agent.until("idle");
    assert_eq!(agent.answers(), ["chose 1"]);
    let why = agent.call(&["why", "a"]).ok().text();
    assert!(why.contains("no longer waiting: the agent is idle"), "{why}");

    agent.type_in("limit\r");
    let limited = agent.until("limited");
    assert!(limited["untilAtMs"].is_u64(), "{limited}");
    assert!(agent.row().contains("limited until 03:30"), "{}", agent.row());
    assert_eq!(agent.description("agent-limited"), 1);
}

on_both_terminals! {
    /// T2: the next supervisor knows the state of a silent agent too, and runs no hook again.
    adopted: a_state_is_known_after_an_adoption_pty a_state_is_known_after_an_adoption_tmux
}

fn adopted(on: On) {
    let agent = Agent::of(on, "ask go on");
    agent.until_asked("go on?");
    replace_supervisor(&agent.tmux.project.home);
    agent.until_asked("go on?");
    assert_eq!(agent.description("agent-waiting"), 1);
    agent.type_in("2");
    agent.until("idle");
    agent.until_reported("agent-goes-on", 1);
}

/// T2: an agent below a shell is found among the processes; after its end there is no state.
#[test]
fn an_agent_below_a_shell_is_found() {
    let agent = Agent::with(On::Pty, "hello", "");
    let script = "read go; ./claude ./record 'ask be sure'; echo again; read go";
    agent.declare(&["sh", "-c", script], "");
    agent.tmux.project.up();
    assert!(agent.view()["agent"].is_null());
    agent.type_in("\r");
    agent.until_asked("be sure?");
    let process =
        agent.tmux.project.home.processes().into_iter().find(|process| {
            process.arguments().first().is_some_and(|word| word.ends_with("claude"))
        });
    process.expect("the agent runs").signal(ostler_e2e::Signal::TERM);
    let gone = |view: &serde_json::Value| view["agent"].is_null();
    agent.tmux.project.until("a", "without an agent", gone);
    agent.until_reported("agent-goes-on", 1);
}

/// T2: the declared profile is used; a change of it needs no restart.
#[test]
fn a_declared_agent_is_judged_by_its_profile() {
    let agent = Agent::with(On::Pty, "ask go on", "");
    let link = agent.tmux.project.folder().join("other");
    std::fs::rename(agent.tmux.project.folder().join("claude"), &link).expect("renamed");
    agent.declare(&["./other", "./record", "ask go on"], "");
    agent.tmux.project.up();
    let before = agent.tmux.project.process("a");
    agent.tmux.until_logged("a", "go on?");
    assert!(agent.view()["agent"].is_null());
    agent.declare(&["./other", "./record", "ask go on"], "agent = \"claude\"");
    let plan = agent.tmux.project.up();
    assert!(plan.text().contains("update"), "{}", plan.text());
    agent.until_asked("go on?");
    assert!(before.is_alive());
}

/// T2: `top` shows agents that wait.
#[test]
fn top_shows_waiting_agents() {
    let agent = Agent::of(On::Pty, "ask remove build");
    agent.until("waiting");
    let mut command = agent.tmux.project.home.command(&["top"]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command, 120, 20);
    terminal.until_on_screen("waiting for you");
    terminal.until_on_screen("Do you want to remove build?");
    let screen = terminal.until_on_screen("1 waits for you");
    terminal.keys(b"q");
    let (code, _) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
}

/// T2: a run without a unit has a state too.
#[test]
fn a_run_of_an_agent_has_a_state() {
    let agent = Agent::with(On::Pty, "", "");
    let home = &agent.tmux.project.home;
    let program = agent.tmux.project.path("claude");
    let run = home.start(&["--pty"], &[&program, "/dev/null", "ask go on"]);
    let seen = eventually("the state is known", || {
        let seen = home.ostler(&["screen", &run, "--json"]).ok().json();
        (seen["agent"]["state"] == "waiting").then_some(seen)
    });
    assert!(seen["unit"].is_null(), "{seen}");
    assert_eq!(home.count(&run, "agent-waiting"), 1);
}

on_both_terminals! {
    /// T2: an agent whose process has ended although it should run is dead; a stopped one is stopped.
    dead: an_agent_that_has_ended_is_dead_pty an_agent_that_has_ended_is_dead_tmux
}

fn dead(on: On) {
    let agent = Agent::with(on, "hello", "restart = { initial = \"120s\", max = \"120s\" }\n");
    agent.tmux.project.up();
    agent.until("idle");
    let pid = agent.view()["pid"].as_i64().expect("a process") as i32;
    ostler_e2e::signal(pid, rustix::process::Signal::KILL);
    let is_dead = |view: &Value| view["agent"]["deadSinceAtMs"].is_number();
    let view = agent.tmux.project.until("a", "dead", is_dead);
    assert_eq!((&view["state"], &view["agent"]["profile"]), (&"backoff".into(), &"claude".into()));
    let row = agent.row();
    assert!(row.contains(" dead ") && row.contains("killed"), "{row}");
    agent.call(&["stop", "a"]).ok();
    assert!(agent.row().contains("stopped"), "{}", agent.row());
    agent.call(&["start", "a"]).ok();
    agent.until("idle");
    assert!(agent.view()["agent"]["deadSinceAtMs"].is_null());
}
