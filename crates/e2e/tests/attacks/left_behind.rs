//! What one supervisor leaves to the next: no run is lost, and lists are complete.

use crate::both;
use ostler_e2e::{Home, eventually};

pub fn without_cgroups() -> [Home; 2] {
    [Home::with(&[("OSTLER_NO_CGROUP", "1")]), Home::of_ordinary_user()]
}

/// D19: a run that no record knows is ended by the next supervisor, which says so: the registry was removed.
#[test]
fn a_run_that_the_registry_lost_is_not_leaked() {
    a_lost_run_is_ended_after(Home::kill_supervisor);
}

/// D19: the same where guardian and supervisor were killed together, so that no process is left that knows the run.
#[test]
fn a_run_that_the_registry_lost_is_not_leaked_by_a_new_daemon() {
    a_lost_run_is_ended_after(|home| {
        home.kill_daemon();
        home.ostler(&["start"]).ok();
    });
}

fn a_lost_run_is_ended_after(kill: impl Fn(&Home)) {
    for home in without_cgroups() {
        let script = "setsid env -i sleep 6101 & echo ready; exec sleep 6102";
        let run = home.start_ready(&[], &["sh", "-c", script]);
        let root = home.root(&run);
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", home.registry_file().display()));
        }
        kill(&home);
        root.wait_gone();
        let output = eventually("the end is journaled", || {
            let events = home.ostler(&["events", "--json"]).text();
            events.lines().find(|line| line.contains("stray-killed")).map(str::to_owned)
        });
        assert!(output.contains(&root.pid.to_string()) && output.contains(&run), "{output}");
        home.stop();
    }
}

/// D20: a restart from inside a run ends that run, and the daemon runs again.
#[test]
fn a_restart_from_inside_a_run_is_carried_out() {
    for home in both() {
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
        let before = home.supervisor_pid();
        home.ostler(&["start", "--name", "web", "--", "sleep", "6103"]).ok();
        let ostler = home.command(&[]).get_program().to_owned();
        let script = format!("{} restart; exec sleep 6104", ostler.display());
        let run = home.start(&[], &["sh", "-c", &script]);
        eventually("another supervisor answers", || {
            home.supervisor().filter(|process| process.pid != before)
        });
        let ended = eventually("the run has ended", || {
            let records = home.records();
            let record = records.into_iter().find(|record| record["runId"] == run.as_str());
            record.filter(|record| record["state"] == "exited")
        });
        assert_eq!(ended["extinct"], "yes", "{ended}");
        let unit = eventually("the unit is there again", || {
            let units = home.ostler(&["ls", "--json"]).text();
            units.contains("\"ready\"").then_some(units)
        });
        assert!(unit.contains("web"), "{unit}");
        home.stop();
    }
}

/// R26: a list always has every run that exists at the request: also while runs are adopted, and while
/// they end.
#[test]
fn a_list_has_every_run_at_every_moment() {
    for home in both() {
        let runs: Vec<String> = (0..8).map(|_| home.start(&[], &["sleep", "6105"])).collect();
        for crash in 1..=3 {
            home.kill_supervisor();
            // The first answer of the next supervisor.
            let listed = home.ostler(&["runs", "--json"]).ok().text();
            for run in &runs {
                assert!(listed.contains(run.as_str()), "crash {crash}: {run} is missing: {listed}");
            }
        }
        let ending: Vec<String> = (0..40)
            .map(|number| home.start(&[], &["sleep", &format!("0.{:03}", 5 * number)]))
            .collect();
        loop {
            let listed = home.records();
            let state = |run: &String| {
                let found = listed.iter().find(|record| record["runId"] == run.as_str());
                found.unwrap_or_else(|| panic!("{run} is missing"))["state"].clone()
            };
            if ending.iter().all(|run| state(run) == "exited") {
                break;
            }
        }
        home.stop();
    }
}
