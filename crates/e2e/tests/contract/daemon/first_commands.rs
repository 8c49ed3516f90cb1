//! The first command starts the daemon, once.

use ostler_e2e::{Home, eventually, eventually_within};
use std::time::Duration;

/// R14, X3: six at once: one supervisor.
#[test]
fn six_first_commands_start_one_supervisor() {
    for _ in 0..4 {
        let home = Home::new();
        let calls: Vec<_> =
            (0..6).map(|index| home.spawn(&["run", "--", "echo", &index.to_string()])).collect();
        for (index, call) in calls.into_iter().enumerate() {
            assert_eq!(call.finish().ok().text(), format!("{index}\n"));
        }
        let started = home.ostler(&["events", "--json"]).ok().json();
        let started = started.as_array().expect("a list");
        let count = started.iter().filter(|event| event["what"] == "supervisor-started").count();
        assert_eq!(count, 1, "{started:#?}");
        eventually("only one is left, with its guardian", || {
            (home.processes().len() == 2).then_some(())
        });
        assert_eq!(home.records().len(), 6);
    }
}

/// X2: commands during a stop: each is carried out by the old or a new supervisor, or fails with a reason.
#[test]
fn commands_during_a_stop_are_done_or_refused() {
    let home = Home::new();
    for _ in 0..8 {
        home.records();
        let stop = home.spawn(&["stop"]);
        let calls: Vec<_> = (0..4).map(|_| home.spawn(&["run", "--", "true"])).collect();
        stop.finish().ok();
        for call in calls {
            let output = call.finish();
            // Carried out; refused; or begun and ended with the supervisor.
            assert!([0, 125, 143].contains(&output.code), "{output:?}");
            assert!(output.code == 0 || !output.stderr.is_empty(), "{output:?}");
        }
    }
}

/// X2: the error is true: it does not claim that no supervisor runs.
#[test]
fn a_run_during_a_stop_does_not_fail_with_no_supervisor() {
    let home = Home::new();
    for _ in 0..8 {
        home.records();
        let stop = home.spawn(&["stop"]);
        let calls: Vec<_> = (0..4).map(|_| home.spawn(&["run", "--", "true"])).collect();
        stop.finish().ok();
        for call in calls {
            let output = call.finish();
            assert!(!output.stderr.contains("no supervisor is running"), "{output:?}");
        }
    }
}

/// X2: the supervisor keeps neither the terminal nor the folder of the first caller.
#[test]
fn the_supervisor_keeps_nothing_of_its_first_caller() {
    let home = Home::new();
    home.records();
    let supervisor = home.supervisor().expect("a supervisor");
    let guardian = home.guardian().expect("a guardian");
    assert_eq!(supervisor.session(), guardian.pid);
    assert_eq!(guardian.session(), guardian.pid);
    let link = |name: &str| {
        std::fs::read_link(format!("/proc/{}/{name}", supervisor.pid)).expect("a link")
    };
    assert_eq!(link("cwd"), std::path::Path::new("/"));
    assert_eq!(link("fd/0"), std::path::Path::new("/dev/null"));
}

/// Bounded history: ended runs are pruned by count, live ones never.
#[test]
fn history_is_pruned_by_count() {
    let home = Home::with(&[("OSTLER_HISTORY_COUNT", "5")]);
    let live = home.start(&[], &["sleep", "860"]);
    let runs: Vec<String> = (0..12)
        .map(|_| home.run(&[], &["echo", "kept?"])["runId"].as_str().expect("an id").to_owned())
        .collect();
    eventually("only five ended runs are kept", || {
        let ended = home.records().iter().filter(|record| record["state"] == "exited").count();
        (ended == 5).then_some(())
    });
    assert_eq!(home.record(&live)["state"], "running");
    for run in &runs[..7] {
        assert_eq!(home.ostler(&["logs", run]).code, 4, "{run} is forgotten");
        let folder = home.path().join("runs").join(run);
        eventually("its log is gone too", || (!folder.exists()).then_some(()));
    }
    for run in &runs[7..] {
        assert_eq!(home.ostler(&["logs", run]).ok().text(), "kept?\n");
    }
}

/// Bounded history: a log whose record a dying supervisor had already forgotten is found at the next start.
#[test]
fn a_log_without_a_record_is_removed() {
    let home = Home::new();
    let run = home.run(&[], &["echo", "x"])["runId"].as_str().expect("an id").to_owned();
    home.stop();
    ostler_e2e::Registry::open(&home).execute("DELETE FROM runs WHERE run_id = ?", [&run]);
    let folder = home.path().join("runs").join(&run);
    assert!(folder.exists());
    home.records();
    eventually_within(Duration::from_secs(5), "the log is gone", || {
        (!folder.exists()).then_some(())
    });
}

/// Bounded history: ended runs are pruned by age.
#[test]
fn history_is_pruned_by_age() {
    let mut home = Home::new();
    let run = home.run(&[], &["true"])["runId"].as_str().expect("an id").to_owned();
    home.ostler(&["stop"]).ok();
    ostler_e2e::Registry::open(&home).execute("UPDATE runs SET ended_at_ms = 1000", []);
    home.set("OSTLER_HISTORY_AGE", "1h");
    home.run(&[], &["true"]);
    eventually("the run is pruned", || {
        home.records().iter().all(|record| record["runId"] != run.as_str()).then_some(())
    });
}

/// Bounded history: a running supervisor prunes too, not only at its start.
#[test]
fn history_is_pruned_while_it_runs() {
    let home = Home::with(&[("OSTLER_HISTORY_COUNT", "5"), ("OSTLER_LEASE", "500ms")]);
    for _ in 0..40 {
        home.start(&[], &["true"]);
    }
    eventually("the history is bounded", || (home.records().len() <= 15).then_some(()));
}
