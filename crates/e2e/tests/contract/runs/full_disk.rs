//! A full disk: a run is refused or goes on, is never lost, and the error names the disk.

use ostler_e2e::{Home, eventually, helper};
use std::io::Write;
use std::path::{Path, PathBuf};

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

fn skipped() {
    ostler_e2e::skipped("a disk cannot be mounted here (needs root)");
}

/// X1, R12: the log's disk is full: the run goes on to its end, and the gap is reported.
#[test]
fn a_full_disk_for_logs_does_not_end_a_run() {
    let mut home = Home::new();
    let registry = home.folder().join("r.db").to_str().expect("a path").to_owned();
    home.set("OSTLER_REGISTRY", &registry);
    // By default a run's output may use a tenth of the disk, and would never fill it.
    home.set("OSTLER_OUTPUT_BYTES", "1000000000");
    let Some(disk) = home.small_disk("h", 4 << 20) else { return skipped() };
    let result = home.run(&[], &[helper!("flood"), "12000000", "23"]);
    assert_eq!(result["exitCode"], 23, "{}", result["termination"]);
    assert_eq!(result["termination"], "exit");
    let run = result["runId"].as_str().expect("an id");
    let lost = home.event(run, "output-lost");
    assert!(lost.to_string().contains("space") || lost.to_string().contains("full"), "{lost}");
    let log = home.ostler(&["logs", run]);
    assert!(!log.stdout.is_empty(), "the part that fitted is kept");

    // No space at all: a run works without its log.
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
    assert_eq!(result["stdout"], "kept\n", "with free space the log works again");
}

/// R12: a later `logs` reports that the end is missing.
#[test]
fn a_log_that_lost_its_end_reports_the_gap() {
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

/// R12, X1: output was lost because the disk was full, and the supervisor was killed before it could record that: the next one
/// records it, and does not join what was written before and after.
#[test]
fn output_lost_before_a_kill_is_recorded_by_the_next_supervisor() {
    let mut home = Home::new();
    let Some(disk) = home.small_disk("h", 4 << 20) else { return skipped() };
    let script = "echo before; read a; seq 1 2000; read b; echo after; read c";
    let run = home.start(&["--stdin"], &["sh", "-c", script]);
    home.until_logged(&run, "before");
    let filler = fill(&disk);
    // Pages that were already there may take a few more.
    while home.ostler(&["run", "--", "true"]).code == 0 {}
    home.ostler(&["write", &run, "--text", "\n"]).ok();
    // Shown from memory: nothing else has it.
    home.until_logged(&run, "2000");
    home.kill_supervisor();
    std::fs::remove_file(filler).expect("removed");

    let lost = home.event(&run, "output-lost")["evidence"].clone();
    let log = disk.join("runs").join(&run).join("00000000000000000000.log");
    let kept = std::fs::metadata(log).expect("a log").len();
    assert_eq!(lost["fromOffset"].as_u64(), Some(kept), "{lost}");
    let written: u64 = "before\n".len() as u64
        + (1..=2000u32).map(|line| line.to_string().len() as u64 + 1).sum::<u64>();
    assert_eq!(lost["toOffset"].as_u64(), Some(written), "{lost}");
    home.ostler(&["write", &run, "--text", "\n"]).ok();
    home.until_logged(&run, "after");
    let next = disk.join("runs").join(&run).join(format!("{written:020}.log"));
    assert_eq!(std::fs::read_to_string(next).expect("a second part"), "after\n");
    home.kill_supervisor();
    home.until_logged(&run, "after");
    assert_eq!(
        home.count(&run, "output-lost"),
        2,
        "no loss is recorded again: its begin, and its end"
    );
}

/// X1: the registry's disk is full: a new run is refused with the reason; the live ones go on, and nothing of
/// them is lost once there is space.
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
    // Allocated pages may hold a few more.
    let mut refused = None;
    for _ in 0..200 {
        let output = home.ostler(&["run", "--", "true"]);
        if output.code != 0 {
            refused = Some(output);
            break;
        }
    }
    let refused = refused.expect("runs are refused on a full disk");
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.stderr.contains("full"), "{refused:?}");
    assert!(refused.stderr.contains("registry"), "the error names the disk: {refused:?}");
    assert!(root.is_alive(), "a live run goes on");
    // Ending a run needs no disk.
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
    eventually("the disk has space again", || {
        (home.ostler(&["run", "--", "true"]).code == 0).then_some(())
    });
    for run in [&cancelled, &ending] {
        assert_eq!(home.count(run, "exited"), 1);
        let stored = ostler_e2e::Registry::open(&home)
            .text(&format!("SELECT state FROM runs WHERE run_id = '{run}'"));
        assert_eq!(stored, "exited", "durably");
    }
    // No refused run is recorded as live.
    let live = home.records().iter().filter(|record| record["state"] != "exited").count();
    assert_eq!(live, 1);
    assert_eq!(home.supervisor_pid(), supervisor);
}

/// X1: the disk is full when the supervisor starts: an error, and no process is left.
#[test]
fn a_full_disk_at_the_start_is_an_error() {
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

/// R16, X1: a recorded run that waited for its scope starts although the end of the earlier one cannot be
/// written on a full disk.
#[test]
fn a_run_that_waited_for_its_scope_is_started_on_a_full_disk() {
    let mut home = Home::new();
    let Some(disk) = home.small_disk("disk", 4 << 20) else { return skipped() };
    let registry = disk.join("r.db").to_str().expect("a path").to_owned();
    home.set("OSTLER_REGISTRY", &registry);
    let scope = ["--scope", "place", "--grace", "2s"];
    let older = home.start(&scope, &[helper!("ignore_term"), "1"]);
    let root = home.root(&older);
    let newer = home.spawn(&["run", "-d", "--scope", "place", "--", "sleep", "900"]);
    let waiting = "SELECT count(*) FROM runs WHERE state = 'starting' AND scope_key = 'place'";
    eventually("the newer run is recorded", || {
        (ostler_e2e::Registry::open(&home).number(waiting) == 1).then_some(())
    });
    let filler = fill(&disk);
    // Allocated pages may hold a few more.
    while home.ostler(&["run", "--", "true"]).code == 0 {}
    assert!(root.is_alive(), "the older run is in its grace period");
    root.wait_gone();
    let newer = newer.finish();
    std::fs::remove_file(filler).expect("removed");
    assert_eq!(newer.code, 0, "{newer:?}");
    eventually("the disk has space again, and everything is written", || {
        let left = ostler_e2e::Registry::open(&home).number(waiting);
        (left == 0 && home.ostler(&["run", "--", "true"]).code == 0).then_some(())
    });
    let newer = home.record(newer.text().trim());
    assert_eq!(newer["state"], "running", "{newer}");
    assert_eq!(home.record(&older)["state"], "exited");
}

/// P8, X1: the shim of a session wrote the pane's note, and the disk was full for the one that names the program. It
/// tries again: once there is space, `ls` shows the program's pid.
#[test]
fn a_session_is_listed_with_its_program_once_the_disk_has_space() {
    ostler_e2e::needs!("tmux");
    let mut tmux = crate::tmux::setup::Tmux::new();
    // One page: the first note fits; the second, which replaces it, does not fit beside it.
    let Some(disk) = tmux.project.home.small_disk("h/tmux", 4096) else { return skipped() };
    tmux.project.declare(&[("a", &crate::tmux::setup::unit(crate::tmux::setup::IDLE, ""))]);
    tmux.project.up();
    tmux.until_logged("a", "hello");
    let pane = tmux.private(&["list-panes", "-a", "-F", "#{pane_pid}"]).text();
    let pane: i32 = pane.trim().parse().expect("a pid");
    let program = |note: &str| note.split(' ').next().and_then(|pid| pid.parse::<i32>().ok());
    let note = || {
        std::fs::read_dir(&disk)
            .expect("a folder")
            .flatten()
            .find_map(|entry| entry.file_name().to_str()?.ends_with(".pane").then(|| entry.path()))
    };
    let text = || std::fs::read_to_string(note().expect("a note")).expect("text");
    assert_eq!(program(&text()), Some(pane), "there was no space for the second note: {}", text());

    tmux.project.home.resize_disk(&disk, 1 << 20);
    let shown = eventually("the program's pid is listed", || {
        let pid = tmux.project.view("a")["pid"].as_i64()?;
        (pid != i64::from(pane)).then_some(pid)
    });
    assert_eq!(program(&text()).map(i64::from), Some(shown));
    let process = tmux.project.process("a");
    assert_eq!(
        crate::tmux::setup::parent(&process),
        pane,
        "the program is a child of the pane process"
    );
}
