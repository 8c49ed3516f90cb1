//! `ostler init -- CMD`: process 1 of a container.

use ostler_e2e::{Home, Signal, eventually};
use std::process::Command;

/// As a child, or as process 1 of a new process namespace if permitted.
fn init(home: &Home, as_first: bool, command: &[&str]) -> Command {
    let binary = Home::binary();
    let mut init = if as_first {
        let mut unshare = home.program("unshare");
        unshare.args(["--fork", "--pid", "--mount-proc", "--kill-child"]).arg(binary);
        unshare
    } else {
        home.program(binary)
    };
    init.args(["init", "--"]).args(command);
    init
}

fn may_be_first() -> bool {
    let tried = Command::new("unshare").args(["--fork", "--pid", "--mount-proc", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

fn both() -> Vec<bool> {
    if may_be_first() {
        return vec![false, true];
    }
    ostler_e2e::skipped("as process 1: a process namespace cannot be made here");
    vec![false]
}

/// D11: its exit code is the command's, or 128 and the signal; a command that cannot be executed has the shell's codes.
#[test]
fn the_exit_code_is_the_commands() {
    let home = Home::new();
    for as_first in both() {
        let code =
            |command: &[&str]| home.spawn_program(init(&home, as_first, command)).finish().code;
        assert_eq!(code(&["true"]), 0);
        assert_eq!(code(&["sh", "-c", "exit 37"]), 37);
        assert_eq!(code(&["sh", "-c", "kill -9 $$"]), 137);
        assert_eq!(code(&["/no/such/program"]), 127);
        assert_eq!(code(&["/etc/passwd"]), 126);
    }
}

/// D11: without a command the error has the remedy.
#[test]
fn a_missing_command_is_an_error() {
    let home = Home::new();
    for arguments in [&["init"][..], &["init", "--"]] {
        let output = home.ostler(arguments);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains("CMD"), "{output:?}");
    }
}

/// D11: signals go to the command's whole group, so that a shell in between does not swallow them.
#[test]
fn signals_are_passed_on_to_the_group() {
    let home = Home::new();
    let script = "trap 'echo outer; wait; exit 3' TERM; sh -c 'trap \"echo inner; exit\" TERM; echo ready; while :; do sleep 0.05; done' & wait; wait";
    let background = home.spawn_program(init(&home, false, &["sh", "-c", script]));
    background.until_written("ready");
    background.process().signal(Signal::TERM);
    background.until_written("inner");
    let output = background.finish();
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.text().contains("outer"), "{output:?}");
}

/// D11: other signals are passed on too.
#[test]
fn any_signal_is_passed_on() {
    let home = Home::new();
    let script = "trap 'exit 10' USR1; trap 'exit 12' HUP; sleep 1000 & echo ready; wait";
    for (signal, code) in [(Signal::USR1, 10), (Signal::HUP, 12), (Signal::INT, 130)] {
        // Tests that were started in the background, or with nohup, ignore these, and so would whatever they start.
        let mut received = home.program("env");
        received.arg("--default-signal=INT,HUP").arg(Home::binary());
        received.args(["init", "--", "sh", "-c", script]);
        let background = home.spawn_program(received);
        background.until_written("ready");
        background.process().signal(signal);
        assert_eq!(background.finish().code, code);
    }
}

/// D11: orphans are reaped while the command runs: no zombie stays.
#[test]
fn orphans_are_reaped() {
    let home = Home::new();
    for as_first in both() {
        // Twenty grandchildren whose parents are gone, then a look at who is dead and not reaped.
        let script = "for i in $(seq 20); do sh -c 'sleep 0.02 & exit 0'; done; \
             for i in $(seq 100); do sleep 0.05; \
             z=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c \"(sleep) Z $PPID \"); \
             [ \"$z\" = 0 ] && [ \"$i\" -gt 3 ] && { echo none; exit 0; }; done; echo left; exit 1";
        let output = home.spawn_program(init(&home, as_first, &["sh", "-c", script])).finish();
        assert_eq!(output.text(), "none\n", "{output:?}");
    }
}

/// D11: processes that the command leaves behind are ended with it, also if they ignore TERM or left its session.
#[test]
fn processes_left_behind_are_ended() {
    let home = Home::new();
    let script = "setsid sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done' & \
                  sleep 970 & wait";
    let background = home.spawn_program(init(&home, false, &["sh", "-c", script]));
    background.until_written("ready");
    eventually("all processes run", || (home.processes().len() >= 5).then_some(()));
    background.process().signal(Signal::TERM);
    let output = background.finish();
    assert_eq!(output.code, 143, "{output:?}");
    assert!(home.processes().is_empty(), "{:?}", home.processes());
}
