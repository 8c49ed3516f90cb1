//! Single-service mode: `ostler watch -- CMD` is Ploinky's watchdog, for one server.

use crate::watch::setup::Watched;

fn events(watched: &Watched) -> Vec<String> {
    let name = |line: serde_json::Value| line["event"].as_str().expect("an event").to_owned();
    watched.log().into_iter().map(name).collect()
}

/// W1: 0, 2, 100 and more, TERM and INT end it; its exit code is the server's own.
#[test]
fn intended_ends_are_not_restarted() {
    let watched = Watched::new();
    for (script, code, description) in [
        ("exit 0", 0, "clean_exit"),
        ("exit 2", 2, "configuration_error"),
        ("exit 100", 100, "fatal_error_no_restart"),
        ("exit 255", 255, "fatal_error_no_restart"),
        ("kill -TERM $$", 143, "intentional_signal"),
        ("kill -INT $$", 130, "intentional_signal"),
    ] {
        let output = watched.script(&[], script).finish();
        assert_eq!(output.code, code, "{script}: {output:?}");
        let expected = [
            "process_manager_starting",
            "spawning_server",
            "server_spawned",
            "process_exited",
            description,
            "restart_skipped",
            "watchdog_exiting",
        ];
        assert_eq!(events(&watched), expected, "{script}");
        let exited = watched.until("process_exited", 1);
        assert_eq!(exited["wasExpected"], false);
        assert!(exited["uptime"].is_u64() && exited["uptimeSeconds"].is_u64(), "{exited}");
        assert_eq!(watched.until("watchdog_exiting", 1)["exitCode"], code);
        std::fs::remove_file(watched.path("logs/watchdog.log")).expect("removed");
        watched.assert_no_unit();
    }
}

/// W1: anything else restarts it; 75 at once, and without being counted.
#[test]
fn other_ends_are_restarted() {
    for (script, code, signal, backoff) in [
        ("exit 1", Some(1), None, 20),
        ("exit 3", Some(3), None, 20),
        ("exit 99", Some(99), None, 20),
        ("exit 75", Some(75), None, 0),
        ("kill -KILL $$", None, Some("SIGKILL"), 20),
        ("kill -SEGV $$", None, Some("SIGSEGV"), 20),
    ] {
        let watched = Watched::new();
        let script = format!("test -e again && exit 0; touch again; {script}");
        assert_eq!(watched.script(&[], &script).finish().code, 0, "{script}");
        let exited = watched.until("process_exited", 1);
        assert_eq!((exited["exitCode"].as_i64(), exited["signal"].as_str()), (code, signal));
        let again = watched.until("scheduling_restart", 1);
        assert_eq!(again["backoffMs"], backoff, "{again}");
        assert_eq!(again["consecutiveFailures"], u64::from(backoff > 0), "{again}");
        assert_eq!((&again["totalRestarts"], &again["recentRestarts"]), (&1.into(), &1.into()));
        assert_eq!(watched.events("server_spawned").len(), 2);
        assert_eq!(watched.events("unexpected_exit").len(), usize::from(backoff > 0));
    }
}

/// W2: five ends in 60 s open the breaker: exit 100, whatever the server's code was.
#[test]
fn a_crash_loop_ends_with_100() {
    let watched = Watched::new();
    let output = watched.script(&[], "exit 3").finish();
    assert_eq!(output.code, 100, "{output:?}");
    assert_eq!(watched.events("server_spawned").len(), 5);
    let tripped = watched.until("circuit_breaker_tripped", 1);
    assert_eq!(tripped["windowMs"], 60_000);
    assert!(tripped["reason"].as_str().is_some_and(|why| why.contains("exit 3")), "{tripped}");
    watched.until("spawn_blocked_circuit_breaker", 1);
    assert_eq!(watched.until("watchdog_exiting", 1)["exitCode"], 100);
    watched.assert_no_unit();
    // A new watch begins with a full limit.
    assert_eq!(watched.script(&[], "exit 0").finish().code, 0);
}

/// W3: each delay is twice the one before, up to the maximum.
#[test]
fn restart_delays_double_up_to_a_maximum() {
    let watched = Watched::new();
    let options = ["--restarts", "7", "--backoff-most", "100ms"];
    assert_eq!(watched.script(&options, "exit 3").finish().code, 100);
    let waits = |line: &serde_json::Value| line["backoffMs"].as_u64().expect("a wait");
    let waited: Vec<u64> = watched.events("scheduling_restart").iter().map(waits).collect();
    assert_eq!(waited, [20, 40, 80, 100, 100, 100]);
}

/// W3: Ploinky's numbers by default; a run longer than that resets the delay.
#[test]
fn the_first_delay_is_a_second_and_a_long_run_resets_it() {
    let watched = Watched::new();
    let options = ["--backoff", "1s", "--backoff-most", "30s"];
    let script = "test -e again && exit 0; touch again; exit 3";
    assert_eq!(watched.script(&options, script).finish().code, 0);
    assert_eq!(watched.until("scheduling_restart", 1)["backoffMs"], 1_000);
    let help = watched.home.ostler(&["watch", "--help"]).ok().text();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for default in ["30s", "5s", "10s", "3", "15s", "1s", "60s"] {
        assert!(help.contains(&format!("[default: {default}]")), "{default}: {help}");
    }
    let watched = Watched::new();
    let options = ["--reset-after", "50ms", "--restarts", "3"];
    assert_eq!(watched.script(&options, "sleep 0.1; exit 3").finish().code, 100);
    assert_eq!(watched.until("scheduling_restart", 2)["backoffMs"], 20);
    watched.until("successful_run_detected", 2);
}

/// A missing command is an error at once, without retries.
#[test]
fn a_missing_command_is_an_error() {
    let watched = Watched::new();
    let output = watched.watch(&[], &["/nonexistent/server"]).finish();
    assert_eq!(output.code, 127, "{output:?}");
    assert!(output.stderr.contains("not found"), "{output:?}");
    let output = watched.watch(&[], &["/etc/passwd"]).finish();
    assert_eq!(output.code, 126, "{output:?}");
    watched.assert_no_unit();
}

/// W10: the server's output is passed on, each stream separately, and every line of the log is whole.
#[test]
fn output_is_passed_on() {
    let watched = Watched::new();
    let script = "i=0; while test $i -lt 2000; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let output = watched.script(&[], script).finish();
    assert_eq!(output.code, 0);
    let lines = |text: &str, kind: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with(kind)).map(str::to_owned).collect()
    };
    let expected =
        |kind: &str| -> Vec<String> { (0..2000).map(|i| format!("{kind}{i}")).collect() };
    assert_eq!(lines(&output.text(), "out "), expected("out "));
    assert_eq!(lines(&output.stderr, "err "), expected("err "));
    for line in watched.log() {
        assert!(line["ts"].as_str().is_some_and(|ts| ts.len() == 24 && ts.ends_with('Z')));
        assert!(["debug", "info", "warn", "error"].contains(&line["level"].as_str().unwrap_or("")));
        assert!(line["managerPid"].is_u64() && line.get("pid").is_some(), "{line}");
    }
}

/// W11: PORT, HEALTH_CHECK_ENABLED and DEBUG have an effect and are passed on, the pid-file variable has none.
#[test]
fn environment_variables_have_an_effect() {
    let watched = Watched::new();
    let script = "echo \"$PORT,$MANAGED_BY_PROCESS_MANAGER,$MINE,${PLOINKY_ROUTER_PID_FILE-none}\"";
    let mut command = watched.command(&[], &["sh", "-c", script]);
    command.env("HEALTH_CHECK_ENABLED", "false").env("DEBUG", "1").env("MINE", "x y");
    command.env("PLOINKY_ROUTER_PID_FILE", "/run/router.pid");
    let output = watched.home.spawn_program(command).finish();
    assert_eq!(output.text(), format!("{},true,x y,none\n", watched.port));
    assert!(output.stderr.contains("debug spawning_server"), "{output:?}");
    let begun = watched.until("process_manager_starting", 1);
    assert_eq!(
        (&begun["port"], &begun["healthCheckEnabled"]),
        (&watched.port.into(), &false.into())
    );
    let output = watched.script(&["--port", "7"], "echo $PORT").finish();
    assert_eq!(output.text(), "7\n");
    assert!(!output.stderr.contains("spawning_server"), "{output:?}");
    let mut command = watched.command(&["--no-health"], &["sh", "-c", "echo $PORT"]);
    command.env_remove("PORT");
    assert_eq!(watched.home.spawn_program(command).finish().text(), "8080\n");
    for wrong in ["many", "+8080", "0", "65536", " 80", "8080.0"] {
        let mut command = watched.command(&[], &["true"]);
        command.env("PORT", wrong);
        let output = watched.home.spawn_program(command).finish();
        assert_eq!(output.code, 2);
        let description = format!("PORT: {wrong:?} is not a port; use a number from 1 to 65535");
        assert!(output.stderr.contains(&description), "{output:?}");
        let output = watched.script(&["--port", wrong], "true").finish();
        assert_eq!(output.code, 2, "{output:?}");
    }
}

/// W11: Ploinky's test mode: only the server's output is printed, nothing of the watchdog's, and there is no log.
#[test]
fn in_test_mode_only_the_server_is_printed() {
    let watched = Watched::new();
    let mut command = watched.command(&["--no-health"], &["sh", "-c", "echo served; exit 2"]);
    command.env("PLOINKY_WATCHDOG_TEST_MODE", "1").env("DEBUG", "1");
    let output = watched.home.spawn_program(command).finish();
    assert_eq!((output.code, output.text().as_str()), (2, "served\n"), "{output:?}");
    assert!(!output.stderr.contains("[watchdog]"), "{output:?}");
    assert!(!watched.path("logs/watchdog.log").exists(), "no log");
    let mut command = watched.command(&["--no-health"], &["sh", "-c", "exit 2"]);
    command.env("PLOINKY_WATCHDOG_TEST_MODE", "0");
    let output = watched.home.spawn_program(command).finish();
    assert!(output.stderr.contains("[watchdog]"), "only 1 turns it on: {output:?}");
}
