//! Two supervisors, one registry: every run has one owner.

use crate::setup::{Setup, on_every_backend};
use ostler_e2e::{Bystander, Home, Process, Registry, Signal, boot_id, eventually};

/// Survives the loss of its terminal and its pipes.
const RECONNECTING: &str = "trap '' HUP; echo ready; sleep 401 & wait; wait";

/// Two homes with one registry, beside them in the folder of the first.
fn two_homes(setup: Setup, variables: &[(&str, &str)]) -> (Home, Home) {
    let mut first = setup.home_with(variables);
    let shared = first.folder().join("shared.db").to_str().expect("a path").to_owned();
    first.set("OSTLER_REGISTRY", &shared);
    let mut second = setup.home_with(variables);
    second.set("OSTLER_REGISTRY", &shared);
    (first, second)
}

fn instance(home: &Home) -> String {
    std::fs::read_to_string(home.file("instance")).expect("an instance").trim().to_owned()
}

on_every_backend! {
    /// R14, R15, R18, R19
    lease_contention: lease_contention_pipe lease_contention_pty
        lease_contention_pipe_without_cgroup lease_contention_pty_without_cgroup
}

fn lease_contention(setup: Setup) {
    let (first, second) = two_homes(setup, &[("OSTLER_LEASE", "1s")]);
    let run = first.start_ready(&setup.options(&[]), &["sh", "-c", RECONNECTING]);
    let root = first.root(&run);
    let tree = first.processes_of_runs();

    // A run of another healthy supervisor is not touched.
    assert_eq!(second.record(&run)["ownerInstanceId"], instance(&first));
    assert_eq!(second.count(&run, "left-alone"), 1);
    assert_eq!(second.count(&run, "lease-stolen"), 0);

    // Its owner stops renewing: the other supervisor takes the run over once the lease has expired.
    let silent = first.supervisor().expect("a supervisor");
    silent.signal(Signal::STOP);
    second.spawn(&["events", "-f", "--json", "--run", &run]).until_written("adopted");
    let record = second.record(&run);
    assert_eq!(record["ownerInstanceId"], instance(&second), "{record}");
    assert_eq!(record["state"], "running");
    assert_eq!(record["pid"], root.pid);
    assert_eq!(second.count(&run, "lease-stolen"), 1);
    assert_eq!(second.metric("run_lease_steal_total", None), 1);

    // The first supervisor continues: it gives the run up, and signals no process.
    silent.signal(Signal::CONT);
    eventually("the first supervisor gives the run up", || {
        (second.count(&run, "lease-lost") == 1).then_some(())
    });
    assert!(tree.iter().all(Process::is_alive), "{tree:?}");
    assert_eq!(first.metric("run_live", None), 0);
    first.ostler(&["stop"]).ok();
    assert!(
        tree.iter().all(Process::is_alive),
        "the run outlives the stop of the other supervisor"
    );
    let result = second.cancel(&run);
    assert_eq!(result["termination"], "manual-cancel", "{result}");
    assert_eq!(result["extinct"], setup.extinct_of_adopted());
    for (what, times) in [("term-sent", 1), ("exited", 1), ("lease-stolen", 1), ("lease-lost", 1)] {
        assert_eq!(second.count(&run, what), times, "{what}");
    }
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
}

on_every_backend! {
    /// R14, R15: with the terminate policy, a run that was taken over is ended.
    terminate_policy: a_stolen_run_is_terminated_by_policy_pipe a_stolen_run_is_terminated_by_policy_pty
        a_stolen_run_is_terminated_by_policy_pipe_without_cgroup
        a_stolen_run_is_terminated_by_policy_pty_without_cgroup
}

fn terminate_policy(setup: Setup) {
    let (first, second) =
        two_homes(setup, &[("OSTLER_LEASE", "1s"), ("OSTLER_ADOPT", "terminate")]);
    let run = first.start_ready(&setup.options(&["--grace", "500ms"]), &["sh", "-c", RECONNECTING]);
    let tree = first.processes_of_runs();
    assert_eq!(second.record(&run)["state"], "running");
    let silent = first.supervisor().expect("a supervisor");
    silent.signal(Signal::STOP);
    second.spawn(&["events", "-f", "--json", "--run", &run]).until_written("\"exited\"");
    let record = second.record(&run);
    assert_eq!(record["termination"], "lease-lost", "{record}");
    assert_eq!(record["extinct"], setup.extinct_of_adopted());
    assert!(tree.iter().all(|process| !process.is_alive()), "{tree:?}");
    silent.signal(Signal::CONT);
    eventually("the first supervisor gives the run up", || {
        (first.metric("run_live", None) == 0).then_some(())
    });
    assert_eq!(second.count(&run, "exited"), 1);
    assert_eq!(second.count(&run, "term-sent"), 1);
    assert_eq!(second.record(&run)["termination"], "lease-lost", "the late owner changes nothing");
}

/// R14: the boundary that the first supervisor created is removed by the supervisor that ends the run.
#[test]
fn a_stolen_run_leaves_no_boundary_behind() {
    let (first, second) = two_homes(Setup::PIPE, &[("OSTLER_LEASE", "1s")]);
    let run = first.start_ready(&[], &["sh", "-c", RECONNECTING]);
    second.records();
    let silent = first.supervisor().expect("a supervisor");
    silent.signal(Signal::STOP);
    second.spawn(&["events", "-f", "--json", "--run", &run]).until_written("adopted");
    silent.signal(Signal::CONT);
    eventually("the first supervisor gives the run up", || {
        (second.count(&run, "lease-lost") == 1).then_some(())
    });
    first.ostler(&["stop"]).ok();
    second.cancel(&run);
    second.stop();
    assert_eq!(first.boundaries(), (None, Vec::new()));
    assert_eq!(second.boundaries(), (None, Vec::new()));
}

/// R14: stopping a home whose supervisor cannot answer reports the runs of that home only.
#[test]
fn stopping_a_silent_home_reports_no_run_of_another() {
    let variables = [("OSTLER_LEASE", "20s"), ("OSTLER_WAIT_MS", "500")];
    let (first, second) = two_homes(Setup::PIPE, &variables);
    let ours = first.start_ready(&[], &["sh", "-c", RECONNECTING]);
    let run = second.start_ready(&[], &["sh", "-c", RECONNECTING]);
    let root = second.root(&run);
    // It never answers: the result is read from the registry, which both share.
    first.supervisor().expect("a supervisor").signal(Signal::STOP);
    let output = first.ostler(&["stop", "--json"]).ok().json();
    let ended = output["ended"].as_array().expect("a list");
    assert!(ended.iter().all(|result| result["runId"] == ours.as_str()), "{output}");
    assert!(root.is_alive());
    assert_eq!(second.record(&run)["state"], "running");
    second.stop();
}

/// R14: a supervisor that was stopped for less than its lease keeps its runs.
#[test]
fn a_pause_shorter_than_the_lease_loses_no_run() {
    let (first, second) = two_homes(Setup::PIPE, &[("OSTLER_LEASE", "20s")]);
    let run = first.start_ready(&[], &["sh", "-c", RECONNECTING]);
    second.records();
    let silent = first.supervisor().expect("a supervisor");
    silent.signal(Signal::STOP);
    assert_eq!(second.record(&run)["ownerInstanceId"], instance(&first));
    silent.signal(Signal::CONT);
    assert_eq!(first.cancel(&run)["extinct"], "yes");
    assert_eq!(first.count(&run, "lease-stolen"), 0);
}

/// R15: a run of another healthy supervisor cannot be cancelled here, and the error says so.
#[test]
fn a_run_of_another_supervisor_cannot_be_cancelled() {
    let (first, second) = two_homes(Setup::PIPE, &[]);
    let run = first.start_ready(&[], &["sh", "-c", RECONNECTING]);
    let root = first.root(&run);
    let refused = second.ostler(&["cancel", &run]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(!refused.stderr.is_empty(), "{refused:?}");
    second.ostler(&["stop"]).ok();
    assert!(root.is_alive());
    assert_eq!(first.record(&run)["state"], "running");
}

const THIRD: &str = "01a1df22-72f1-7d4f-a07c-87eaf0660003";

fn contended_id(index: usize) -> String {
    format!("01a1df22-7307-7f75-ba97-{index:012x}")
}

fn write_expired(registry: &Registry, index: usize, process: Option<&Process>) {
    let gone = Process { pid: 4_000_000 + index as i32, start_time: 7 };
    let process = process.unwrap_or(&gone);
    registry.execute(
        "INSERT INTO runs (run_id, session_id, backend_id, pid, start_time, boot_id, process_group_id, state, \
         created_at_ms, updated_at_ms, owner_instance_id, extinct, command, started_at_ms, grace_ms, \
         detach_allowed, started_mono_ms) \
         VALUES (?1, 'default', 'pipe', ?2, ?3, ?4, ?2, 'running', 1, 1, ?5, 'unknown', 'x', 1, 2000, 0, 1)",
        rusqlite::params![
            contended_id(index),
            process.pid,
            process.start_time as i64,
            boot_id(),
            THIRD
        ],
    );
}

/// R14: a thousand expired leases, two supervisors that start at the same moment: every run is taken
/// over once, and each live one is ended once.
#[test]
fn each_of_a_thousand_contended_leases_has_one_winner() {
    const RUNS: usize = 1_000;
    const LIVE: usize = 24;
    let (first, second) = two_homes(Setup::PIPE, &[("OSTLER_ADOPT", "terminate")]);
    first.records();
    first.ostler(&["stop"]).ok();
    let alive: Vec<Bystander> =
        (0..LIVE).map(|_| Bystander::start("setsid", &["sleep", "402"])).collect();
    let processes: Vec<Process> = alive
        .iter()
        .map(|bystander| {
            let pid = bystander.process().pid;
            eventually("it leads its session", || {
                let process = Process::find(pid)?;
                (process.session() == pid).then_some(process)
            })
        })
        .collect();
    {
        let registry = Registry::open(&first);
        registry.execute("BEGIN", []);
        registry.execute(
            "INSERT INTO leases (instance_id, boot_id, renewed_at_ms, expires_at_ms, expires_mono_ms) VALUES (?, ?, 1, 2, 3)",
            rusqlite::params![THIRD, boot_id()],
        );
        for index in 0..RUNS {
            write_expired(&registry, index, processes.get(index));
        }
        registry.execute("COMMIT", []);
    }
    let calls = [first.spawn(&["runs", "--json"]), second.spawn(&["runs", "--json"])];
    for call in calls {
        call.finish().ok();
    }
    let registry = Registry::open(&first);
    eventually("every run is settled", || {
        (registry.number("SELECT count(*) FROM runs WHERE state <> 'exited'") == 0).then_some(())
    });
    let once = "SELECT count(*) FROM (SELECT run_id FROM entries WHERE what = 'lease-stolen' GROUP BY run_id HAVING count(*) = 1)";
    assert_eq!(registry.number(once), RUNS as i64, "each run was taken over once");
    let thefts = registry.number("SELECT count(*) FROM entries WHERE what = 'lease-stolen'");
    assert_eq!(thefts, RUNS as i64, "no run twice");
    let ends = registry.number("SELECT count(*) FROM entries WHERE what = 'exited'");
    assert_eq!(ends, RUNS as i64, "each ended once");
    let terms = registry.number("SELECT count(*) FROM entries WHERE what = 'term-sent'");
    assert_eq!(terms, LIVE as i64, "each live run got one TERM");
    let kept = registry.number("SELECT count(*) FROM runs WHERE owner_instance_id = '01a1df22-72f1-7d4f-a07c-87eaf0660003'");
    assert_eq!(kept, 0);
    assert_eq!(first.metric("run_lease_steal_total", None), RUNS as u64);
    assert!(processes.iter().all(|process| !process.is_alive()), "the live runs were ended");
    let owners = registry.number("SELECT count(DISTINCT owner_instance_id) FROM runs");
    println!("owners of the thousand: {owners}");
}
