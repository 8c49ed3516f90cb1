//! A run on a terminal, and the viewers attached to it.

use crate::setup::{Boundary, Setup};
use ostler_e2e::{Home, Terminal, helper};

/// Echoes each line in angle brackets.
const ECHO: &str = "stty -echo; echo ready; while read line; do echo \"<$line>\"; done; echo bye";

/// R13, R19: write, answer, end of file.
fn interactive(setup: Setup) {
    let home = setup.home();
    let options = setup.options(&["--stdin"]);
    let echo = if options.contains(&"--pty") { ECHO } else { &ECHO["stty -echo; ".len()..] };
    let run = home.start_ready(&options, &["sh", "-c", echo]);
    home.ostler(&["write", &run, "--text", "one\n"]).ok();
    home.until_logged(&run, "<one>");
    let written = home.ostler_with_input(&["write", "--json", &run], b"two\nthree\n").ok();
    assert_eq!(written.json()["written"], 10);
    home.until_logged(&run, "<three>");
    home.ostler(&["write", &run, "--eof", "--text", ""]).ok();
    let result = home.wait(&run);
    assert_eq!(result["termination"], "exit", "{result}");
    assert_eq!(result["exitCode"], 0);
    let log = home.ostler(&["logs", &run]).ok().text();
    let shown: Vec<_> = log.lines().map(str::trim_end).collect();
    assert_eq!(shown, ["ready", "<one>", "<two>", "<three>", "bye"]);
}

/// R13, R19
#[test]
fn pty_interactive_pty() {
    interactive(Setup::PTY);
}

/// R13, R19
#[test]
fn pty_interactive_pty_without_cgroup() {
    interactive(Setup::PTY_WITHOUT_CGROUP);
}

/// R13, R19: the same conversation through a pipe.
#[test]
fn pty_interactive_pipe() {
    interactive(Setup::PIPE);
}

/// R13
#[test]
fn a_terminal_is_120_by_30_unless_asked_otherwise() {
    let home = Home::new();
    let result = home.run(&["--pty"], &["sh", "-c", "stty size; echo $TERM; tty"]);
    let shown = result["stdout"].as_str().expect("text");
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(&lines[..2], ["30 120", "xterm-256color"], "{result}");
    assert!(lines[2].starts_with("/dev/pts/"), "{result}");
    let result = home.run(&["--pty", "--size", "90x20"], &["stty", "size"]);
    assert_eq!(result["stdout"], "20 90\r\n");
    let result = home.run(&["--pty", "--env", "TERM=vt100"], &["sh", "-c", "echo $TERM"]);
    assert_eq!(result["stdout"], "vt100\r\n");
    let result = home.run(&[], &["sh", "-c", "test -t 0 || test -t 1 || test -t 2; echo $?"]);
    assert_eq!(result["stdout"], "1\n", "no terminal without --pty");
}

/// R13: a later viewer sees the current screen, and both viewers see what follows.
#[test]
fn attach_shows_the_screen_at_once_to_several_viewers() {
    for boundary in [Boundary::Strongest, Boundary::WithoutCgroup] {
        let home = Setup { boundary, ..Setup::PTY }.home();
        let run = home.start_ready(&["--pty"], &["sh", "-c", ECHO]);
        home.ostler(&["write", &run, "--text", "before\n"]).ok();
        home.until_logged(&run, "<before>");
        let mut first = Terminal::start(home.command(&["attach", &run]), 100, 40);
        first.until_shown("<before>");
        let second = Terminal::start(home.command(&["attach", &run]), 80, 24);
        second.until_shown("<before>");
        let third = Terminal::start(home.command(&["attach", "--read-only", &run]), 80, 24);
        third.until_shown("<before>");
        first.keys(b"typed\r");
        for viewer in [&first, &second, &third] {
            viewer.until_shown("<typed>");
        }
        // Ctrl-] detaches, and the run goes on.
        first.keys(b"\x1d");
        let (code, shown) = first.finish();
        assert_eq!(code, Some(0), "{shown:?}");
        assert!(shown.contains("it continues"), "{shown:?}");
        assert_eq!(home.record(&run)["state"], "running");
        home.ostler(&["write", &run, "--text", "after\n"]).ok();
        second.until_shown("<after>");
        third.until_shown("<after>");
        home.cancel(&run);
        let (code, shown) = second.finish();
        assert_eq!(code, Some(0), "{shown:?}");
        assert!(shown.contains("manual-cancel"), "{shown:?}");
    }
}

/// R13: attach shows the current screen; overwritten text is not shown again.
#[test]
fn attach_shows_the_screen_and_not_the_history() {
    let home = Home::new();
    let script = r"printf 'gone'; printf '\033[2J\033[5;10Hpicture'; stty -echo; echo; cat";
    let run = home.start(&["--pty"], &["sh", "-c", script]);
    home.until_logged(&run, "picture");
    let viewer = Terminal::start(home.command(&["attach", &run]), 120, 30);
    let shown = viewer.until_shown("picture");
    assert!(!shown.contains("gone"), "{shown:?}");
    assert!(shown.contains("\x1b[5;10H") || shown.contains("picture"), "{shown:?}");
}

/// R13: the size is that of the viewer that attached or typed last.
#[test]
fn the_size_is_that_of_the_viewer_that_attached_or_typed_last() {
    let home = Home::new();
    let run = home.start_ready(&["--pty"], &[helper!("sizes")]);
    let mut first = Terminal::start(home.command(&["attach", &run]), 101, 41);
    first.until_shown("size 101x41");
    let second = Terminal::start(home.command(&["attach", &run]), 82, 25);
    second.until_shown("size 82x25");
    // The first viewer does not determine the size until it types.
    first.resize(103, 43);
    second.resize(84, 27);
    second.until_shown("size 84x27");
    first.keys(b"\r");
    first.until_shown("size 103x43");
    first.resize(105, 45);
    first.until_shown("size 105x45");
    first.keys(b"\x1d");
    first.finish();
    // It detached: the size is the other's again.
    ostler_e2e::eventually("the other viewer's size", || {
        let log = home.ostler(&["logs", &run]).ok().text();
        log.trim_end().ends_with("size 84x27").then_some(())
    });
    home.cancel(&run);
}

/// R13: `run --pty` in the foreground on a terminal: its keys, its size, Ctrl-C to the program, Ctrl-].
#[test]
fn the_foreground_on_a_terminal_is_the_programs_terminal() {
    let home = Home::new();
    let script = "trap 'echo caught' INT; stty size; echo ready; while :; do read line; echo \"<$line>\"; done";
    let arguments = ["run", "--pty", "--", "bash", "-c", script];
    let mut person = Terminal::start(home.command(&arguments), 97, 33);
    person.until_shown("33 97");
    person.until_shown("ready");
    person.keys(b"\x03");
    person.until_shown("caught");
    person.keys(b"hello\r");
    person.until_shown("<hello>");
    person.resize(98, 34);
    person.keys(b"\x1d");
    let (code, shown) = person.finish();
    assert_eq!(code, Some(0), "{shown:?}");
    let records = home.records();
    assert_eq!(records[0]["state"], "running", "the client detached, and the run goes on");
    let run = records[0]["runId"].as_str().expect("an id");
    let result = home.cancel(run);
    assert_eq!(result["extinct"], "yes", "{result}");
}

/// R13: another detach key; the terminal's settings are restored.
#[test]
fn the_detach_key_can_be_changed() {
    let home = Home::new();
    let run = home.start_ready(&["--pty"], &["sh", "-c", ECHO]);
    let script = format!(
        "stty -a > {0}/before; {1} attach --detach-key ctrl-a {2}; stty -a > {0}/after",
        home.folder().display(),
        Home::binary().display(),
        run
    );
    let mut shell = home.program("sh");
    shell.args(["-c", &script]);
    let mut person = Terminal::start(shell, 80, 24);
    person.until_shown("ready");
    person.keys(b"\x1d\r\x01");
    let (code, shown) = person.finish();
    assert_eq!(code, Some(0), "{shown:?}");
    let mode = |name: &str| std::fs::read_to_string(home.folder().join(name)).expect("a mode");
    assert_eq!(mode("before"), mode("after"));
    assert_eq!(home.record(&run)["state"], "running");
}

/// R13: a killed viewer does not affect the run.
#[test]
fn a_viewer_that_is_killed_changes_nothing() {
    let home = Home::new();
    let run = home.start_ready(&["--pty"], &["sh", "-c", ECHO]);
    let viewer = Terminal::start(home.command(&["attach", &run]), 80, 24);
    viewer.until_shown("ready");
    drop(viewer);
    home.ostler(&["write", &run, "--text", "still\n"]).ok();
    home.until_logged(&run, "<still>");
}

fn tmux(home: &Home, arguments: &[&str]) -> ostler_e2e::Output {
    let mut command = home.program("tmux");
    command.env("TERM", "xterm").arg("-S").arg(home.folder().join("tmux"));
    command.args(["-f", "/dev/null"]).args(arguments);
    home.spawn_program(command).finish()
}

/// A window of tmux that is attached to the run and shows `ready`.
fn window(home: &Home, run: &str) {
    let attach = format!("exec {} attach {run}", Home::binary().display());
    let started = tmux(home, &["new-session", "-d", "-x", "90", "-y", "22", &attach]);
    assert_eq!(started.code, 0, "{started:?}");
    ostler_e2e::eventually("tmux shows the screen", || {
        tmux(home, &["capture-pane", "-p"]).text().contains("ready").then_some(())
    });
}

/// R13: attach inside tmux.
#[test]
fn a_run_can_be_attached_to_in_tmux() {
    ostler_e2e::needs!("tmux");
    let home = Home::new();
    let run = home.start_ready(&["--pty"], &["sh", "-c", ECHO]);
    window(&home, &run);
    tmux(&home, &["send-keys", "from tmux", "Enter"]);
    home.until_logged(&run, "<from tmux>");
    tmux(&home, &["kill-server"]);
}

/// R13: closing a viewer's window neither cancels the run nor closes its input.
#[test]
fn a_window_that_is_closed_leaves_the_run_alone() {
    ostler_e2e::needs!("tmux");
    let home = Home::new();
    for _ in 0..10 {
        let run = home.start_ready(&["--pty"], &["sh", "-c", ECHO]);
        window(&home, &run);
        tmux(&home, &["kill-server"]);
        ostler_e2e::eventually("the viewer is gone", || {
            let viewers =
                home.processes().iter().any(|process| process.command().contains(" attach "));
            (!viewers).then_some(())
        });
        home.ostler(&["write", &run, "--text", "still here\n"]);
        ostler_e2e::eventually("the run answers, or has ended", || {
            let log = home.ostler(&["logs", &run]).text();
            (log.contains("<still here>") || log.contains("bye")).then_some(())
        });
        assert_eq!(home.record(&run)["state"], "running");
    }
}
