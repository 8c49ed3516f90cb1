//! Units when the daemon itself is stopped or restarted.

use crate::daemon::setup::Daemon;
use crate::units::setup::Project;
use ostler_e2e::eventually;

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";

/// D4, X2: `stop` names the unit of a unit's run, and prints the id of any other run.
#[test]
fn stop_calls_units_by_their_names() {
    let stubborn = "command = \"trap '' TERM; echo up; while :; do sleep 0.05; done\"\n\
                    ready = { line = \"up\" }\nstop = { grace = \"100ms\" }";
    let project = Project::of(&[("web", SLEEP), ("deaf", stubborn)]);
    project.up();
    let run = project.home.start(&[], &["sleep", "1000"]);
    let output = project.call(&["stop"]).ok().text();
    let begins = |text: &str| output.lines().any(|line| line.starts_with(text));
    assert!(begins("web: stopped, SIGTERM after "), "{output}");
    assert!(begins("deaf: stopped, SIGKILL after "), "{output}");
    assert!(begins(&format!("{run} exited: manual-cancel, SIGTERM after ")), "{output}");
    assert!(output.contains("3 runs ended, 1 of them by SIGKILL"), "{output}");
    assert_eq!(output.lines().count(), 4, "a line for each, and a summary: {output}");
}

/// D4, X4: `restart` without a name is `stop` and `start` of the daemon: wanted units are started again, units that were
/// stopped by name stay stopped, and no earlier run is left.
#[test]
fn restart_without_a_name_is_the_daemon() {
    let project = Project::of(&[("web", SLEEP), ("idle", SLEEP)]);
    project.up();
    project.call(&["stop", "idle"]).ok();
    let run = project.home.start(&[], &["sleep", "1000"]);
    let (web, other) = (project.process("web"), project.home.root(&run));
    let before = Daemon::of(&project.home);
    let output = project.call(&["restart"]).ok().text();
    assert!(output.contains("web: stopped, SIGTERM after "), "{output}");
    assert!(output.contains("\nstarted\nDaemon:  running\n"), "{output}");
    let old = [&before.guardian, &before.supervisor, &web, &other];
    assert!(old.iter().all(|process| !process.is_alive()), "{old:?}");
    assert_ne!(project.until_state("web", "ready")["pid"], web.pid);
    assert_eq!(project.state("idle"), "stopped");
    let document = project.call(&["restart", "--json"]).ok();
    assert_eq!(document.text().lines().count(), 1, "{document:?}");
    assert_eq!(document.json()["running"], true);
}

/// D4, X1: without a daemon, `restart` starts one; `--no-wait` is accepted for units only.
#[test]
fn restart_starts_a_daemon_if_none_runs() {
    let project = Project::new();
    let output = project.call(&["restart"]).ok().text();
    assert!(output.starts_with("started\n"), "{output}");
    let wrong = project.call(&["restart", "--no-wait"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("<NAMES|--all>"), "{wrong:?}");
}

/// D4, D11: a daemon that systemd manages is left to systemd.
#[test]
fn restart_leaves_a_daemon_that_systemd_manages() {
    let project = Project::new();
    let mut bare = project.home.spawn_program(project.home.command(&["supervisor"]));
    eventually("the daemon answers", || {
        (project.call(&["--no-start", "runs"]).code == 0).then_some(())
    });
    let before = project.home.supervisor_pid();
    let refused = project.call(&["restart"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("systemctl --user restart"), "{refused:?}");
    assert_eq!(project.home.supervisor_pid(), before);
    assert!(!bare.is_over());
    project.call(&["stop"]).ok();
    bare.finish();
}
