//! How a watch ends: by a signal, by force, with its terminal, or with its daemon.

use crate::daemon::setup::replace_supervisor;
use crate::watch::setup::Watched;
use ostler_e2e::{Process, eventually};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use std::process::Stdio;
use std::time::{Duration, Instant};

const LOOP: &str = "echo ready; while :; do sleep 0.02; done";

/// W9: INT, TERM and QUIT are passed on unchanged; the exit code is the server's.
#[test]
fn signals_are_passed_on() {
    for (signal, code, description) in
        [(Signal::INT, 11, "SIGINT"), (Signal::TERM, 12, "SIGTERM"), (Signal::QUIT, 13, "SIGQUIT")]
    {
        let watched = Watched::new();
        let script =
            format!("trap 'exit 11' INT; trap 'exit 12' TERM; trap 'exit 13' QUIT; {LOOP}");
        let watch = watched.script(&[], &script);
        watch.until_written("ready");
        watch.signal(signal);
        assert_eq!(watch.finish().code, code);
        assert_eq!(watched.until("watchdog_shutting_down", 1)["signal"], description);
        assert_eq!(watched.until("stopping_child_process", 1)["graceMs"], 15_000);
        assert_eq!(watched.until("process_exited", 1)["wasExpected"], true);
        assert_eq!(watched.until("shutdown_complete", 1)["exitCode"], code);
        assert_eq!(watched.events("scheduling_restart").len(), 0);
        watched.assert_no_unit();
    }
}

/// W9: a server that ignores it is killed after the grace period, and a second later no process is left.
#[test]
fn a_server_that_ignores_signals_is_killed() {
    let watched = Watched::new();
    let watch = watched.script(&["--grace", "400ms"], &format!("trap '' TERM INT; {LOOP}"));
    watch.until_written("ready");
    let server = watched.server(1);
    let began = Instant::now();
    watch.signal(Signal::INT);
    // Another signal changes nothing.
    watched.until("watchdog_shutting_down", 1);
    watch.signal(Signal::TERM);
    let output = watch.finish();
    let took = began.elapsed();
    assert_eq!(output.code, 137);
    assert!(took >= Duration::from_millis(400) && took < Duration::from_millis(1_700), "{took:?}");
    assert!(!server.is_alive());
    watched.until("force_killing_child", 1);
    watched.assert_no_unit();
}

/// W9: during a restart delay it ends at once with 0.
#[test]
fn a_signal_during_a_restart_delay_ends_it_at_once() {
    let watched = Watched::new();
    let watch = watched.script(&["--backoff", "1h", "--backoff-most", "1h"], "exit 3");
    watched.until("scheduling_restart", 1);
    watch.signal(Signal::INT);
    assert_eq!(watch.finish().code, 0);
    assert_eq!(watched.events("server_spawned").len(), 1);
    watched.assert_no_unit();
}

/// W9: a supervisor that does not answer does not delay the watch.
#[test]
fn a_supervisor_that_hangs_is_not_waited_for() {
    let watched = Watched::new();
    let watch = watched.script(&["--grace", "300ms"], LOOP);
    watch.until_written("ready");
    let supervisor = watched.home.supervisor().expect("one");
    supervisor.signal(Signal::STOP);
    let began = Instant::now();
    watch.signal(Signal::TERM);
    let output = watch.finish();
    let took = began.elapsed();
    supervisor.signal(Signal::CONT);
    assert_eq!(output.code, 137, "{output:?}");
    assert!(took < Duration::from_millis(2_000), "{took:?}");
}

/// W10: a closed pipe, a closed terminal and its HUP do not stop the server.
#[test]
fn a_closed_pipe_or_terminal_does_not_stop_the_server() {
    let watched = Watched::new();
    let script = |watched: &Watched| {
        let ready = watched.path("ready-").display().to_string();
        format!("trap 'exit 7' TERM; : >{ready}$$; while :; do echo x; sleep 0.01; done")
    };
    // Before its trap is set, TERM ends it.
    let until_ready = |watched: &Watched, server: &Process| {
        let path = watched.path(&format!("ready-{}", server.pid));
        eventually("its trap is set", || path.exists().then_some(()));
    };
    let mut command = watched.command(&["--no-health"], &["sh", "-c", &script(&watched)]);
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).expect("a terminal");
    grantpt(&master).expect("grantpt");
    unlockpt(&master).expect("unlockpt");
    let slave = ioctl_tiocgptpeer(&master, flags).expect("the program's side of the terminal");
    command.stdin(Stdio::null()).stdout(slave.try_clone().expect("dup")).stderr(slave);
    let mut child = command.spawn().expect("the watch starts");
    drop(command);
    let old = watched.server(1);
    drop(master);
    let pid = child.id() as i32;
    ostler_e2e::signal(pid, Signal::HUP);
    old.signal(Signal::KILL);
    let new = watched.server(2);
    until_ready(&watched, &new);
    ostler_e2e::signal(pid, Signal::TERM);
    assert_eq!(child.wait().expect("a child of ours").code(), Some(7));
    assert!(!new.is_alive());

    let watched = Watched::new();
    let mut command = watched.command(&["--no-health"], &["sh", "-c", &script(&watched)]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the watch starts");
    drop((child.stdout.take(), child.stderr.take()));
    watched.server(1).signal(Signal::KILL);
    until_ready(&watched, &watched.server(2));
    ostler_e2e::signal(child.id() as i32, Signal::TERM);
    assert_eq!(child.wait().expect("a child of ours").code(), Some(7));
}

/// W10: a full pipe delays only the printed output.
#[test]
fn a_full_pipe_delays_only_the_output() {
    let watched = Watched::new();
    let script =
        "trap 'exit 7' TERM; yes | head -c 2000000 >&2 & while :; do echo x; sleep 0.01; done";
    let mut command = watched.command(&["--no-health"], &["sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the watch starts");
    watched.server(1).signal(Signal::KILL);
    watched.server(2).signal(Signal::KILL);
    watched.server(3);
    ostler_e2e::signal(child.id() as i32, Signal::TERM);
    assert_eq!(child.wait().expect("a child of ours").code(), Some(7));
}

/// A killed watch leaves its server; the next one of the same name continues with it, and with the log.
#[test]
fn the_next_watch_continues_a_killed_one() {
    let watched = Watched::new();
    let ready = watched.path("ready-").display().to_string();
    let script = format!("trap 'exit 7' TERM; : >{ready}$$; {LOOP}");
    let first = watched.script(&[], &script);
    first.until_written("ready");
    let server = watched.server(1);
    // Two at once are refused.
    let output = watched.script(&[], &script).finish();
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("is already watched"), "{output:?}");
    first.signal(Signal::KILL);
    first.finish();
    assert!(server.is_alive());
    let second = watched.script(&[], &script);
    let begun = watched.until("process_manager_starting", 2);
    assert_eq!(begun["takenOver"], true);
    assert!(server.is_alive() && watched.events("server_spawned").len() == 1);
    second.signal(Signal::KILL);
    second.finish();
    // Events in between are reported by the next.
    server.signal(Signal::KILL);
    let third = watched.script(&[], &script);
    let new = watched.server(2);
    assert_eq!(watched.until("process_exited", 1)["signal"], "SIGKILL");
    // Before its trap is set, TERM ends it.
    let is_ready = watched.path(&format!("ready-{}", new.pid));
    eventually("its trap is set", || is_ready.exists().then_some(()));
    third.signal(Signal::TERM);
    assert_eq!(third.finish().code, 7);
    assert!(!new.is_alive());
    assert_eq!(watched.events("server_spawned").len(), 2);
    watched.assert_no_unit();
}

/// The watch continues when the supervisor dies and is replaced.
#[test]
fn the_watch_continues_with_a_new_supervisor() {
    let watched = Watched::new();
    let watch = watched.script(&[], &format!("trap 'exit 7' TERM; {LOOP}"));
    watch.until_written("ready");
    let server = watched.server(1);
    replace_supervisor(&watched.home);
    assert!(server.is_alive());
    server.signal(Signal::KILL);
    watched.until("unexpected_exit", 1);
    watched.server(2);
    watch.signal(Signal::TERM);
    assert_eq!(watch.finish().code, 7);
    watched.assert_no_unit();
}

/// Another caller may stop the server, restart it, or stop the whole daemon.
#[test]
fn other_callers_may_stop_or_restart_the_server() {
    let watched = Watched::new();
    let name = watched.name();
    let script = format!("trap 'exit 7' TERM; {LOOP}");
    let watch = watched.script(&[], &script);
    let old = watched.server(1);
    watched.home.ostler(&["restart", &name]).ok();
    assert!(!old.is_alive());
    watched.server(2);
    watched.home.ostler(&["stop", &name]).ok();
    assert_eq!(watch.finish().code, 7);
    watched.until("stop_requested", 1);
    watched.assert_no_unit();

    let watch = watched.script(&[], &script);
    watched.server(3);
    watched.home.ostler(&["stop"]).ok();
    assert_eq!(watch.finish().code, 7);
}

/// A unit of another caller is not touched.
#[test]
fn a_name_that_is_taken_is_refused() {
    let watched = Watched::new();
    watched.home.ostler(&["start", "--name", &watched.name(), "--", "sleep", "1000"]).ok();
    let output = watched.script(&[], "exit 0").finish();
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("is already declared"), "{output:?}");
    let output = watched.script(&["--name", "bad name"], "exit 0").finish();
    assert_eq!(output.code, 2, "{output:?}");
}
