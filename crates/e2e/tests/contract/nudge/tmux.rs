//! Nudges into panes of tmux.

use crate::nudge::setup::{Kept, Town};
use crate::units::setup::Project;
use ostler_e2e::{Home, Output, eventually, helper};
use serde_json::Value;
use std::path::Path;

fn tmux(home: &Home, socket: &Path, arguments: &[&str]) -> Output {
    let mut command = home.program("tmux");
    command.env_remove("TMUX").env("TERM", "xterm").arg("-S").arg(socket).args(arguments);
    home.spawn_program(command).finish()
}

/// The daemon's own tmux server and session.
pub fn in_town(town: &Town, verb: &str, rest: &[&str]) -> Output {
    let spec: Value = town.project.view("agent")["tmux"].clone();
    let session = format!("={}:", spec["session"].as_str().expect("a session"));
    let socket = spec["socket"].as_str().expect("a socket").to_owned();
    let arguments = [&[verb, "-t", &session], rest].concat();
    tmux(&town.project.home, Path::new(&socket), &arguments)
}

/// P9: copy mode does not prevent a text; it is left first.
#[test]
fn copy_mode_is_left() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(Kept::Tmux, &["paste"]);
    in_town(&town, "copy-mode", &[]).ok();
    let mode =
        |town: &Town| in_town(town, "display-message", &["-p", "#{pane_in_mode}"]).ok().text();
    assert_eq!(mode(&town).trim(), "1");
    town.nudge(&["hello"]).ok();
    town.until_received("hello");
    assert_eq!(mode(&town).trim(), "0");
}

/// P9: a text is not delivered if its session is killed meanwhile, and the receipt says so.
#[test]
fn a_text_is_not_delivered_if_its_session_is_killed_meanwhile() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(Kept::Tmux, &["blind"]);
    let speaking =
        town.project.spawn(&["nudge", "agent", "--mode", "immediate", "--json", "hello"]);
    let note = town.project.home.file("nudges/agent.typing");
    eventually("a text is being typed", || note.exists().then_some(()));
    in_town(&town, "kill-session", &[]).ok();
    let answer = speaking.finish();
    assert_eq!(
        (answer.code, answer.json()["receipt"].as_str()),
        (1, Some("refused")),
        "{answer:?}"
    );
    assert!(town.received().is_empty());
}

/// P9, R10: a line that a person has begun is not sent with a nudge's text.
#[test]
fn a_line_that_a_person_has_begun_is_not_sent() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(Kept::Tmux, &["paste"]);
    in_town(&town, "send-keys", &["-l", "half a line"]).ok();
    eventually("the line is shown", || {
        let screen = in_town(&town, "capture-pane", &["-p"]).ok().text();
        screen.contains("half a line").then_some(())
    });
    let answer = town.nudge(&["--mode", "immediate", "hello"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.stderr.contains("begun"), "{answer:?}");
    in_town(&town, "send-keys", &["-l", " and the rest"]).ok();
    in_town(&town, "send-keys", &["Enter"]).ok();
    town.until_received("half a line and the rest");
    town.nudge(&["hello"]).ok();
    town.until_received("hello");
}

/// P9: a foreign session is typed into only with the option for it, and a pane whose program is dead never.
#[test]
fn a_foreign_session_is_typed_into_only_on_request() {
    ostler_e2e::needs!("tmux");
    let project = Project::new();
    let (home, socket) = (&project.home, project.home.folder().join("theirs"));
    let record = project.path("record");
    let program = format!("exec {} {record} paste", helper!("prompt"));
    tmux(home, &socket, &["-f", "/dev/null", "new-session", "-d", "-s", "agent", &program]).ok();
    tmux(home, &socket, &["set-option", "-g", "remain-on-exit", "on"]).ok();
    let body = format!(
        "command = [\"sleep\", \"600\"]\nbackend = \"tmux\"\nsession = \"agent\"\ntmux = {socket:?}\nrestart = {{ when = \"never\" }}"
    );
    project.declare(&[("agent", &body)]);
    project.call(&["up", "--no-wait"]);
    project
        .until("agent", "not running", |view| view["runId"].is_null() && view["state"] == "error");
    let answer = project.call(&["nudge", "agent", "hello"]);
    assert_eq!(answer.code, 3, "{answer:?}");
    eventually("it is delivered", || {
        (project.call(&["nudge", "agent", "--foreign", "hello"]).code == 0).then_some(())
    });
    let received = eventually("the text is received", || std::fs::read_to_string(&record).ok());
    assert_eq!(received, "\"hello\"\n");
    let pid =
        tmux(home, &socket, &["display-message", "-p", "-t", "=agent:", "#{pane_pid}"]).ok().text();
    let process = ostler_e2e::Process::find(pid.trim().parse().expect("a pid"))
        .expect("the program is running");
    process.signal(ostler_e2e::Signal::KILL);
    process.wait_gone();
    eventually("the pane is dead", || {
        let answer = project.call(&["nudge", "agent", "--foreign", "hello"]);
        (answer.code == 3).then_some(())
    });
    tmux(home, &socket, &["kill-server"]).ok();
}

/// P9: a terminal that accepts at most 4095 bytes of a line cuts the rest: the text is not sent then.
#[test]
fn a_text_that_the_kernel_cuts_is_not_sent() {
    for backend in ["tmux", "pty"] {
        let project = Project::new();
        let kept = project.path("kept");
        project.declare(&[(
            "agent",
            &format!("command = [\"sh\", \"-c\", \"exec cat > {kept}\"]\nbackend = {backend:?}"),
        )]);
        project.up();
        let say = |text: &str| project.call(&["nudge", "agent", "--mode", "immediate", text]);
        // A program that has drawn nothing yet gets time.
        project.call(&["nudge", "agent", "first"]).ok();
        let answer = say(&"too long ".repeat(700));
        assert_eq!(answer.code, 1, "{backend}: {answer:?}");
        say("then").ok();
        eventually("both texts arrived", || {
            let kept = std::fs::read_to_string(&kept).unwrap_or_default();
            (kept == "first\nthen\n").then_some(())
        });
    }
}
