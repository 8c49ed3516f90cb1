//! Continuing a conversation: `resume` with the id of the agent's session.

use crate::units::setup::Project;
use ostler_e2e::{ControlSocket, Registry};
use serde_json::{Value, json};

/// An agent that records how it was started.
const AGENT: &str = "command = [\"sh\", \"-c\", \"echo fresh >> starts; exec sleep 1000\"]\n\
     resume = [\"sh\", \"-c\", \"echo resumed {session} >> starts; exec sleep 1000\"]\n\
     backend = \"pty\"\nrestart = { when = \"always\", initial = \"10ms\", limit = { count = 0, window = \"1s\" } }";

fn learn(project: &Project, of: &str, session: Value) -> Value {
    let call = json!({ "of": of, "session": session });
    ControlSocket::connect(&project.home).try_call("agents.session", &call).expect("an answer")
}

#[track_caller]
fn learned(project: &Project, of: &str, session: &str) {
    let answer = learn(project, of, json!(session));
    assert!(answer.get("ok").is_some(), "{answer}");
}

/// The lines that the agent has written, as soon as there are that many.
#[track_caller]
fn starts(project: &Project, least: usize) -> Vec<String> {
    project.until_lines("starts", least);
    let text = std::fs::read_to_string(project.path("starts")).expect("the file exists");
    text.lines().map(str::to_owned).collect()
}

/// W14: the session of its agent is stored with the unit, printed, and used when the unit is started again.
#[test]
fn a_unit_is_resumed_with_the_session_of_its_agent() {
    let project = Project::of(&[("bot", AGENT)]);
    project.up();
    assert_eq!(starts(&project, 1), ["fresh"]);
    let run = project.view("bot")["runId"].as_str().expect("a run").to_owned();
    // As a hook of the agent would: it knows its run by OSTLER_RUN_ID.
    learned(&project, &run, "0196a1c2-7b8e");
    assert_eq!(project.view("bot")["agentSession"], "0196a1c2-7b8e");
    let status = project.call(&["status", "bot"]).text();
    assert!(status.contains("Session: 0196a1c2-7b8e"), "{status}");
    project.crash("bot");
    assert_eq!(starts(&project, 2)[1], "resumed 0196a1c2-7b8e");
    // The newest report counts; that of an ended run does not.
    learned(&project, "bot", "s-2");
    let older = learn(&project, &run, json!("s-old"));
    assert_eq!(older["error"]["code"], "CONFLICT", "{older}");
    project.call(&["restart", "bot"]).ok();
    assert_eq!(starts(&project, 3)[2], "resumed s-2");
    let why = project.call(&["why", "bot"]).text();
    assert!(why.contains("started with its resume command: session s-2 of sh"), "{why}");
}

/// W14: without a known session the command is run, and `why` says so; the same after the session was forgotten.
#[test]
fn without_a_session_the_command_is_run() {
    let project = Project::of(&[("bot", AGENT)]);
    project.up();
    project.crash("bot");
    assert_eq!(starts(&project, 2), ["fresh", "fresh"]);
    let why = project.call(&["why", "bot"]).text();
    assert!(why.contains("running its command instead"), "{why}");
    learned(&project, "bot", "s-1");
    let forgotten = learn(&project, "bot", Value::Null);
    assert!(forgotten.get("ok").is_some(), "{forgotten}");
    assert_eq!(project.view("bot")["agentSession"], Value::Null);
    project.crash("bot");
    assert_eq!(starts(&project, 3)[2], "fresh");
}

/// W14: an agent that cannot resume the session and exits at once is started with its command; the session is not lost.
#[test]
fn an_agent_whose_session_cannot_be_resumed_is_started_anew() {
    let resumed = "echo resumed {session} >> starts; ";
    let agent = AGENT.replace(&format!("{resumed}exec sleep 1000"), &format!("{resumed}exit 1"));
    let project = Project::of(&[("bot", &agent)]);
    project.up();
    starts(&project, 1);
    learned(&project, "bot", "s-1");
    project.crash("bot");
    assert_eq!(starts(&project, 3), ["fresh", "resumed s-1", "fresh"]);
    let why = project.call(&["why", "bot"]).text();
    assert!(why.contains("session s-1 could not be resumed"), "{why}");
    // A newer session of the agent is resumed.
    learned(&project, "bot", "s-2");
    project.crash("bot");
    assert_eq!(starts(&project, 5)[3..], ["resumed s-2", "fresh"]);
}

/// W14: an agent that exits with a code of its own when it is stopped (as claude with 143) did find its conversation,
/// however soon it is stopped.
#[test]
fn an_agent_that_was_stopped_at_once_is_resumed_again() {
    let waits = "sleep 1000 & wait";
    let resumed = "echo resumed {session} >> starts; ";
    let agent = AGENT.replace(
        &format!("{resumed}exec sleep 1000"),
        &format!("trap 'exit 143' TERM; {resumed}{waits}"),
    );
    let project = Project::of(&[("bot", &agent)]);
    project.up();
    starts(&project, 1);
    learned(&project, "bot", "s-1");
    for restarts in 2..5 {
        project.call(&["restart", "bot"]).ok();
        assert_eq!(starts(&project, restarts)[restarts - 1], "resumed s-1");
    }
    project.call(&["down"]).ok();
    project.up();
    assert_eq!(starts(&project, 5)[4], "resumed s-1");
}

/// W14: a session outlives the supervisor, the daemon, a reboot, and `down` with `up`.
#[test]
fn a_session_outlives_daemon_machine_and_down() {
    let project = Project::of(&[("bot", AGENT)]);
    project.up();
    starts(&project, 1);
    learned(&project, "bot", "s-1");
    crate::daemon::setup::replace_supervisor(&project.home);
    project.crash("bot");
    assert_eq!(starts(&project, 2)[1], "resumed s-1");
    project.home.stop();
    // As after a reboot of the machine.
    let registry = Registry::open(&project.home);
    registry.execute("UPDATE runs SET boot_id = 'another'", []);
    registry.execute("UPDATE leases SET boot_id = 'another'", []);
    drop(registry);
    project.home.ostler(&["start"]).ok();
    assert_eq!(starts(&project, 3)[2], "resumed s-1");
    project.call(&["down"]).ok();
    project.up();
    assert_eq!(starts(&project, 4)[3], "resumed s-1");
}

/// W14: another program forgets the session; other arguments of the same program keep it.
#[test]
fn a_changed_program_forgets_the_session() {
    let project = Project::of(&[("bot", AGENT)]);
    project.up();
    starts(&project, 1);
    learned(&project, "bot", "s-1");
    project.declare(&[("bot", &AGENT.replace("exec sleep 1000", "exec sleep 2000"))]);
    project.up();
    assert_eq!(starts(&project, 2)[1], "resumed s-1");
    let other = AGENT.replace("command = [\"sh\"", "command = [\"/usr/bin/env\", \"sh\"");
    project.declare(&[("bot", &other)]);
    project.up();
    assert_eq!(starts(&project, 3)[2], "fresh");
    assert_eq!(project.view("bot")["agentSession"], Value::Null);
    let why = project.call(&["why", "bot"]).text();
    assert!(why.contains("now /usr/bin/env, before sh"), "{why}");
}

/// W14: an id that is more than a plain word is refused, and so is a session for a run without a unit.
#[test]
fn an_invalid_session_is_refused() {
    let project = Project::of(&[("bot", AGENT)]);
    project.up();
    for id in ["", "--help", "a b", "$(touch x)", "a;b", "../x"] {
        let answer = learn(&project, "bot", json!(id));
        assert_eq!(answer["error"]["code"], "INVALID_REQUEST", "{id:?}: {answer}");
    }
    let run = project.home.start(&[], &["sleep", "1000"]);
    for of in ["nobody", &run, "01a1e482-9165-75ad-bdba-f05e5ff2deaa"] {
        let answer = learn(&project, of, json!("s-1"));
        assert_eq!(answer["error"]["code"], "NOT_FOUND", "{of}: {answer}");
    }
}

/// W14: an acknowledged session is on disk, also if the supervisor dies then.
#[test]
fn an_acknowledged_session_is_on_disk() {
    let project = Project::of(&[("bot", AGENT)]);
    project.up();
    for number in 0..5 {
        let session = format!("s-{number}");
        learned(&project, "bot", &session);
        crate::daemon::setup::replace_supervisor(&project.home);
        assert_eq!(project.view("bot")["agentSession"], json!(session));
    }
}
