//! A program exits by itself: its exit code, signal, output and record.

use crate::setup::{Setup, on_every_backend};
use ostler_e2e::Home;

on_every_backend! {
    /// R1, R2, R7, R9, R18, R19
    direct_exit: direct_exit_pipe direct_exit_pty
        direct_exit_pipe_without_cgroup direct_exit_pty_without_cgroup
}

fn direct_exit(setup: Setup) {
    let home = setup.home();
    let result = home.run(&setup.options(&["--session", "s"]), &["sh", "-c", "echo out; exit 7"]);
    assert_eq!(result["termination"], "exit", "{result}");
    assert_eq!(result["exitCode"], 7);
    assert_eq!(result["exitSignal"], serde_json::Value::Null);
    assert_eq!(result["state"], "exited");
    assert_eq!(result["extinct"], "yes");
    assert_eq!(result["timedOut"], false);
    assert_eq!(result["noOutputTimedOut"], false);
    assert_eq!(result["stdout"], setup.line("out"));
    assert!(result["durationMs"].is_u64(), "{result}");

    let run = result["runId"].as_str().expect("an id");
    let record = home.record(run);
    assert_eq!(record["sessionId"], "s");
    assert_eq!(record["pid"], record["processGroupId"], "R3");
    assert_eq!(record["bootId"], ostler_e2e::boot_id());
    assert_eq!(record["leaseExpiresAtMs"], serde_json::Value::Null, "exited drops the lease");
    assert_eq!(record["backendId"], if setup.options(&[]).is_empty() { "pipe" } else { "pty" });
    for field in ["startTime", "createdAtMs", "updatedAtMs", "lastOutputAtMs"] {
        assert!(record[field].is_u64(), "{field}: {record}");
    }
    let description: Vec<_> = home.events(run).iter().map(|event| event["what"].clone()).collect();
    assert_eq!(
        description,
        ["intent", "spawned", "exited"],
        "the intent is recorded before the spawn"
    );
    assert_eq!(home.metric("run_spawn_total", None), 1);
    assert_eq!(home.metric("run_exit_total", Some("exit")), 1);
    assert_eq!(home.metric("run_live", None), 0);
}

on_every_backend! {
    /// R7
    ended_by_a_signal: ended_by_a_signal_pipe ended_by_a_signal_pty
        ended_by_a_signal_pipe_without_cgroup ended_by_a_signal_pty_without_cgroup
}

fn ended_by_a_signal(setup: Setup) {
    let home = setup.home();
    let arguments = [
        &["run", "--json", "--capture"],
        setup.options(&[]).as_slice(),
        &["--", "sh", "-c", "kill -USR1 $$"],
    ]
    .concat();
    let output = home.ostler(&arguments);
    assert_eq!(output.code, 128 + 10, "{output:?}");
    let result = output.json();
    assert_eq!(result["termination"], "signal");
    assert_eq!(result["exitSignal"], 10);
    assert_eq!(result["exitCode"], serde_json::Value::Null);
    assert_eq!(result["extinct"], "yes");
}

/// R3: a run leads its own group and session; R2: a live record has a lease and an identity.
#[test]
fn a_live_run_leads_its_own_group_and_session() {
    for setup in [Setup::PIPE, Setup::PTY] {
        let home = setup.home();
        let run = home.start(&setup.options(&[]), &["sleep", "300"]);
        let root = home.root(&run);
        let record = home.record(&run);
        assert_eq!(root.group(), root.pid);
        assert_eq!(root.session(), root.pid);
        assert_eq!(record["startTime"], root.start_time);
        assert_eq!(record["state"], "running");
        assert!(record["leaseExpiresAtMs"].is_u64(), "{record}");
        assert!(root.has_variable(&format!("OSTLER_RUN_ID={run}")));
        assert_eq!(home.metric("run_live", None), 1);
    }
}

/// R7, X2: `ostler run` has the program's exit code, and its two output streams stay separate.
#[test]
fn a_foreground_run_has_the_programs_exit_code_and_streams() {
    let home = Home::new();
    let output = home.ostler(&["run", "--", "sh", "-c", "echo out; echo err >&2; exit 5"]);
    assert_eq!((output.code, output.text().as_str()), (5, "out\n"), "{output:?}");
    assert_eq!(output.stderr, "err\n");
    let output = home.ostler(&["run", "--", "true"]);
    assert_eq!((output.code, output.stdout.len(), output.stderr.as_str()), (0, 0, ""));
    let output = home.ostler(&["run", "--json", "--", "printf", "no newline"]);
    assert_eq!(output.json()["exitCode"], 0, "the result has a line of its own: {output:?}");
}
