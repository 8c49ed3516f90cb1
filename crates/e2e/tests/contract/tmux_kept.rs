//! Sessions and the daemon's own troubles: a supervisor that was killed, a machine without tmux.

use crate::tmux_setup::{AGAIN, IDLE, Tmux, unit};
use ostler_e2e::eventually;
use std::os::unix::fs::symlink;

/// P8: a supervisor that was killed is followed by one that takes the session up: the same process, no output lost.
#[test]
fn a_session_outlives_the_supervisor() {
    let script = "i=0; while :; do i=$((i+1)); echo n$i; sleep 0.01; done";
    let tmux = Tmux::of(&[("a", &unit(script, AGAIN))]);
    let project = &tmux.project;
    project.up();
    let process = project.process("a");
    let session = tmux.session_of(&process);
    tmux.until_logged("a", "n20");
    project.home.kill_supervisor();
    let view = project.until_state("a", "ready");
    assert_eq!(view["pid"], process.pid);
    assert_eq!(tmux.session_of(&process), session);
    let last = |log: &str| {
        let numbers = log.lines().filter_map(|line| line.trim().strip_prefix('n')?.parse().ok());
        numbers.collect::<Vec<u32>>()
    };
    let before = last(&project.call(&["logs", "a"]).text()).len();
    eventually("it goes on", || {
        (last(&project.call(&["logs", "a"]).text()).len() > before + 20).then_some(())
    });
    project.call(&["stop", "a"]).ok();
    assert!(!process.is_alive());
    assert!(tmux.sessions().is_empty());
    let numbers = last(&project.call(&["logs", "a"]).text());
    assert!(numbers.iter().zip(1..).all(|(seen, wanted)| *seen == wanted), "no gap: {numbers:?}");
    let events = project.home.ostler(&["events", "--json"]).ok().text();
    assert!(events.contains("\"adopted\""), "it was taken up");
}

/// P5: without tmux the same file works: a terminal of ours, and everybody is told.
#[test]
fn without_tmux_it_has_a_terminal_of_ours() {
    let mut tmux = Tmux::new();
    let folder = tmux.project.home.folder().join("bin");
    std::fs::create_dir(&folder).expect("a folder");
    for tool in ["sh", "sleep", "tty", "env"] {
        let found = ["/bin", "/usr/bin"].map(|place| format!("{place}/{tool}"));
        let found = found.iter().find(|path| std::fs::exists(path).unwrap_or(false));
        symlink(found.expect("a tool"), folder.join(tool)).expect("a link");
    }
    tmux.project.home.set("PATH", folder.to_str().expect("text"));
    tmux.project.declare(&[("a", &unit(&format!("tty; {IDLE}"), AGAIN))]);
    let project = &tmux.project;
    let told = project.up().text();
    assert!(told.contains("no tmux on the PATH"), "{told}");
    let view = project.view("a");
    assert!(view["why"].as_str().unwrap_or_default().contains("no tmux"), "{view:#}");
    assert!(project.find("tmux").is_none());
    tmux.until_logged("a", "/dev/pts/");
    let why = project.call(&["why", "a"]).text();
    assert!(why.contains("does without something it wants"), "{why}");
    project.call(&["stop", "a"]).ok();
}
