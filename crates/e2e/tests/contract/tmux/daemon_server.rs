//! The daemon's own tmux server belongs to no file, and no file can change it.

use crate::patrol::setup::{AgentBackend, Town, WAITS};
use crate::tmux::setup::{AGAIN, IDLE, SERVER, Tmux, unit};
use crate::units::setup::Project;
use ostler_e2e::{Output, Process, Signal, eventually};
use std::path::{Path, PathBuf};

/// Another file of the same home, with another environment.
fn second(project: &Project, text: &str) -> PathBuf {
    let folder = project.home.folder().join("second");
    std::fs::create_dir_all(&folder).expect("a folder");
    let (name, value) = project.home.variable().split_once('=').map(own).expect("a variable");
    let file = folder.join("ostler.toml");
    let text = format!("[defaults]\nenv.{name} = \"{value}\"\n\n{text}");
    std::fs::write(&file, text).expect("written");
    file
}

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn call(project: &Project, verb: &str, file: &Path) -> Output {
    let mut command = project.home.command(&[verb, "-f", file.to_str().expect("text")]);
    command.env("TMUX_TMPDIR", "/tmp").env("XDG_CONFIG_HOME", "/tmp").env("COLORTERM", "never");
    project.home.spawn_program(command).finish()
}

/// D12: up, reload and down of another file, with another environment, restart and end no agent of the first.
#[test]
fn a_second_file_touches_no_agent_of_the_first() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(IDLE, AGAIN))]);
    let project = &tmux.project;
    let plan = project.up().text();
    assert!(!plan.contains(SERVER), "the server is in no file's plan: {plan}");
    let (agent, server) = (project.process("a"), project.process(SERVER));
    let untouched = || {
        assert!(agent.is_alive() && server.is_alive());
        assert_eq!(project.process(SERVER), server);
    };
    let file = second(project, &format!("[units.b]\n{}\n", unit(IDLE, AGAIN)));
    let plan = call(project, "up", &file).ok().text();
    assert!(!plan.contains(SERVER) && !plan.contains("restart"), "{plan}");
    assert_eq!(tmux.sessions(), ["ostler-a", "ostler-b"]);
    untouched();
    assert!(!call(project, "reload", &file).ok().text().contains(SERVER));
    project.up();
    untouched();
    let plan = call(project, "down", &file).ok().text();
    assert_eq!(plan.trim(), "- remove   b");
    untouched();
    assert_eq!(project.call(&["down"]).ok().text().trim(), "- remove   a");
    assert!(!agent.is_alive() && server.is_alive(), "the server ends with the daemon only");
    project.home.stop();
    assert!(!server.is_alive());
}

/// D12: the server starts when the first unit needs it, and not with the daemon.
#[test]
fn the_server_starts_when_it_is_first_needed() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("plain", "command = [\"sleep\", \"1000\"]")]);
    let project = &tmux.project;
    project.up();
    assert!(project.find(SERVER).is_none());
    project.declare(&[("a", &unit(IDLE, AGAIN))]);
    project.up();
    assert_eq!(project.state(SERVER), "ready");
    project.call(&["stop", "a"]).ok();
    project.home.stop();
    project.call(&["start"]).ok();
    assert_eq!(project.state(SERVER), "stopped", "no unit needs it");
    project.call(&["start", "a"]).ok();
    assert_eq!(project.state(SERVER), "ready");
}

/// D12: the server is listed with --all, and by name; stopping it alone is refused with the remedy.
#[test]
fn the_server_is_listed_and_not_stopped_by_name() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(IDLE, AGAIN))]);
    let project = &tmux.project;
    project.up();
    let (agent, server) = (project.process("a"), project.process(SERVER));
    assert!(!project.call(&["ls"]).ok().text().contains(SERVER));
    assert!(project.call(&["ls", "--all"]).ok().text().contains(SERVER));
    let status = project.call(&["status", SERVER]).ok().text();
    assert!(status.contains("part of the daemon: always restarted"), "{status}");
    for words in [["stop", SERVER], ["down", SERVER]] {
        let refused = project.call(&words);
        assert_eq!(refused.code, 2, "{words:?}");
        assert!(refused.stderr.contains("ends with it"), "{}", refused.stderr);
    }
    assert!(agent.is_alive() && server.is_alive());
    server.signal(Signal::KILL);
    eventually("an unhealthy one is in every table", || {
        project.call(&["ls"]).ok().text().contains(SERVER).then_some(())
    });
    project.next_process(SERVER, &server);
    project.next_process("a", &agent);
}

/// D12: a unit of a file may have the name tmux; it is another unit.
#[test]
fn a_unit_with_the_name_tmux_is_the_users_own() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(IDLE, AGAIN)), ("tmux", "command = [\"sleep\", \"1000\"]")]);
    let project = &tmux.project;
    project.up();
    let (own, server) = (project.process("tmux"), project.process(SERVER));
    assert_ne!(own, server);
    project.call(&["stop", "tmux"]).ok();
    assert!(!own.is_alive() && server.is_alive() && project.process("a").is_alive());
}

/// D13: five kills within a minute, of the patrol and of the server: both are restarted, without a breaker.
#[test]
fn parts_of_ostler_have_no_breaker() {
    ostler_e2e::needs!("tmux");
    let town = Town::new(AgentBackend::Tmux, "", &[("agent", WAITS)]);
    town.up();
    let project = &town.project;
    let parts = ["patrol", SERVER];
    let mut alive: Vec<Process> = parts.iter().map(|part| project.process(part)).collect();
    for kill in 1..=5 {
        alive.iter().for_each(|process| process.signal(Signal::KILL));
        for part in parts {
            let view = project.until(part, "noticed", |view| {
                view["ends"].as_array().is_some_and(|ends| ends.len() == kill)
            });
            assert_ne!(view["state"], "error", "kill {kill}: {view:#}");
            let then = view["ends"][0]["then"].as_str().unwrap_or_default();
            assert!(then.contains("always restarted"), "{view:#}");
        }
        if kill < 5 {
            let again = |(part, last)| project.next_process(part, last);
            alive = parts.into_iter().zip(&alive).map(again).collect();
        }
    }
    for part in parts {
        let why = project.call(&["why", part]).ok().text();
        assert!(why.contains("a part of Ostler, always restarted"), "{why}");
    }
}
