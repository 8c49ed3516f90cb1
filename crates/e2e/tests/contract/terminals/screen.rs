//! Screens as text: of units and runs, on Ostler's terminal and in tmux.

use crate::daemon::setup::replace_supervisor;
use crate::tmux::setup::{Tmux, unit};
use crate::units::setup::Project;
use ostler_e2e::{Home, Terminal, eventually};
use serde_json::Value;

/// It draws over its earlier output, as a full-screen program does.
const DRAWS: &str = "printf 'go\\156e\\r\\n\\033]2;the title\\007\\033[2J\\033[Hready \\033[1mnow\\033[0m\\r\\n\\r\\n> \\033[2mtry it\\033[0m\\033[3;3H'; exec sleep 1000";

fn on_terminal(script: &str) -> String {
    unit(script, "").replace("\"tmux\"", "\"pty\"")
}

#[track_caller]
fn until_shown(project: &Project, name: &str, text: &str) -> Value {
    eventually(&format!("{text:?} is on the screen of {name}"), || {
        let seen = project.call(&["screen", name, "--json"]);
        let seen = (seen.code == 0).then(|| seen.json())?;
        let lines = seen["lines"].as_array()?.iter();
        lines.filter_map(Value::as_str).any(|line| line.contains(text)).then_some(seen)
    })
}

#[track_caller]
fn shown(project: &Project) {
    let seen = until_shown(project, "a", "try it");
    assert_eq!(seen["lines"][0].as_str().map(str::trim_end), Some("ready now"), "{seen}");
    assert_eq!(seen["bright"][2].as_str().map(str::trim_end), Some(">"), "{seen}");
    assert_eq!((&seen["title"], &seen["unit"]), (&"the title".into(), &"a".into()));
    let size = (seen["columns"].as_u64(), seen["rows"].as_u64());
    assert_eq!(size, (Some(120), Some(30)), "{seen}");
    let cursor = &seen["cursor"];
    assert_eq!((cursor["row"].as_u64(), cursor["column"].as_u64()), (Some(2), Some(2)), "{seen}");
    let output = project.call(&["screen", "a"]).ok().text();
    assert_eq!(output, "ready now\n\n> try it\n", "as a person sees it");
    let run = project.view("a")["runId"].as_str().expect("a run").to_owned();
    assert_eq!(
        project.call(&["screen", &run[24..]]).ok().text(),
        output,
        "a run by a part of its id"
    );
    let status = project.call(&["status", "a"]).ok().text();
    assert!(status.ends_with("\nready now\n\n> try it\n"), "{status}");
    assert!(!status.contains("gone"), "{status}");
    let status = project.call(&["status", "a", "--json"]).ok().json();
    assert_eq!(status[0]["screen"]["title"], "the title", "{status}");
}

/// T1: `screen` prints what a person would see; `status` shows its last lines; also after the supervisor died.
#[test]
fn a_screen_is_shown_as_text_pty() {
    let project = Project::of(&[("a", &on_terminal(DRAWS))]);
    project.up();
    shown(&project);
    replace_supervisor(&project.home);
    shown(&project);
}

/// T1: the same in tmux.
#[test]
fn a_screen_is_shown_as_text_tmux() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(DRAWS, ""))]);
    tmux.project.up();
    shown(&tmux.project);
    replace_supervisor(&tmux.project.home);
    shown(&tmux.project);
}

/// T1: in tmux the screen has the size of the attached client, and is redrawn with it.
#[test]
fn a_screen_in_tmux_has_the_size_of_the_attached_client() {
    ostler_e2e::needs!("tmux");
    let script = "draw() { printf '\\033[2J\\033[H%s\\r\\n' \"$(stty size)\"; printf '%0*d' $(stty size | cut -d' ' -f2) 0; }; \
                  trap draw WINCH; draw; while :; do sleep 0.05; done";
    let tmux = Tmux::of(&[("a", &unit(script, ""))]);
    let project = &tmux.project;
    project.up();
    until_shown(project, "a", "30 120");
    let mut terminal = Terminal::start(project.home.command(&["attach", "a"]), 70, 21);
    terminal.until_on_screen("70");
    let seen = until_shown(project, "a", " 70");
    let rows = seen["rows"].as_u64().expect("a number");
    assert_eq!((seen["columns"].as_u64(), rows <= 21), (Some(70), true), "{seen}");
    // A line as wide as the screen is one line.
    eventually("the screen is redrawn", || {
        let seen = project.call(&["screen", "a"]).ok().text();
        (seen.lines().count() == 2 && seen.lines().nth(1)?.len() == 70).then_some(())
    });
    replace_supervisor(&project.home);
    until_shown(project, "a", " 70");
    terminal.keys(b"\x02d");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
}

/// T1: a flood through tmux ends with the same screen as on the terminal.
#[test]
fn a_flood_in_tmux_is_drawn_to_its_end() {
    ostler_e2e::needs!("tmux");
    let script = "head -c 9000000 /dev/zero | tr '\\\\0' 'x' | fold -w 100; printf '\\033[2J\\033[Hthe end'; exec sleep 1000";
    let tmux = Tmux::of(&[("a", &unit(script, ""))]);
    tmux.project.up();
    until_shown(&tmux.project, "a", "the end");
    assert_eq!(tmux.project.call(&["screen", "a"]).ok().text(), "the end\n");
}

/// T1, X1: no terminal, not running, unknown: each is an error with its code; `screen` starts no daemon.
#[test]
fn runs_without_a_screen_are_errors() {
    let project = Project::of(&[
        ("piped", "command = [\"sleep\", \"1000\"]"),
        (
            "gone",
            &on_terminal("echo once; exit 0")
                .replace("\"pty\"", "\"pty\"\nrestart = { when = \"never\" }"),
        ),
    ]);
    let refused = project.call(&["screen", "piped"]);
    assert_eq!(refused.code, 3, "no daemon: {}", refused.stderr);
    assert!(project.home.supervisor().is_none(), "`screen` starts no daemon");
    project.call(&["up"]);
    project.until_state("gone", "done");
    for (name, code, description) in [
        ("piped", 1, "piped has no terminal; `ostler logs piped`"),
        ("gone", 3, "see its output with `ostler logs gone`"),
        ("pipe", 4, "did you mean piped?"),
    ] {
        let refused = project.call(&["screen", name]);
        assert_eq!(refused.code, code, "{name}: {}", refused.stderr);
        assert!(refused.stderr.contains(description), "{name}: {}", refused.stderr);
    }
    let status = project.call(&["status", "gone"]);
    assert!(status.text().contains(" once"), "its log: {}", status.text());
}

/// T1: an endless escape sequence costs no memory.
#[test]
fn an_endless_escape_sequence_costs_no_memory() {
    let home = Home::new();
    let script = "printf 'ready\\033]0;'; head -c 60000000 /dev/zero | tr '\\0' 'x'; printf '\\007done\\n'; exec sleep 900";
    let run = home.start_ready(&["--pty"], &["sh", "-c", script]);
    let seen = eventually("the output was read", || {
        let seen = home.ostler(&["screen", &run, "--json"]).ok().json();
        (seen["lines"][0] == "readydone").then_some(seen)
    });
    assert!(seen["title"].as_str().expect("text").len() <= 200, "{seen}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", home.supervisor_pid()));
    let status = status.expect("the supervisor is running");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < 50_000, "{peak} kB");
}
