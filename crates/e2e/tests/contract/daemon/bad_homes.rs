//! Homes of another user, read-only or on a full disk: clear errors, and live runs go on.

use crate::daemon::setup::{Daemon, QUICK, answering, install, quick_home, status};
use ostler_e2e::{Home, STRANGER, Signal, eventually, helper, is_root};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn skipped() {
    ostler_e2e::skipped("it needs root");
}

/// Fills the disk.
fn fill(disk: &Path) -> PathBuf {
    let path = disk.join("filler");
    let mut file = std::fs::File::create(&path).expect("a file");
    for size in [64 << 10, 4096, 512, 16, 1] {
        let part = vec![0u8; size];
        while file.write_all(&part).is_ok() {}
    }
    path
}

/// D1, X1: a home of another user is refused with both owners, and not touched.
#[test]
fn a_home_of_another_is_refused() {
    if !is_root() {
        return skipped();
    }
    let home = Home::new();
    std::fs::create_dir(home.path()).expect("a folder");
    chown(home.path(), Some(STRANGER), Some(STRANGER)).expect("the owner is changed");
    for verb in [&["start"][..], &["runs"], &["run", "--", "true"]] {
        let output = home.ostler(verb);
        assert!([1, 125].contains(&output.code), "{output:?}");
        assert!(output.stderr.contains("belongs to uid 65534"), "{output:?}");
        assert!(output.stderr.contains("OSTLER_HOME"), "the error has the remedy: {output:?}");
    }
    eventually("no process is left", || home.processes().is_empty().then_some(()));
    assert_eq!(home.ostler(&["status"]).code, 3);
    assert!(!home.file("registry.db").exists());
}

/// D1, X1: a home that cannot be entered: the same error for a user who is not root.
#[test]
fn a_home_that_cannot_be_entered_is_an_error() {
    if !is_root() {
        return skipped();
    }
    let home = Home::new();
    Daemon::start(&home);
    let place = tempfile::Builder::new().prefix("oeb").tempdir().expect("a folder");
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).expect("mode");
    let binary = place.path().join("ostler");
    install(Home::binary(), &binary);
    let as_other_user = |words: &[&str]| {
        let mut command = home.program(&binary);
        command.args(words).uid(STRANGER).gid(STRANGER).current_dir("/");
        home.spawn_program(command).finish()
    };
    for words in [&["start"][..], &["runs"]] {
        let output = as_other_user(words);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("ermission denied"), "{output:?}");
        assert!(!output.stderr.contains("panicked"), "{output:?}");
    }
    let output = as_other_user(&["stop"]);
    assert_ne!(output.code, 0, "{output:?}");
    assert_eq!(status(&home)["running"], true, "the other user's daemon was not stopped");
}

/// D1, X1: a home on a read-only disk is an error, before its first use and after.
#[test]
fn a_read_only_home_is_an_error() {
    let mut home = Home::new();
    let Some(disk) = home.small_disk("h", 8 << 20) else { return skipped() };
    let remount = |how: &str| {
        let description = format!("remount,{how}");
        let done = Command::new("mount").args(["-o", &description]).arg(&disk).status();
        assert!(done.expect("mount").success(), "{how}");
    };
    remount("ro");
    for verb in [&["start"][..], &["runs"]] {
        let output = home.ostler(verb);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("ead-only"), "{output:?}");
        assert!(output.stderr.contains("OSTLER_HOME"), "{output:?}");
    }
    assert_eq!(home.ostler(&["status"]).code, 3);
    remount("rw");
    Daemon::start(&home);
    home.stop();
    remount("ro");
    let output = home.ostler(&["start"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("ead-only"), "{output:?}");
    let output = home.ostler(&["status"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.text().contains("stopped"), "{output:?}");
    assert_eq!(home.ostler(&["stop"]).code, 3);
    assert!(home.processes().is_empty());
    remount("rw");
    Daemon::start(&home);
}

/// D1, X1: a start on a full disk is an error, and no process is left; with space it starts.
#[test]
fn start_on_a_full_disk_is_an_error() {
    let mut home = Home::new();
    let Some(disk) = home.small_disk("h", 1 << 20) else { return skipped() };
    let filler = fill(&disk);
    let output = home.ostler(&["start"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("space") || output.stderr.contains("full"), "{output:?}");
    eventually("no process is left", || home.processes().is_empty().then_some(()));
    assert_eq!(home.ostler(&["status"]).code, 3);
    std::fs::remove_file(filler).expect("removed");
    Daemon::start(&home);
}

/// D8, D3, X1: the disk fills while runs are live, and then the supervisor is killed: the runs go on,
/// and are adopted as soon as there is space.
#[test]
fn a_crash_on_a_full_disk_loses_no_run() {
    let mut home = Home::with(&[QUICK]);
    let Some(disk) = home.small_disk("h", 8 << 20) else { return skipped() };
    let pipe = home.start_ready(&["--stdin"], &["sh", "-c", "echo ready; read x; exit 33"]);
    let script = "stty -echo; echo ready; read x; exit 34";
    let pty = home.start_ready(&["--pty"], &["sh", "-c", script]);
    let ended = home.start_ready(&["--stdin"], &["sh", "-c", "echo ready; exec sleep 978"]);
    let roots = [&pipe, &pty].map(|run| home.root(run));
    let ended_root = home.root(&ended);
    let daemon = Daemon::of(&home);
    let filler = fill(&disk);
    daemon.supervisor.signal(Signal::KILL);
    daemon.supervisor.wait_gone();
    ended_root.signal(Signal::KILL);
    ended_root.wait_gone();
    until_tried_again(&home, &daemon);
    assert!(roots.iter().all(ostler_e2e::Process::is_alive), "the runs go on");
    assert_eq!(home.guardian(), Some(daemon.guardian.clone()));
    std::fs::remove_file(filler).expect("removed");
    answering(&home, &daemon.supervisor);
    for (run, root, code) in [(&pipe, &roots[0], 33), (&pty, &roots[1], 34)] {
        assert_eq!(home.root(run), *root);
        home.ostler(&["write", run, "--text", "x\n"]).ok();
        assert_eq!(home.wait(run)["exitCode"], code);
    }
    let result = home.wait(&ended);
    assert_eq!((&result["termination"], &result["exitSignal"]), (&"signal".into(), &9.into()));
}

/// Waits until the guardian has tried another supervisor. One that fails on the full disk is gone before
/// the test sees it; but the guardian has reaped it.
fn until_tried_again(home: &Home, daemon: &Daemon) {
    let reaped = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", daemon.guardian.pid));
        // The minor faults of children that were waited for.
        stat.ok()?.rsplit_once(") ")?.1.split(' ').nth(8)?.parse::<u64>().ok()
    };
    let (mut last, mut times) = (reaped(), 0);
    eventually("another supervisor was tried", || {
        let now = reaped();
        times += u32::from(now != last);
        last = now;
        let next = home.supervisor().filter(|next| *next != daemon.supervisor);
        (times > 1 || next.is_some()).then_some(())
    });
}

/// D4, X1: stop on a full disk ends everything; what could not be written is reconciled later.
#[test]
fn stop_on_a_full_disk_ends_everything() {
    let mut home = Home::with(&[QUICK]);
    let Some(disk) = home.small_disk("h", 8 << 20) else { return skipped() };
    let run = home.start_ready(&["--grace", "300ms"], &[helper!("ignore_term"), "2"]);
    let daemon = Daemon::of(&home);
    let filler = fill(&disk);
    daemon.supervisor.signal(Signal::KILL);
    daemon.supervisor.wait_gone();
    until_tried_again(&home, &daemon);
    let output = home.ostler(&["stop"]);
    assert!(!output.stderr.contains("panicked"), "{output:?}");
    eventually("all processes are gone", || home.processes().is_empty().then_some(()));
    assert_eq!(home.ostler(&["status"]).code, 3);
    std::fs::remove_file(filler).expect("removed");
    let record = home.record(&run);
    assert_eq!(record["state"], "exited", "{record}");
}

/// D9, X1: the guardian is killed on a full disk: a new one starts, and holds the same descriptors.
#[test]
fn a_guardian_lost_on_a_full_disk_is_replaced() {
    let mut home = quick_home();
    let Some(disk) = home.small_disk("h", 8 << 20) else { return skipped() };
    let run = home.start_ready(&["--stdin"], &["sh", "-c", "echo ready; read x; exit 35"]);
    let root = home.root(&run);
    let daemon = Daemon::of(&home);
    let filler = fill(&disk);
    daemon.guardian.signal(Signal::KILL);
    daemon.guardian.wait_gone();
    eventually("a new guardian", || {
        let pid = status(&home)["pid"].as_i64()?;
        (pid as i32 != daemon.guardian.pid).then_some(())
    });
    assert_eq!(home.supervisor(), Some(daemon.supervisor.clone()));
    std::fs::remove_file(filler).expect("removed");
    crate::daemon::setup::replace_supervisor(&home);
    assert_eq!(home.root(&run), root);
    home.ostler(&["write", &run, "--text", "x\n"]).ok();
    assert_eq!(home.wait(&run)["exitCode"], 35);
}
