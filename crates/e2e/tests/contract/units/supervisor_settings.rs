//! `[supervisor]` in the file: settings of the daemon.

use crate::units::setup::Project;
use ostler_e2e::eventually;

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";

fn declare(project: &Project, table: &str) {
    project.declare(&[("a", SLEEP)]);
    let units = std::fs::read_to_string(project.file()).expect("read");
    std::fs::write(project.file(), format!("{table}\n{units}")).expect("written");
}

/// X2: the daemon applies its settings in the file, and the runs go on; the same settings again change nothing.
#[test]
fn the_daemon_applies_its_settings_in_the_file() {
    let project = Project::of(&[("a", SLEEP)]);
    project.up();
    let (run, before) = (project.process("a").pid, project.home.supervisor_pid());
    declare(&project, "[supervisor]\nlease = \"20s\"\nhttp = \"127.0.0.1:0\"");
    project.up();
    let after = project.home.supervisor_pid();
    assert_ne!(after, before, "a supervisor with the new settings");
    assert_eq!(project.process("a").pid, run, "the run went on");
    let status = project.call(&["status", "--json"]).ok().json();
    assert!(status["http"].as_str().is_some_and(|at| at.contains("127.0.0.1:")), "{status:#}");
    project.up();
    assert_eq!(project.home.supervisor_pid(), after, "nothing has changed");
    // The setting is stored: the next supervisor after a crash has it.
    project.home.kill_supervisor();
    eventually("the port is open again", || {
        project.call(&["status", "--json"]).ok().json()["http"].is_string().then_some(())
    });
    // A file without the setting leaves it as it is; one that turns it off does so.
    declare(&project, "");
    project.up();
    assert!(project.call(&["status", "--json"]).ok().json()["http"].is_string());
    declare(&project, "[supervisor]\nhttp = \"\"");
    project.up();
    let status = project.call(&["status", "--json"]).ok().json();
    assert!(status["http"].is_null(), "{status:#}");
    assert_eq!(project.process("a").pid, run);
}
