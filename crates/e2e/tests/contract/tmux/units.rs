//! A unit in tmux is a unit like any other: the same commands, ends and records.

use crate::tmux::setup::{AGAIN, IDLE, SERVER, Tmux, unit};
use ostler_e2e::{Process, Terminal, eventually};

/// P7: up, ls, logs, why, restart, stop, start, down: one session, and nothing is left.
#[test]
fn a_session_has_the_life_of_a_unit() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(IDLE, AGAIN))]);
    let project = &tmux.project;
    project.up();
    assert_eq!((project.state("a").as_str(), project.state(SERVER).as_str()), ("ready", "ready"));
    let first = project.process("a");
    assert!(first.arguments()[0].ends_with("sh"), "the agent's pid and not the shim's: {first:?}");
    assert_eq!(tmux.sessions(), ["ostler-a"]);
    tmux.session_of(&first);
    tmux.until_logged("a", "hello ");
    let run = project.view("a")["runId"].as_str().expect("a run").to_owned();
    let boundary = project.home.record(&run)["cgroup"].as_str().unwrap_or_default().to_owned();
    if !boundary.is_empty() {
        assert!(boundary.ends_with(&first.cgroup()) && first.cgroup().len() > 1, "{boundary}");
    }

    project.call(&["restart", "a"]).ok();
    let second = project.next_process("a", &first);
    assert!(!first.is_alive());
    assert_eq!(tmux.sessions(), ["ostler-a"]);

    project.call(&["stop", "a"]).ok();
    assert!(!second.is_alive());
    assert!(tmux.sessions().is_empty());
    assert!(
        project.call(&["logs", "a"]).text().contains("bye"),
        "it exited by itself, and was not killed"
    );
    let run = project.home.records().into_iter().rfind(|record| record["unit"] == "a");
    assert_eq!(run.expect("its record")["extinct"], "yes");
    tmux.until_extinct("a");
    project.call(&["start", "a"]).ok();
    project.until_state("a", "ready");

    project.call(&["down"]).ok();
    project.home.stop();
    let notes = std::fs::read_dir(project.home.file("tmux")).map_or(0, Iterator::count);
    assert_eq!(notes, 0, "no notes of it either");
    assert_eq!(tmux.private(&["list-sessions"]).code, 1, "the tmux server is gone");
}

/// P8: the journal has how it ended, and its log has all its output.
#[test]
fn ends_are_journaled_as_they_were() {
    ostler_e2e::needs!("tmux");
    let never = "restart = { when = \"never\" }";
    let tmux = Tmux::of(&[
        ("clean", &unit("seq 1 30000", never)),
        ("three", &unit("exit 3", never)),
        ("struck", &unit("kill -SEGV $$", never)),
        (
            "missing",
            "command = [\"no-such-program\"]\nbackend = \"tmux\"\nrestart = { when = \"never\" }",
        ),
    ]);
    let project = &tmux.project;
    project.call(&["up"]);
    let description = |unit: &str| {
        let view = project.until(unit, "ended", |view| !view["ends"][0].is_null());
        view["ends"][0]["description"].as_str().expect("text").to_owned()
    };
    assert_eq!(description("clean"), "exit 0");
    assert_eq!(description("three"), "exit 3");
    assert_eq!(description("struck"), "signal 11");
    assert_eq!(description("missing"), "exit 126");
    let why = project.call(&["why", "missing"]).text();
    assert!(why.contains("cannot execute \"no-such-program\""), "{why}");
    let log = project.call(&["logs", "clean"]).ok().text();
    let numbers: Vec<u32> = log.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert_eq!(numbers.len(), 30_000, "every line");
    assert!(numbers.iter().zip(1..).all(|(seen, wanted)| *seen == wanted), "in order");
    eventually("no session is left", || tmux.sessions().is_empty().then_some(()));
}

/// P8: the program has the declared variables, tmux's own, and of Ostler's only the run's id.
#[test]
fn its_environment_is_what_is_declared() {
    ostler_e2e::needs!("tmux");
    let script = "env | sort | sed 's/^/V:/'; ulimit -n; umask; pwd; sleep 1000";
    let more = "env.SECRET = \"it's #{x} 100%\"\nlimits = { fds = 321 }\ncwd = \"/\"";
    let tmux = Tmux::of(&[("a", &unit(script, more))]);
    tmux.project.up();
    let log = tmux.until_logged("a", "\n/");
    let names: Vec<&str> = log
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix("V:")?.split('=').next())
        .collect();
    for name in ["TERM", "TMUX_TMPDIR", "SECRET", "OSTLER_RUN_ID", "E2E_UNIT"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for name in ["OSTLER_TMUX", "NOTIFY_SOCKET", "TERM_PROGRAM", "TMUX", "TMUX_PANE"] {
        assert!(!names.contains(&name), "{name}: {names:?}");
    }
    assert!(log.contains("V:SECRET=it's #{x} 100%"), "{log}");
    assert!(log.contains("\n321"), "{log}");
    let shown = tmux.project.home.processes();
    let is_reported = |process: &Process| process.command().contains("100%");
    assert!(!shown.iter().any(is_reported), "on no command line: {shown:?}");
}

/// P8: a unit that ran before is resumed, and only that.
#[test]
fn a_unit_that_ran_before_is_resumed() {
    ostler_e2e::needs!("tmux");
    let more = format!("resume = [\"sh\", \"-c\", \"echo again; sleep 1000\"]\n{AGAIN}");
    let tmux = Tmux::of(&[("a", &unit("echo first; sleep 1000", &more))]);
    let project = &tmux.project;
    project.up();
    tmux.until_logged("a", "first");
    let old = project.process("a");
    project.call(&["restart", "a"]).ok();
    project.next_process("a", &old);
    let log = tmux.until_logged("a", "again");
    assert!(!log.contains("first"), "{log}");
}

/// P9: attach uses tmux's, and detaching leaves everything running; `write` refers to `nudge`.
#[test]
fn attach_goes_into_the_session() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(IDLE, ""))]);
    let project = &tmux.project;
    project.up();
    let process = project.process("a");
    let mut terminal = Terminal::start(project.home.command(&["attach", "a"]), 100, 30);
    terminal.until_on_screen("hello ");
    terminal.keys(b"\x02d");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("detached from a"), "{shown}");
    assert!(process.is_alive());
    let refused = project.call(&["write", "a", "--text", "x"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("ostler nudge a"), "{}", refused.stderr);
    let refused = project.call(&["attach", "a"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("ostler logs -f a"), "{}", refused.stderr);
    let mut inside = project.home.command(&["attach", "a"]);
    inside.env("TMUX", "/somewhere/else,1,0");
    let (code, shown) = Terminal::start(inside, 100, 30).finish();
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("inside another tmux"), "{shown}");
}
