//! SIGKILL of the supervisor at every commit in turn: afterwards every process has an owner and every record is true.

use crate::setup::Setup;
use ostler_e2e::{Background, Home, Process, eventually, helper};
use serde_json::Value;

/// A long run, one that exits, one that is cancelled, one that is replaced; each call may find no supervisor.
fn scenario(home: &Home) {
    let run = |options: &[&str], command: &[&str]| {
        let arguments = [&["--no-start", "run", "-d"], options, &["--"], command].concat();
        home.ostler(&arguments).text().trim().to_owned()
    };
    let long = run(&["--grace", "300ms"], &[helper!("ignore_term"), "1"]);
    let short = run(&[], &["sh", "-c", "echo done; exit 4"]);
    home.ostler(&["--no-start", "wait", &short]);
    run(&["--scope", "k"], &["sh", "-c", "sleep 950 & wait"]);
    run(&["--scope", "k"], &["sleep", "951"]);
    run(&[], &["/no/such/program"]);
    home.ostler(&["--no-start", "cancel", &long]);
    run(&[], &["sh", "-c", "sleep 952 & wait"]);
}

/// What must hold once a supervisor runs again and has reconciled its runs.
fn assert_true(home: &Home, description: &str) {
    eventually(&format!("{description}: the ending runs have ended"), || {
        home.records()
            .iter()
            .all(|record| record["state"] == "running" || record["state"] == "exited")
            .then_some(())
    });
    let records = home.records();
    let owner = |process: &Process| {
        records.iter().find(|record| {
            let run = record["runId"].as_str().unwrap_or_default();
            process.has_variable(&format!("OSTLER_RUN_ID={run}"))
        })
    };
    for process in home.processes_of_runs() {
        let record = owner(&process);
        assert!(
            record.is_some_and(|record| record["state"] == "running"),
            "{description}: {process:?} is unowned: {record:?}"
        );
    }
    for record in &records {
        let pid = record["pid"].as_i64().map(|pid| pid as i32);
        match record["state"].as_str() {
            Some("running") => {
                let process = pid.and_then(Process::find);
                let process =
                    process.unwrap_or_else(|| panic!("{description}: no process of {record}"));
                assert_eq!(record["startTime"], process.start_time, "{description}: {record}");
                assert!(record["leaseExpiresAtMs"].is_u64());
            }
            Some("exited") => {
                assert!(record["termination"].is_string(), "{description}: {record}");
                assert_eq!(record["leaseExpiresAtMs"], Value::Null);
            }
            _ => panic!("{description}: {record}"),
        }
        let run = record["runId"].as_str().expect("an id");
        let ends = usize::from(record["state"] == "exited");
        assert_eq!(home.count(run, "exited"), ends, "{description}: {record}");
    }
}

/// Starts a supervisor without a guardian, and waits until it is ready or has died.
fn unguarded(home: &Home, failpoint: &str) -> Background {
    let mut command = home.command(&["supervisor"]);
    command.env("OSTLER_FAILPOINT", failpoint);
    let mut supervisor = home.spawn_program(command);
    eventually("the supervisor is ready, or dead", || {
        let is_ready = home.ostler(&["--no-start", "status"]).text().contains("(supervisor)");
        (is_ready || supervisor.is_over()).then_some(())
    });
    supervisor
}

fn crash_at(setup: Setup, side: &str) {
    let mut survived = false;
    for number in 1..200 {
        let description = format!("{setup:?} {side}:{number}");
        let home = setup.home_with(&[]);
        let supervisor = unguarded(&home, &format!("{side}:{number}"));
        scenario(&home);
        survived = home.supervisor().is_some();
        if survived {
            // It would still die at the next commit, during the following checks.
            home.kill_supervisor();
        }
        drop(supervisor);
        if !survived && number % 3 == 0 {
            // The supervisor that cleans up may die at a commit too.
            let successor = unguarded(&home, &format!("{side}:{}", number / 3 % 4 + 1));
            home.ostler(&["--no-start", "runs"]);
            if home.supervisor().is_some() {
                home.kill_supervisor();
            }
            drop(successor);
        }
        assert_true(&home, &description);
        home.stop();
        if survived {
            println!("{description}: survived");
            break;
        }
    }
    assert!(survived, "the scenario has an end");
}

/// R2, R15
#[test]
fn killed_before_every_commit() {
    crash_at(Setup::PIPE, "before");
}

/// R2, R15
#[test]
fn killed_after_every_commit() {
    crash_at(Setup::PIPE, "after");
}

/// R2, R15
#[test]
fn killed_before_every_commit_without_cgroup() {
    crash_at(Setup::PIPE_WITHOUT_CGROUP, "before");
}

/// R2, R15
#[test]
fn killed_after_every_commit_without_cgroup() {
    crash_at(Setup::PIPE_WITHOUT_CGROUP, "after");
}

/// R2, R15: killed between the start of a program and the record of its process, which had ended before the next supervisor looked:
/// its exit code is known.
#[test]
fn a_run_that_ended_before_its_process_was_recorded_has_its_exit_code() {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a version");
    let mut numbers = kernel.split('.').map(|number| number.parse().unwrap_or(0));
    if (numbers.next(), numbers.next()) < (Some(6), Some(15)) {
        let kernel = kernel.trim();
        return ostler_e2e::skipped(&format!(
            "Linux {kernel} does not report the exit status of a process that is not a child"
        ));
    }
    let mut home = Home::new();
    let file = home.folder().join("now");
    home.set("OSTLER_FAILPOINT", &format!("before:2:{}", file.display()));
    home.ostler(&["start"]).ok();
    let ended = (0..5).find_map(|_| {
        let old = home.supervisor();
        std::fs::write(&file, "").expect("written");
        let output = home.ostler(&["run", "--", "sh", "-c", "echo heard; exit 4"]);
        assert_ne!(home.supervisor(), old, "the supervisor was killed");
        assert!(!output.stderr.contains("how it ended is unknown"), "{output:?}");
        // The lease may have been renewed just then: it was killed before the run was recorded.
        (output.code != 125).then_some(output)
    });
    let ended = ended.expect("killed between start and record");
    assert_eq!((ended.code, ended.text().as_str()), (4, "heard\n"), "{ended:?}");
}
