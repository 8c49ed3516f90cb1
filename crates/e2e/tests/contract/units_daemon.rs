//! Units when the daemon itself is stopped.

use crate::units::Project;

const SLEEP: &str = "command = [\"sleep\", \"1000\"]";

/// D4, X2: `stop` says of a unit's run which unit it was, and of any other run its id.
#[test]
fn stop_calls_units_by_their_names() {
    let stubborn = "command = \"trap '' TERM; echo up; while :; do sleep 0.05; done\"\n\
                    ready = { line = \"up\" }\nstop = { grace = \"100ms\" }";
    let project = Project::of(&[("web", SLEEP), ("deaf", stubborn)]);
    project.up();
    let run = project.home.start(&[], &["sleep", "1000"]);
    let told = project.call(&["stop"]).ok().text();
    let begins = |text: &str| told.lines().any(|line| line.starts_with(text));
    assert!(begins("web: stopped, SIGTERM after "), "{told}");
    assert!(begins("deaf: stopped, SIGKILL after "), "{told}");
    assert!(begins(&format!("{run} exited: manual-cancel, SIGTERM after ")), "{told}");
    assert!(told.contains("3 runs ended, 1 of them by KILL"), "{told}");
    assert_eq!(told.lines().count(), 4, "a line each, and a last one: {told}");
}
