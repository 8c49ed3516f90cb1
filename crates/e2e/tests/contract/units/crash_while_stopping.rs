//! The supervisor dies while a unit is being stopped: the request is still carried out.

use crate::units::setup::Project;
use ostler_e2e::{Signal, eventually};

const SLOW: &str = "command = [\"sh\", \"-c\", \"trap 'while ! test -e go; do sleep 0.02; done; exit 0' TERM; echo up; while :; do sleep 0.02; done\"]\n\
     ready = { line = \"^up$\" }\nstop = { grace = \"20s\" }";

/// The supervisor dies while the unit is being ended: the unit exits meanwhile, or under the next supervisor.
fn struck(arguments: &[&str], in_between: bool) -> Project {
    let project = Project::of(&[("a", SLOW)]);
    project.up();
    let old = project.process("a");
    if arguments[0] == "reload" {
        project.declare(&[("a", &format!("{SLOW}\nenv.MORE = \"1\""))]);
    }
    let call = project.spawn(arguments);
    project.until_state("a", "stopping");
    if arguments.contains(&"--no-wait") {
        call.finish().ok();
    }
    let supervisor = project.home.supervisor().expect("a supervisor");
    supervisor.signal(Signal::STOP);
    if in_between {
        std::fs::write(project.path("go"), "").expect("written");
        old.wait_gone();
    }
    supervisor.signal(Signal::KILL);
    supervisor.wait_gone();
    crate::daemon::setup::answering(&project.home, &supervisor);
    std::fs::write(project.path("go"), "").expect("written");
    old.wait_gone();
    project
}

/// X4: a stop is final though the supervisor dies during it.
#[test]
fn a_stop_survives_a_crash_of_the_supervisor() {
    for in_between in [true, false] {
        let project = struck(&["stop", "--no-wait", "a"], in_between);
        project.until_state("a", "stopped");
        assert_eq!(project.copies_of("a"), 0);
    }
}

/// X4: and so is `down`.
#[test]
fn a_down_survives_a_crash_of_the_supervisor() {
    for in_between in [true, false] {
        let project = struck(&["down"], in_between);
        eventually("no unit is left", || (project.copies_of("a") == 0).then_some(()));
        assert_eq!(project.views().len(), 0);
    }
}

/// X2: a requested restart is carried out though the supervisor dies during it.
#[test]
fn a_restart_survives_a_crash_of_the_supervisor() {
    for in_between in [true, false] {
        let project = struck(&["restart", "--no-wait", "a"], in_between);
        project.until_state("a", "ready");
        assert_eq!(project.copies_of("a"), 1);
    }
}

/// X2: the same for a restart because of a changed file.
#[test]
fn a_reload_survives_a_crash_of_the_supervisor() {
    for in_between in [true, false] {
        let project = struck(&["reload", "--no-wait"], in_between);
        project.until_state("a", "ready");
        assert_eq!(project.copies_of("a"), 1);
    }
}
