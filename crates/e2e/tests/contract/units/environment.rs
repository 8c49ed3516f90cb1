//! What a unit is started with: its variables, its folder, its terminal; and units that are in no file.

use crate::units::setup::Project;
use ostler_e2e::{Process, Terminal, eventually};

fn environment(process: &Process) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{}/environ", process.pid)).expect("its environment");
    let entries = bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries.map(|entry| String::from_utf8_lossy(entry).into_owned()).collect()
}

fn folder(process: &Process) -> std::path::PathBuf {
    std::fs::read_link(format!("/proc/{}/cwd", process.pid)).expect("its folder")
}

/// X1: a variable of the caller reaches a unit only if it is named, or harmless.
#[test]
fn a_variable_that_is_not_named_does_not_reach_a_unit() {
    let project = Project::with(&[("E2E_TOKEN", "s3cret-one"), ("E2E_NAMED", "named-one")]);
    let body = "command = [\"sleep\", \"1000\"]";
    let named = format!("{body}\ninherit_env = [\"PATH\", \"E2E_NAMED\", \"E2E_ABSENT\"]");
    project.declare(&[("plain", body), ("named", &named)]);
    project.up();
    let plain = environment(&project.process("plain"));
    assert!(plain.iter().any(|entry| entry.starts_with("PATH=")), "{plain:?}");
    assert!(!plain.iter().any(|entry| entry.starts_with("E2E_TOKEN=")), "{plain:?}");
    assert!(!plain.iter().any(|entry| entry.starts_with("E2E_NAMED=")), "{plain:?}");
    let named = environment(&project.process("named"));
    assert!(named.contains(&"E2E_NAMED=named-one".to_owned()), "{named:?}");
    assert!(!named.iter().any(|entry| entry.starts_with("E2E_TOKEN=")), "{named:?}");
    assert!(!named.iter().any(|entry| entry.starts_with("HOME=")), "only what is named: {named:?}");
    // It is not stored anywhere either.
    for entry in std::fs::read_dir(project.home.path()).expect("a home").flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        let found = bytes.windows(10).any(|window| window == b"s3cret-one");
        assert!(!found, "{}", entry.path().display());
    }
}

/// X1: a program on Ostler's terminal gets TERM, unless the unit sets it.
#[test]
fn a_program_on_a_terminal_gets_term() {
    let project = Project::with(&[("TERM", "")]);
    let body = "command = [\"sleep\", \"1000\"]\nbackend = \"pty\"";
    let own = format!("{body}\nenv.TERM = \"vt100\"");
    project.declare(&[
        ("plain", body),
        ("own", &own),
        ("piped", "command = [\"sleep\", \"1000\"]"),
    ]);
    project.up();
    let kinds = |name: &str| {
        let all = environment(&project.process(name));
        all.into_iter().filter(|entry| entry.starts_with("TERM=")).collect::<Vec<_>>()
    };
    assert_eq!(kinds("plain"), ["TERM=xterm-256color"]);
    assert_eq!(kinds("own"), ["TERM=vt100"]);
    assert!(kinds("piped").iter().all(|kind| kind == "TERM="), "{:?}", kinds("piped"));
}

/// X2: inherited variables keep their values when a unit is restarted after a crash of the daemon.
#[test]
fn inherited_variables_are_kept() {
    let mut project = Project::with(&[crate::daemon::setup::QUICK, ("E2E_NAMED", "first")]);
    let body = format!(
        "command = [\"sleep\", \"1000\"]\ninherit_env = [\"PATH\", \"E2E_NAMED\"]\n{}",
        crate::units::setup::AT_ONCE
    );
    project.declare(&[("a", &body)]);
    project.up();
    let old = project.process("a");
    project.home.set("E2E_NAMED", "second");
    crate::daemon::setup::replace_supervisor(&project.home);
    project.until_state("a", "ready");
    let old = {
        project.crash("a");
        old
    };
    let new = project.next_process("a", &old);
    assert!(environment(&new).contains(&"E2E_NAMED=first".to_owned()));
    // A difference in inherited variables alone is no change.
    assert!(project.up().text().contains("= keep"));
    assert_eq!(project.process("a"), new);
    project.call(&["restart", "a"]).ok();
    assert!(environment(&project.process("a")).contains(&"E2E_NAMED=second".to_owned()));
}

/// X2: `env` goes before `env_file`; a change in the file's content is a change of the unit.
#[test]
fn variables_come_from_a_file_and_from_the_unit() {
    let project = Project::new();
    std::fs::create_dir(project.folder().join("etc")).expect("a folder");
    let file = project.folder().join("etc/vars");
    std::fs::write(&file, "# a remark\nONE=1\nexport TWO=\"two words\"\nTHREE=from the file\n")
        .expect("written");
    let body = "command = [\"sleep\", \"1000\"]\nenv_file = \"etc/vars\"\nenv.THREE = \"3\"";
    project.declare(&[("a", body)]);
    project.up();
    let old = project.process("a");
    let known = environment(&old);
    for entry in ["ONE=1", "TWO=two words", "THREE=3", "E2E_UNIT=a"] {
        assert!(known.contains(&entry.to_owned()), "{entry}: {known:?}");
    }
    std::fs::write(&file, "ONE=2\n").expect("written");
    project.call(&["reload"]).ok();
    let new = project.process("a");
    assert_ne!(new, old);
    assert!(environment(&new).contains(&"ONE=2".to_owned()));
}

/// X2: a folder is relative to the file, independent of the working directory of `up`.
#[test]
fn its_folder_is_relative_to_the_file() {
    let project = Project::new();
    let inner = project.folder().join("inner");
    std::fs::create_dir(&inner).expect("a folder");
    let body = "command = [\"sleep\", \"1000\"]";
    project.declare(&[("a", body), ("b", &format!("{body}\ncwd = \"inner\""))]);
    let mut up = project.home.command(&["up"]);
    up.current_dir(&inner);
    project.home.spawn_program(up).finish().ok();
    let mut elsewhere = project.home.command(&["up", "-f", project.file().to_str().expect("text")]);
    elsewhere.current_dir("/");
    let output = project.home.spawn_program(elsewhere).finish().ok().text();
    assert_eq!(output.matches("= keep").count(), 2, "{output}");
    assert_eq!(folder(&project.process("a")), project.folder());
    assert_eq!(folder(&project.process("b")), inner);
}

/// X2: a shell line that is a single program is a single process.
#[test]
fn a_shell_line_with_one_program_leaves_no_shell() {
    let project = Project::of(&[("a", "command = \"sleep 1000\"")]);
    project.up();
    let process = project.process("a");
    eventually("the shell has executed the program", || {
        (process.command() == "sleep 1000").then_some(())
    });
}

/// X2, X4: a unit in no file is kept running like any other, and stopped permanently like any other.
#[test]
fn a_unit_in_no_file_is_kept() {
    let project = Project::new();
    let marker = project.home.variable();
    let words = ["env", &marker, "E2E_UNIT=bot", "sleep", "1000"];
    project.call(&[&["start", "--name", "bot", "--"], &words[..]].concat()).ok();
    let old = project.crash("bot");
    let new = project.next_process("bot", &old);
    assert_eq!(folder(&new), project.folder());
    // `up` with a file does not affect it.
    project.declare(&[("a", "command = [\"sleep\", \"1000\"]")]);
    project.up();
    assert_eq!(project.process("bot"), new);
    // The same again is no change; another command is.
    project.call(&[&["start", "--name", "bot", "--"], &words[..]].concat()).ok();
    assert_eq!(project.process("bot"), new);
    project
        .call(&["start", "--name", "bot", "--", "env", &marker, "E2E_UNIT=bot", "sleep", "2000"])
        .ok();
    assert!(project.process("bot").command().contains("2000"));
    assert_eq!(project.copies_of("bot"), 1);
    project.call(&["stop", "bot"]).ok();
    crate::daemon::setup::replace_supervisor(&project.home);
    project.until_state("a", "ready");
    assert_eq!(project.state("bot"), "stopped");
    project.call(&["start", "bot"]).ok();
    assert_eq!(project.copies_of("bot"), 1);
}

/// X1: an invalid name is an error before anything is started.
#[test]
fn an_invalid_unit_name_is_an_error() {
    let project = Project::new();
    for name in ["", "-x", "a b", "a\nb", "\u{1b}[31m"] {
        let name = format!("--name={name}");
        let output = project.call(&["start", &name, "--", "sleep", "1000"]);
        assert_eq!(output.code, 2, "{name:?}: {output:?}");
    }
    assert_eq!(project.home.processes(), []);
}

/// X2: a unit on a terminal is attached to by its name, and restarted on a terminal of its own.
#[test]
fn a_unit_on_a_terminal_is_attached_to_by_its_name() {
    let body = format!(
        "backend = \"pty\"\ncommand = [\"sh\", \"-c\", \"echo ready; while read x; do echo \\\"<$x>\\\"; done\"]\nready = {{ line = \"ready\" }}\n{}",
        crate::units::setup::AT_ONCE
    );
    let project = Project::of(&[("coder", &body)]);
    project.up();
    for _ in 0..2 {
        let mut terminal = Terminal::start(project.home.command(&["attach", "coder"]), 80, 24);
        terminal.until_shown("ready");
        terminal.keys(b"hello\r");
        terminal.until_shown("<hello>");
        terminal.keys(b"\x1d");
        assert_eq!(terminal.finish().0, Some(0));
        let old = project.crash("coder");
        project.next_process("coder", &old);
    }
    let log = project.call(&["logs", "coder"]).ok().text();
    assert!(log.contains("ready"), "{log}");
}
