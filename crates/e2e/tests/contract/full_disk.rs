//! No room: a run is refused or goes on, is never lost, and the error says which disk.

use ostler_e2e::{Home, eventually, helper};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Takes all the room that is left.
fn fill(disk: &Path) -> PathBuf {
    let path = disk.join("filler");
    let mut file = std::fs::File::create(&path).expect("a file");
    for size in [64 << 10, 4096, 512, 16, 1] {
        let part = vec![0u8; size];
        while file.write_all(&part).is_ok() {}
    }
    path
}

fn skipped() {
    ostler_e2e::skipped("a disk cannot be mounted here (needs root)");
}

/// X1, R12: no room for the log: the run goes on to its end, what was lost is told.
#[test]
fn a_full_disk_for_logs_does_not_end_a_run() {
    let mut home = Home::new();
    let registry = home.folder().join("r.db").to_str().expect("a path").to_owned();
    home.set("OSTLER_REGISTRY", &registry);
    // By default a run's output has a tenth of the disk, and would never fill it.
    home.set("OSTLER_OUTPUT_BYTES", "1000000000");
    let Some(disk) = home.small_disk("h", 4 << 20) else { return skipped() };
    let result = home.run(&[], &[helper!("flood"), "12000000", "23"]);
    assert_eq!(result["exitCode"], 23, "{}", result["termination"]);
    assert_eq!(result["termination"], "exit");
    let run = result["runId"].as_str().expect("an id");
    let lost = home.event(run, "output-lost");
    assert!(lost.to_string().contains("space") || lost.to_string().contains("full"), "{lost}");
    let log = home.ostler(&["logs", run]);
    assert!(!log.stdout.is_empty(), "what could be kept is kept");

    // No room at all: still, a run is a run.
    std::fs::remove_dir_all(disk.join("runs").join(run)).expect("removed");
    let filler = fill(&disk);
    let output = home.ostler(&["run", "--json", "--", "sh", "-c", "echo unkept; exit 3"]);
    if output.code == 125 {
        assert!(output.stderr.contains("space") || output.stderr.contains("full"), "{output:?}");
    } else {
        assert_eq!(output.code, 3, "{output:?}");
    }
    std::fs::remove_file(filler).expect("removed");
    let result = home.run(&[], &["echo", "kept"]);
    assert_eq!(result["stdout"], "kept\n", "and with room all is well again");
}

/// R12: who reads the log later is told that its end is not there.
#[test]
fn a_log_that_lost_its_end_says_so() {
    let mut home = Home::new();
    let registry = home.folder().join("r.db").to_str().expect("a path").to_owned();
    home.set("OSTLER_REGISTRY", &registry);
    if home.small_disk("h", 4 << 20).is_none() {
        return skipped();
    }
    let result = home.run(&[], &[helper!("flood"), "12000000", "23"]);
    let run = result["runId"].as_str().expect("an id");
    let log = home.ostler(&["logs", run]);
    assert!(log.stdout.len() < 12_000_000);
    assert!(log.stderr.contains("not stored"), "{:?}", log.stderr);
}

/// X1: no room for the registry: a new run is refused with the reason; the live ones go on, and nothing of
/// them is lost once there is room.
#[test]
fn a_full_disk_for_the_registry_refuses_new_runs_and_loses_none() {
    let mut home = Home::new();
    let Some(disk) = home.small_disk("disk", 4 << 20) else { return skipped() };
    let registry = disk.join("r.db").to_str().expect("a path").to_owned();
    home.set("OSTLER_REGISTRY", &registry);
    let going = home.start(&[], &["sleep", "900"]);
    let ending = home.start(&["--stdin"], &["sh", "-c", "read line; exit 8"]);
    let cancelled = home.start(&["--grace", "500ms"], &[helper!("ignore_term")]);
    let supervisor = home.supervisor_pid();
    let (root, doomed) = (home.root(&going), home.root(&cancelled));
    let filler = fill(&disk);
    // Pages that were already there may take a few more.
    let mut refused = None;
    for _ in 0..200 {
        let output = home.ostler(&["run", "--", "true"]);
        if output.code != 0 {
            refused = Some(output);
            break;
        }
    }
    let refused = refused.expect("a full disk refuses");
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.stderr.contains("full"), "{refused:?}");
    assert!(refused.stderr.contains("registry"), "it says which: {refused:?}");
    assert!(root.is_alive(), "a live run goes on");
    // Ending needs no disk.
    let cancel = home.spawn(&["cancel", &cancelled]);
    doomed.wait_gone();
    home.ostler(&["write", &ending, "--text", "go\n"]).ok();
    assert_eq!(home.supervisor_pid(), supervisor);

    std::fs::remove_file(filler).expect("removed");
    cancel.finish();
    assert_eq!(home.wait(&cancelled)["termination"], "manual-cancel");
    let result = home.wait(&ending);
    assert_eq!((&result["termination"], &result["exitCode"]), (&"exit".into(), &8.into()));
    assert_eq!(home.record(&going)["state"], "running");
    eventually("there is room again", || {
        (home.ostler(&["run", "--", "true"]).code == 0).then_some(())
    });
    for run in [&cancelled, &ending] {
        assert_eq!(home.count(run, "exited"), 1);
        let stored = ostler_e2e::Registry::open(&home)
            .text(&format!("SELECT state FROM runs WHERE run_id = '{run}'"));
        assert_eq!(stored, "exited", "durably");
    }
    // No run of those that were refused is in the books as live.
    let live = home.records().iter().filter(|record| record["state"] != "exited").count();
    assert_eq!(live, 1);
    assert_eq!(home.supervisor_pid(), supervisor);
}

/// X1: no room when the supervisor starts: told, and nothing half-started.
#[test]
fn a_full_disk_at_the_start_is_told() {
    let mut home = Home::new();
    let Some(disk) = home.small_disk("h", 1 << 20) else { return skipped() };
    let filler = fill(&disk);
    let output = home.ostler(&["runs"]);
    assert_ne!(output.code, 0, "{output:?}");
    assert!(!output.stderr.contains("panicked"), "{output:?}");
    assert!(output.stderr.contains("space") || output.stderr.contains("full"), "{output:?}");
    assert!(home.processes().is_empty());
    std::fs::remove_file(filler).expect("removed");
    assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
}

/// R16, X1: a run that was recorded, and waited for its place, has it though the end of the one before cannot be
/// written for want of room.
#[test]
fn one_that_waited_for_its_place_is_started_on_a_full_disk() {
    let mut home = Home::new();
    let Some(disk) = home.small_disk("disk", 4 << 20) else { return skipped() };
    let registry = disk.join("r.db").to_str().expect("a path").to_owned();
    home.set("OSTLER_REGISTRY", &registry);
    let scope = ["--scope", "place", "--grace", "2s"];
    let older = home.start(&scope, &[helper!("ignore_term"), "1"]);
    let root = home.root(&older);
    let newer = home.spawn(&["run", "-d", "--scope", "place", "--", "sleep", "900"]);
    let waiting = "SELECT count(*) FROM runs WHERE state = 'starting' AND scope_key = 'place'";
    eventually("the newer one is recorded", || {
        (ostler_e2e::Registry::open(&home).number(waiting) == 1).then_some(())
    });
    let filler = fill(&disk);
    // Pages that were already there may take a few more.
    while home.ostler(&["run", "--", "true"]).code == 0 {}
    assert!(root.is_alive(), "the older one still has its grace");
    root.wait_gone();
    let newer = newer.finish();
    std::fs::remove_file(filler).expect("removed");
    assert_eq!(newer.code, 0, "{newer:?}");
    eventually("there is room again, and nothing is owed", || {
        let left = ostler_e2e::Registry::open(&home).number(waiting);
        (left == 0 && home.ostler(&["run", "--", "true"]).code == 0).then_some(())
    });
    let newer = home.record(newer.text().trim());
    assert_eq!(newer["state"], "running", "{newer}");
    assert_eq!(home.record(&older)["state"], "exited");
}
