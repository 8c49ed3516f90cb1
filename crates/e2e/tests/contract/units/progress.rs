//! X2: the progress of units while a command waits for them at a terminal.

use crate::units::setup::Project;
use ostler_e2e::{Terminal, eventually};

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";
/// Ready when the file `go` exists.
const SLOW: &str = "command = \"while ! test -e go; do sleep 0.02; done; echo up; exec sleep 1000\"\n\
                    ready = { line = \"^up$\" }";
/// Exits only when the file `go` exists, also after TERM. The next copy needs another.
const DEAF: &str = "command = \"trap '' TERM; echo up; while ! test -e go; do sleep 0.02; done; rm go\"\n\
                    ready = { line = \"^up$\" }\nstop = { grace = \"60s\" }";

fn shown(project: &Project, arguments: &[&str], columns: u16, rows: u16) -> Terminal {
    let mut command = project.home.command(arguments);
    command.current_dir(project.folder());
    Terminal::start(command, columns, rows)
}

fn go(project: &Project) {
    std::fs::write(project.path("go"), "").expect("written");
}

/// Waits until the screen has this, and checks that the progress lines are gone.
#[track_caller]
fn ends_as(terminal: Terminal, last: &str, meanwhile: &str) -> String {
    let picture = terminal.until_on_screen(last);
    assert!(!picture.contains(meanwhile), "still there: {meanwhile:?}\n{picture}");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown:?}");
    picture
}

/// X2: a line for each unit, redrawn in its place, until the result replaces it.
#[test]
fn up_shows_its_progress() {
    let project = Project::of(&[("db", SLOW), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    let terminal = shown(&project, &["up"], 80, 24);
    let picture = terminal.until_on_screen("web  waiting for db");
    assert!(picture.starts_with("using ") && picture.contains("\ndb   starting "), "{picture}");
    let later = eventually("the line is redrawn", || {
        let later = terminal.screen();
        (later.contains("waiting for db") && later != picture).then_some(later)
    });
    assert_eq!(later.lines().count(), 3, "in its place, below the file's: {later}");
    assert!(terminal.until_shown("\x1b[33mstarting").contains("\x1b[33mwaiting for db\x1b[0m"));
    go(&project);
    let picture = ends_as(terminal, "web: ready, pid ", "waits for");
    assert!(picture.contains("\n+ add      db\n+ add      web\ndb: ready, pid "), "{picture}");
}

/// X2: the same for each command that waits; no colours with NO_COLOR.
#[test]
fn every_command_that_waits_shows_its_progress() {
    let project = Project::of(&[("deaf", DEAF)]);
    project.up();
    for (verb, last) in [
        (&["restart", "deaf"][..], "deaf: ready, pid "),
        (&["stop", "deaf"], "deaf: stopped"),
        (&["reload"], "deaf: ready, pid "),
        (&["down"], "- remove   deaf"),
    ] {
        if verb == ["reload"] {
            project.up();
            project.declare(&[("deaf", &format!("{DEAF}\nenv.NEW = \"1\""))]);
        }
        let mut command = project.home.command(verb);
        command.current_dir(project.folder()).env("NO_COLOR", "1");
        let terminal = Terminal::start(command, 80, 24);
        let shown = terminal.until_shown("deaf  stopping ");
        assert!(!shown.contains("\x1b[33m"), "{verb:?}: {shown:?}");
        go(&project);
        ends_as(terminal, last, "stopping");
    }
}

/// X2: `start` shows the progress, also of a start that another command requested.
#[test]
fn start_shows_its_progress() {
    let project = Project::of(&[("db", SLOW)]);
    project.call(&["up", "--no-wait"]).ok();
    let terminal = shown(&project, &["start", "db"], 80, 24);
    terminal.until_on_screen("db  starting ");
    go(&project);
    ends_as(terminal, "db: ready, pid ", "starting");
}

/// X2: if the lines do not fit, there is one line for all units, and the screen does not scroll.
#[test]
fn many_units_share_one_line() {
    let names: Vec<String> = (10..40).map(|number| format!("unit{number}")).collect();
    let mut units: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), SLEEP)).collect();
    units.push(("zeta", SLOW));
    let project = Project::of(&units);
    let terminal = shown(&project, &["up"], 60, 31);
    let picture = terminal.until_on_screen("30 of 31 ready, waiting for: zeta");
    assert_eq!(picture.trim_end().lines().count(), 2, "below the file's: {picture}");
    go(&project);
    ends_as(terminal, "zeta: ready, pid ", "waiting for");
}

/// X2: a smaller window is redrawn correctly.
#[test]
fn a_smaller_window_is_redrawn() {
    let project = Project::of(&[("db", SLOW), ("web", &format!("{SLEEP}\ndepends_on = [\"db\"]"))]);
    let terminal = shown(&project, &["up"], 80, 24);
    terminal.until_on_screen("web  waiting for db");
    terminal.resize(12, 2);
    terminal.until_shown("0 of 2 rea…");
    go(&project);
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown:?}");
}

/// X2: no progress without a terminal.
#[test]
fn without_a_terminal_no_progress_is_shown() {
    let project = Project::of(&[("db", SLOW)]);
    let waiting = project.spawn(&["up"]);
    project.until_state("db", "starting");
    go(&project);
    let output = waiting.finish().ok();
    assert_eq!(output.stderr, "", "{output:?}");
    assert!(!output.text().contains('\x1b'), "{output:?}");
}
