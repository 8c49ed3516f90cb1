//! Starting the daemon: a home has one owner, and `start` prints its pid.

use crate::daemon::setup::{Daemon, all, pid_in_file, state_file, status};
use ostler_e2e::{Home, Signal, eventually};

/// D1: the daemon answers when `start` returns, and both pids are printed, as text and as JSON.
#[test]
fn start_returns_when_the_daemon_answers_and_prints_the_pids() {
    let home = Home::new();
    let output = home.ostler(&["start"]).ok().text();
    let pinged = home.ostler(&["--no-start", "runs", "--json"]).ok();
    assert_eq!(pinged.json(), serde_json::json!([]), "the daemon answers at once");
    let Daemon { guardian, supervisor } = Daemon::of(&home);
    let pids = format!("{} (guardian), {} (supervisor)", guardian.pid, supervisor.pid);
    assert!(output.contains("started") && output.contains(&pids), "{output}");
    assert!(output.contains("Daemon:  running"), "{output}");
    assert_eq!(pid_in_file(&home), Some(guardian.pid), "the pid file has the guardian's pid");
    home.stop();
    let output = home.ostler(&["start", "--json"]).ok().json();
    let Daemon { guardian, supervisor } = Daemon::of(&home);
    assert_eq!(
        (&output["pid"], &output["supervisorPid"]),
        (&guardian.pid.into(), &supervisor.pid.into())
    );
    assert_eq!(output["running"], true);
}

/// D1: a second start prints the owner of the home, and changes nothing.
#[test]
fn a_second_start_prints_the_owner_and_changes_nothing() {
    let home = Home::new();
    let daemon = Daemon::start(&home);
    let before = std::fs::read(home.file("supervisor.json")).expect("a file");
    let again = home.ostler(&["start"]).ok();
    let pids =
        format!("{} (guardian), {} (supervisor)", daemon.guardian.pid, daemon.supervisor.pid);
    assert!(again.text().contains("already running"), "{again:?}");
    assert!(again.text().contains(&pids), "{again:?}");
    assert_eq!(Daemon::of(&home), daemon);
    assert_eq!(std::fs::read(home.file("supervisor.json")).expect("a file"), before);
}

/// D1: the daemon has its own session, no terminal, and outlives the process that started it.
#[test]
fn the_daemon_is_detached_from_the_process_that_started_it() {
    let home = Home::new();
    let script = format!("{} start; exec sleep 961", Home::binary().display());
    let mut command = home.program("setsid");
    command.args(["sh", "-c", &script]);
    let starter = home.spawn_program(command);
    starter.until_written("Home:");
    let daemon = Daemon::of(&home);
    let session = starter.process().session();
    assert_ne!(daemon.guardian.session(), session);
    assert_eq!(daemon.guardian.session(), daemon.guardian.pid, "it leads its own");
    rustix::process::kill_process_group(
        rustix::process::Pid::from_raw(session).expect("a group"),
        Signal::KILL,
    )
    .expect("our own");
    starter.finish();
    assert_eq!(Daemon::of(&home), daemon);
    assert_eq!(status(&home)["running"], true);
    for process in [&daemon.guardian, &daemon.supervisor] {
        let folder = std::fs::read_link(format!("/proc/{}/cwd", process.pid)).expect("a folder");
        let kept = [std::path::Path::new("/"), home.path()];
        assert!(kept.contains(&folder.as_path()), "{process:?} is in {folder:?}");
    }
}

/// D1: six at once: one owner, six answers that name it.
#[test]
fn six_concurrent_starts_have_one_owner() {
    for _ in 0..3 {
        let home = Home::new();
        let calls: Vec<_> = (0..6).map(|_| home.spawn(&["start"])).collect();
        let answers: Vec<_> = calls.into_iter().map(|call| call.finish().ok().text()).collect();
        let daemon = Daemon::of(&home);
        let gateway = format!("{} (supervisor)", daemon.supervisor.pid);
        for answer in &answers {
            assert!(answer.contains(&gateway), "{answer}");
            assert!(answer.contains(&format!("{} (guardian)", daemon.guardian.pid)), "{answer}");
        }
        let starters = answers.iter().filter(|answer| answer.starts_with("started")).count();
        let description =
            answers.iter().filter(|answer| answer.starts_with("already running")).count();
        assert_eq!((starters, description), (1, 5), "{answers:?}");
        assert_eq!(state_file(&home)["pid"], daemon.guardian.pid);
        assert_eq!(state_file(&home)["crash_count"], 0, "no start was counted as a crash");
        assert_eq!(crate::daemon::setup::crash_log(&home), b"");
    }
}

/// D1: every command that needs the daemon starts it; `--no-start` and `status` do not.
#[test]
fn verbs_start_the_daemon_by_themselves() {
    for verb in [&["runs"][..], &["metrics"], &["events"], &["run", "--", "true"]] {
        let home = Home::new();
        for quiet in [&["--no-start", "runs"][..], &["status"], &["stop"], &["reload", "--self"]] {
            let output = home.ostler(quiet);
            assert_eq!(output.code, 3, "{quiet:?}: {output:?}");
        }
        assert!(home.processes().is_empty());
        home.ostler(verb).ok();
        Daemon::of(&home);
    }
}

/// D1: the lock decides, not a file that was left behind.
#[test]
fn files_left_behind_do_not_prevent_a_start() {
    let home = Home::new();
    Daemon::start(&home);
    home.kill_daemon();
    for name in ["ostler.pid", "supervisor.json", "guardian.sock"] {
        assert!(home.file(name).exists(), "{name} was left behind");
    }
    let output = home.ostler(&["start"]).ok().text();
    assert!(output.starts_with("started"), "{output}");
    let daemon = Daemon::of(&home);
    assert_eq!(pid_in_file(&home), Some(daemon.guardian.pid));
}

/// D1, D2: an invalid setting is an error at once; `start` does not wait in vain.
#[test]
fn a_refused_start_is_an_error_and_leaves_no_process() {
    let home = Home::with(&[("OSTLER_LEASE", "banana")]);
    let began = std::time::Instant::now();
    let output = home.ostler(&["start"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("OSTLER_LEASE"), "{output:?}");
    assert!(began.elapsed().as_secs() < 10);
    eventually("no process is left", || home.processes().is_empty().then_some(()));
    assert_eq!(all(&home, "guardian"), []);
}
