//! Events that happen to the daemon at almost the same time, with every delay between them.

use crate::daemon::setup::{
    Counting, Daemon, QUICK, all, answering, crash_log, quick_home, replace_supervisor, state_file,
    status,
};
use ostler_e2e::{Home, Signal, eventually};
use std::time::Duration;

/// Delays between two events, from none to longer than a start.
const DISTANCES_MS: [u64; 8] = [0, 1, 2, 4, 8, 15, 30, 60];

/// D9, D1: the guardian and then the supervisor is killed, so soon that the new guardian may hold nothing yet: the other
/// process goes on or exits; after the next start there is one of each, and nothing runs twice.
#[test]
fn guardian_and_supervisor_killed_with_every_delay() {
    for distance in DISTANCES_MS {
        let home = quick_home();
        let script = "trap '' HUP; echo ready; exec sleep 979";
        let run = home.start_ready(&[], &["sh", "-c", script]);
        let root = home.root(&run);
        let daemon = Daemon::of(&home);
        daemon.guardian.signal(Signal::KILL);
        // The delay between the two events, not a wait for something.
        std::thread::sleep(Duration::from_millis(distance));
        daemon.supervisor.signal(Signal::KILL);
        daemon.supervisor.wait_gone();
        home.ostler(&["start"]).ok();
        let after = Daemon::of(&home);
        assert_eq!(home.root(&run), root, "{distance} ms");
        assert_eq!(home.processes_of_runs(), [root], "{distance} ms: once");
        assert_eq!(status(&home)["pid"], after.guardian.pid, "{distance} ms");
        // No supervisor crashes repeatedly beside the owner of the home.
        let crashes = crash_log(&home);
        for _ in 0..5 {
            home.run(&[], &["sleep", "0.05"]);
        }
        assert_eq!(crash_log(&home), crashes, "{distance} ms");
        assert_eq!(Daemon::of(&home), after, "{distance} ms");
        home.ostler(&["stop"]).ok();
        eventually("no process is left", || home.processes().is_empty().then_some(()));
    }
}

/// D9, D4: a stop just after the guardian was killed is final.
#[test]
fn stop_just_after_the_guardian_was_killed() {
    for distance in DISTANCES_MS {
        let home = quick_home();
        let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 980"]);
        let daemon = Daemon::of(&home);
        daemon.guardian.signal(Signal::KILL);
        // The delay between the two events, not a wait for something.
        std::thread::sleep(Duration::from_millis(distance));
        home.ostler(&["stop"]).ok();
        assert!(!daemon.supervisor.is_alive(), "{distance} ms");
        eventually("no process is left and none is started", || {
            home.processes().is_empty().then_some(())
        });
        assert_eq!(home.ostler(&["status"]).code, 3, "{distance} ms");
        assert_eq!(home.record(&run)["termination"], "manual-cancel", "{distance} ms");
    }
}

/// D4, D3: a stop just after the supervisor was killed.
#[test]
fn stop_just_after_the_supervisor_was_killed() {
    for distance in DISTANCES_MS {
        let home = Home::with(&[("OSTLER_WAIT_MS", "20")]);
        let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 981"]);
        let daemon = Daemon::of(&home);
        daemon.supervisor.signal(Signal::KILL);
        // The delay between the two events, not a wait for something.
        std::thread::sleep(Duration::from_millis(distance));
        home.ostler(&["stop"]).ok();
        assert!(!daemon.guardian.is_alive(), "{distance} ms");
        assert_eq!(home.processes(), [], "{distance} ms");
        let record = home.record(&run);
        assert_eq!(record["termination"], "manual-cancel", "{distance} ms: {record}");
    }
}

/// D4: stop is final: clients that wait or follow do not start the daemon again.
#[test]
fn clients_that_wait_or_follow_do_not_restart_a_stopped_daemon() {
    let home = Home::new();
    let flood = Counting::start(&home, &[], 2_000, 1, 0);
    home.until_logged(&flood.run, "line 9999\n");
    let mut slowly = home.program("sh");
    let script = "\"$0\" logs -f \"$1\" | dd bs=4 status=none of=/dev/null";
    slowly.args(["-c", script]).arg(Home::binary()).arg(&flood.run);
    let slow = home.spawn_program(slowly);
    let others: Vec<_> = [
        &["wait", &flood.run][..],
        &["logs", "-f", &flood.run],
        &["events", "-f"],
        &["attach", "--read-only", &flood.run],
    ]
    .map(|words| home.spawn(words))
    .into();
    home.until_logged(&flood.run, "line 29999\n");
    let daemon = Daemon::of(&home);
    home.ostler(&["stop"]).ok();
    assert!(!daemon.guardian.is_alive() && !daemon.supervisor.is_alive());
    for other in others {
        other.finish();
    }
    slow.finish();
    assert_eq!(home.processes(), []);
    assert_eq!(home.ostler(&["status"]).code, 3);
}

/// D1, D4: starts and stops at once: each has an answer, and there are never two daemons.
#[test]
fn starts_and_stops_at_once() {
    let home = Home::new();
    for _ in 0..6 {
        let calls: Vec<_> = ["start", "stop", "start", "stop", "start", "start"]
            .into_iter()
            .map(|verb| (verb, home.spawn(&[verb])))
            .collect();
        for (verb, call) in calls {
            let output = call.finish();
            let fits = match verb {
                "start" => output.code == 0,
                _ => [0, 3].contains(&output.code),
            };
            assert!(fits, "{verb}: {output:?}");
        }
        assert!(all(&home, "supervisor").len() <= 1);
        home.ostler(&["start"]).ok();
        Daemon::of(&home);
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
    }
}

/// D10, D8: an upgrade while the supervisor is killed: one of each afterwards, and the runs go on.
#[test]
fn an_upgrade_and_a_kill_with_every_delay() {
    let home = quick_home();
    let counting = Counting::start(&home, &[], 10, 2, 41);
    for distance in DISTANCES_MS {
        let before = Daemon::of(&home).supervisor;
        let upgrade = home.spawn(&["upgrade"]);
        // The delay between the two events, not a wait for something.
        std::thread::sleep(Duration::from_millis(distance));
        if let Some(supervisor) = home.supervisor() {
            supervisor.signal(Signal::KILL);
        }
        let output = upgrade.finish();
        assert!([0, 1].contains(&output.code), "{distance} ms: {output:?}");
        answering(&home, &before);
        Daemon::of(&home);
        assert_eq!(home.root(&counting.run), counting.root, "{distance} ms");
    }
    counting.end();
    assert_eq!(home.wait(&counting.run)["exitCode"], 41);
    counting.assert_whole(&home);
}

/// D10: several upgrades at once, while runs are started: each run is started once.
#[test]
fn upgrades_at_once_while_runs_are_started() {
    let home = quick_home();
    let counting = Counting::start(&home, &["--pty"], 10, 2, 42);
    let upgrades: Vec<_> = (0..3).map(|_| home.spawn(&["upgrade"])).collect();
    let starts: Vec<_> =
        (0..12).map(|_| home.spawn(&["run", "-d", "--stdin", "--", "cat"])).collect();
    for upgrade in upgrades {
        let output = upgrade.finish();
        assert!([0, 1].contains(&output.code), "{output:?}");
    }
    let outputs: Vec<_> = starts.into_iter().map(|start| start.finish()).collect();
    let runs: Vec<_> = outputs.iter().filter(|output| output.code == 0).collect();
    assert_eq!(runs.len(), 12, "no request is refused because of an upgrade: {outputs:?}");
    for output in runs {
        let run = output.text().trim().to_owned();
        home.root(&run);
        home.ostler(&["write", &run, "--eof", "--text", "heard\n"]).ok();
        assert_eq!(home.wait(&run)["exitCode"], 0);
        assert_eq!(home.ostler(&["logs", &run]).ok().text(), "heard\n");
    }
    Daemon::of(&home);
    assert_eq!(state_file(&home)["crash_count"], 0);
    counting.end();
    assert_eq!(home.wait(&counting.run)["exitCode"], 42);
    counting.assert_whole(&home);
}

/// D8, R1: a run of a replaced supervisor inherits neither the handed-over descriptors nor its environment.
#[test]
fn a_run_of_the_next_supervisor_inherits_nothing() {
    let home = Home::with(&[QUICK]);
    home.start_ready(&["--pty", "--stdin"], &["sh", "-c", "echo ready; exec sleep 982"]);
    for _ in 0..2 {
        for option in [&[][..], &["--pty"], &["--stdin"]] {
            let result = home.run(option, &["sh", "-c", "ls /proc/self/fd | wc -l; env"]);
            let text = result["stdout"].as_str().expect("text");
            // Stdio, and the folder that `ls` itself has open.
            assert_eq!(text.lines().next().map(str::trim), Some("4"), "{option:?}: {text}");
            for word in ["LISTEN_", "NOTIFY_SOCKET", "WATCHDOG_", "OSTLER_GUARDIAN"] {
                assert!(!text.contains(word), "{option:?}: {text}");
            }
        }
        replace_supervisor(&home);
    }
}
