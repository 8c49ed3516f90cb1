//! Sessions when the supervisor is killed, and on a machine without tmux.

use crate::tmux::setup::{AGAIN, IDLE, SERVER, Tmux, unit};
use ostler_e2e::eventually;
use std::os::unix::fs::symlink;

/// P8: after the supervisor was killed, the next one adopts the session: the same process, no output lost.
#[test]
fn a_session_outlives_the_supervisor() {
    ostler_e2e::needs!("tmux");
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
    eventually("the output continues", || {
        (last(&project.call(&["logs", "a"]).text()).len() > before + 20).then_some(())
    });
    project.call(&["stop", "a"]).ok();
    assert!(!process.is_alive());
    assert!(tmux.sessions().is_empty());
    let numbers = last(&project.call(&["logs", "a"]).text());
    assert!(numbers.iter().zip(1..).all(|(seen, wanted)| *seen == wanted), "no gap: {numbers:?}");
    let events = project.home.ostler(&["events", "--json"]).ok().text();
    assert!(events.contains("\"adopted\""), "the run was adopted");
}

/// P5: without tmux the same file works: on Ostler's terminal, with a notice.
#[test]
fn without_tmux_a_unit_has_ostlers_terminal() {
    ostler_e2e::needs!("tmux");
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
    let output = project.up().text();
    assert!(output.contains("no tmux on the PATH"), "{output}");
    let view = project.view("a");
    assert!(view["why"].as_str().unwrap_or_default().contains("no tmux"), "{view:#}");
    assert!(project.find(SERVER).is_none());
    tmux.until_logged("a", "/dev/pts/");
    let why = project.call(&["why", "a"]).text();
    assert!(why.contains("degraded: "), "{why}");
    project.call(&["stop", "a"]).ok();
}

/// P7: a home whose path is longer than a socket's address has its server at a shorter path, private to this user.
#[test]
fn a_home_with_a_long_path_has_its_server_elsewhere() {
    ostler_e2e::needs!("tmux");
    let mut tmux = Tmux::new();
    let long = format!("{}/h", "long".repeat(40));
    let home = std::mem::take(&mut tmux.project.home).at(&long);
    tmux.project.home = home;
    let folder = tmux.project.home.folder().to_owned();
    tmux.project.home.set("TMPDIR", folder.to_str().expect("text"));
    std::fs::create_dir_all(tmux.project.folder()).expect("a folder");
    tmux.project.declare(&[("a", &unit(IDLE, AGAIN))]);
    tmux.project.up();
    let process = tmux.project.process("a");
    let command = tmux.project.process(SERVER).command();
    let socket = command.rsplit(' ').next().expect("a socket");
    assert!(socket.starts_with(folder.to_str().expect("text")), "{socket}");
    assert!(socket.len() <= 107, "{socket}");
    let own = process.variable("TMUX_TMPDIR").expect("a private folder");
    assert!(own.starts_with(folder.to_str().expect("text")) && own.len() <= 107 - 24, "{own}");
    assert!(std::path::Path::new(&own).is_dir(), "{own}");
    tmux.project.call(&["stop", "a"]).ok();
    assert!(!process.is_alive());
}

/// P8: a stopped server ends no agent; an agent that is stopped is ended nevertheless.
#[test]
fn a_stopped_server_does_not_delay_a_stop() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::of(&[("a", &unit(IDLE, AGAIN))]);
    let project = &tmux.project;
    project.up();
    let (process, server) = (project.process("a"), project.process(SERVER));
    server.signal(ostler_e2e::Signal::STOP);
    assert_eq!(project.state("a"), "ready");
    project.call(&["stop", "a"]).ok();
    assert!(!process.is_alive());
    server.signal(ostler_e2e::Signal::CONT);
    eventually("its session is closed", || tmux.sessions().is_empty().then_some(()));
}
