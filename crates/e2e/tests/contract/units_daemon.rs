//! Units when the daemon itself is stopped or restarted.

use crate::daemon::Daemon;
use crate::units::Project;
use ostler_e2e::eventually;

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";

/// D4, X2: `stop` says of a unit's run which unit it was, and of any other run its id.
#[test]
fn stop_calls_units_by_their_names() {
    let stubborn = "command = \"trap '' TERM; echo up; while :; do sleep 0.05; done\"\n\
                    ready = { line = \"up\" }\nstop = { grace = \"100ms\" }";
    let project = Project::of(&[("web", SLEEP), ("deaf", stubborn)]);
    project.up();
    let run = project.home.start(&[], &["sleep", "1000"]);
    let description = project.call(&["stop"]).ok().text();
    let begins = |text: &str| description.lines().any(|line| line.starts_with(text));
    assert!(begins("web: stopped, SIGTERM after "), "{description}");
    assert!(begins("deaf: stopped, SIGKILL after "), "{description}");
    assert!(begins(&format!("{run} exited: manual-cancel, SIGTERM after ")), "{description}");
    assert!(description.contains("3 runs ended, 1 of them by SIGKILL"), "{description}");
    assert_eq!(description.lines().count(), 4, "a line each, and a last one: {description}");
}

/// D4, X4: `restart` without a name is `stop` and `start` of the daemon: what was wanted runs anew, what was
/// stopped by name stays so, and no run of before is left.
#[test]
fn restart_without_a_name_is_the_daemon() {
    let project = Project::of(&[("web", SLEEP), ("idle", SLEEP)]);
    project.up();
    project.call(&["stop", "idle"]).ok();
    let run = project.home.start(&[], &["sleep", "1000"]);
    let (web, other) = (project.process("web"), project.home.root(&run));
    let before = Daemon::of(&project.home);
    let description = project.call(&["restart"]).ok().text();
    assert!(description.contains("web: stopped, SIGTERM after "), "{description}");
    assert!(description.contains("\nstarted\nDaemon:  running\n"), "{description}");
    let old = [&before.guardian, &before.supervisor, &web, &other];
    assert!(old.iter().all(|process| !process.is_alive()), "{old:?}");
    assert_ne!(project.until_state("web", "ready")["pid"], web.pid);
    assert_eq!(project.state("idle"), "stopped");
    let document = project.call(&["restart", "--json"]).ok();
    assert_eq!(document.text().lines().count(), 1, "{document:?}");
    assert_eq!(document.json()["running"], true);
}

/// D4, X1: where no daemon runs, `restart` starts one; not to wait makes sense for units only.
#[test]
fn restart_starts_a_daemon_where_none_runs() {
    let project = Project::new();
    let description = project.call(&["restart"]).ok().text();
    assert!(description.starts_with("started\n"), "{description}");
    let wrong = project.call(&["restart", "--no-wait"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("<NAMES>"), "{wrong:?}");
}

/// D4, D11: one that somebody else looks after is not taken from them.
#[test]
fn restart_leaves_a_daemon_to_those_who_look_after_it() {
    let project = Project::new();
    let mut bare = project.home.spawn_program(project.home.command(&["supervisor"]));
    eventually("it answers", || (project.call(&["--no-start", "runs"]).code == 0).then_some(()));
    let before = project.home.supervisor_pid();
    let refused = project.call(&["restart"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("systemctl --user restart"), "{refused:?}");
    assert_eq!(project.home.supervisor_pid(), before);
    assert!(!bare.is_over());
    project.call(&["stop"]).ok();
    bare.finish();
}
