//! An upgrade replaces the supervisor's program without stopping a run, or goes back.

use crate::daemon::setup::{
    Counting, Daemon, answering, install, quick_home, replace_supervisor, state_file, status,
};
use ostler_e2e::{Home, Output, Process};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn copy(home: &Home, name: &str) -> PathBuf {
    let path = home.folder().join(name);
    install(Home::binary(), &path);
    path
}

/// An executable file with these bytes.
fn program(home: &Home, name: &str, bytes: &[u8]) -> PathBuf {
    let (draft, path) = (home.folder().join(format!("{name}.draft")), home.folder().join(name));
    std::fs::write(&draft, bytes).expect("written");
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o755)).expect("mode");
    install(draft, &path);
    path
}

fn program_of(process: &Process) -> PathBuf {
    std::fs::read_link(format!("/proc/{}/exe", process.pid)).expect("a program")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// Runs that an upgrade must not affect.
struct Witness {
    counting: Counting,
    pty: String,
    pty_root: Process,
}

impl Witness {
    fn start(home: &Home) -> Self {
        let counting = Counting::start(home, &[], 5, 5, 31);
        let script = "stty -echo; echo ready; while read x; do echo \"<$x>\"; done";
        let pty = home.start_ready(&["--pty"], &["sh", "-c", script]);
        let pty_root = home.root(&pty);
        Self { counting, pty, pty_root }
    }

    #[track_caller]
    fn assert_untouched(&self, home: &Home, word: &str) {
        assert_eq!(home.root(&self.counting.run), self.counting.root);
        assert_eq!(home.root(&self.pty), self.pty_root);
        home.ostler(&["write", &self.pty, "--text", &format!("{word}\n")]).ok();
        home.until_logged(&self.pty, &format!("<{word}>"));
    }

    #[track_caller]
    fn finish(self, home: &Home) {
        self.counting.end();
        assert_eq!(home.wait(&self.counting.run)["exitCode"], 31);
        self.counting.assert_whole(home);
        assert_eq!(home.metric("run_spawn_total", None), 2);
    }
}

/// D10: a copy of the program takes over: the runs go on, and the supervisor runs from that file.
#[test]
fn upgrade_replaces_the_program_and_no_run_notices() {
    let home = quick_home();
    let witness = Witness::start(&home);
    let daemon = Daemon::of(&home);
    let new = copy(&home, "ostler-next");
    let output = home.ostler(&["upgrade", text(&new)]).ok().text();
    assert!(output.contains("2 runs kept"), "{output}");
    let after = Daemon::of(&home);
    assert_eq!(after.guardian, daemon.guardian);
    assert_ne!(after.supervisor, daemon.supervisor);
    assert!(output.contains(&after.supervisor.pid.to_string()), "{output}");
    assert_eq!(program_of(&after.supervisor), new);
    witness.assert_untouched(&home, "upgraded");
    assert_eq!(state_file(&home)["crash_count"], 0, "an upgrade is no crash");
    // After a crash it is still the new program; and as JSON.
    let next = replace_supervisor(&home);
    assert_eq!(program_of(&next), new);
    let json = home.ostler(&["upgrade", "--json", text(&Home::binary())]).ok().json();
    assert_eq!(json["upgraded"], true, "{json}");
    assert_eq!(json["before"]["supervisorPid"], next.pid, "{json}");
    assert_eq!(program_of(&Daemon::of(&home).supervisor), Home::binary());
    witness.assert_untouched(&home, "again");
    witness.finish(&home);
}

#[track_caller]
fn assert_went_back(home: &Home, output: &Output, program: &str) {
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains(program), "the error names the program: {output:?}");
    let daemon = Daemon::of(home);
    assert_eq!(program_of(&daemon.supervisor), Home::binary());
    assert_eq!(status(home)["supervisorPid"], daemon.supervisor.pid, "the supervisor answers");
}

/// D10: a program that is not ostler: back to the old one, exit 1, with the reason.
#[test]
fn upgrade_goes_back_from_a_program_that_does_not_answer() {
    let home = quick_home();
    let witness = Witness::start(&home);
    let guardian = Daemon::of(&home).guardian;
    for (program, why) in [("/bin/false", "exit status 1"), ("/bin/true", "exit status 0")] {
        let output = home.ostler(&["upgrade", program]);
        assert_went_back(&home, &output, program);
        assert!(output.stderr.contains(why), "{output:?}");
        witness.assert_untouched(&home, program);
    }
    let garbage = program(&home, "garbage", &[0x7f, b'E', b'L', b'F', 0, 1, 2, 3]);
    let output = home.ostler(&["upgrade", text(&garbage)]);
    assert_went_back(&home, &output, text(&garbage));
    assert_eq!(home.guardian(), Some(guardian));
    witness.assert_untouched(&home, "garbage");
    witness.finish(&home);
}

/// D10: a file that cannot be executed is refused before anything is changed.
#[test]
fn upgrade_refuses_what_cannot_be_executed() {
    let home = quick_home();
    let witness = Witness::start(&home);
    let daemon = Daemon::of(&home);
    let plain = home.folder().join("plain");
    std::fs::write(&plain, "not a program").expect("written");
    for program in [text(&plain), "/no/such/program", "/"] {
        let output = home.ostler(&["upgrade", program]);
        assert_went_back(&home, &output, program);
        assert_eq!(Daemon::of(&home), daemon, "the supervisor was not replaced for {program}");
    }
    witness.assert_untouched(&home, "refused");
    witness.finish(&home);
}

/// D10: a program that is never ready is replaced by the old one after its time limit. The runs go on.
#[test]
fn upgrade_goes_back_from_a_program_that_hangs() {
    let mut home = quick_home();
    home.set("OSTLER_TRIAL_MS", "1500");
    let witness = Witness::start(&home);
    let script = program(&home, "hangs", b"#!/bin/sh\nexec sleep 977\n");
    let output = home.ostler(&["upgrade", text(&script)]);
    assert_went_back(&home, &output, text(&script));
    assert!(output.stderr.contains("ready"), "{output:?}");
    assert!(
        !home.processes().iter().any(|process| process.command().contains("977")),
        "the candidate is gone"
    );
    witness.assert_untouched(&home, "hung");
    witness.finish(&home);
}

/// D10, D2: the file is replaced on disk before a crash: the supervisor is restarted from the program that ran.
#[test]
fn a_crash_after_the_file_was_replaced_restarts_the_old_program() {
    let home = quick_home();
    let installed = copy(&home, "ostler");
    let mut start = home.program(&installed);
    start.arg("start");
    home.spawn_program(start).finish().ok();
    let witness = Witness::start(&home);
    let before = Daemon::of(&home);
    assert_eq!(program_of(&before.supervisor), installed);
    // As a package manager does it: another file under the same name; here one that would never work.
    let other = home.folder().join("other");
    install("/bin/false", &other);
    std::fs::rename(&other, &installed).expect("renamed");
    replace_supervisor(&home);
    witness.assert_untouched(&home, "replaced");
    std::fs::remove_file(&installed).expect("removed");
    replace_supervisor(&home);
    let guardian = home.guardian().expect("a guardian");
    guardian.signal(ostler_e2e::Signal::KILL);
    guardian.wait_gone();
    Daemon::of(&home);
    witness.assert_untouched(&home, "removed");
    // The real program is installed again, and takes over.
    install(Home::binary(), &installed);
    home.ostler(&["upgrade", text(&installed)]).ok();
    assert_eq!(program_of(&Daemon::of(&home).supervisor), installed);
    witness.assert_untouched(&home, "upgraded");
    witness.finish(&home);
}

/// D10: `reload --self` starts the supervisor anew from the program on disk.
#[test]
fn reload_self_starts_the_supervisor_anew() {
    let home = quick_home();
    let witness = Witness::start(&home);
    let before = Daemon::of(&home);
    home.ostler(&["reload", "--self"]).ok();
    let after = Daemon::of(&home);
    assert_eq!(after.guardian, before.guardian);
    assert_ne!(after.supervisor, before.supervisor);
    assert_eq!(state_file(&home)["crash_count"], 0);
    witness.assert_untouched(&home, "reloaded");
    witness.finish(&home);
}

/// D10, D9: the guardian dies, then an upgrade, then the supervisor crashes: no run is lost.
#[test]
fn an_upgrade_under_a_new_guardian() {
    let home = quick_home();
    let witness = Witness::start(&home);
    let old = home.guardian().expect("a guardian");
    old.signal(ostler_e2e::Signal::KILL);
    old.wait_gone();
    ostler_e2e::eventually("the new guardian is known", || {
        status(&home)["pid"].as_i64().filter(|pid| *pid as i32 != old.pid)
    });
    let new = copy(&home, "ostler-next");
    home.ostler(&["upgrade", text(&new)]).ok();
    let supervisor = Daemon::of(&home).supervisor;
    assert_eq!(program_of(&supervisor), new);
    home.kill_supervisor();
    answering(&home, &supervisor);
    witness.assert_untouched(&home, "crashed");
    witness.finish(&home);
}

/// D10: without a daemon: exit 3, and no daemon is started.
#[test]
fn upgrade_when_nothing_runs_is_exit_3() {
    let home = Home::new();
    let output = home.ostler(&["upgrade"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(home.processes().is_empty());
}
