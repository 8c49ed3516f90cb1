//! The commands: their output and exit codes.

use ostler_e2e::{Home, helper};
use serde_json::Value;

/// R18, X2
#[test]
fn metrics_have_the_prometheus_format() {
    let home = Home::new();
    home.run(&[], &["true"]);
    home.run(&["--timeout", "100ms"], &["sleep", "800"]);
    home.start(&[], &["sleep", "801"]);
    let text = home.ostler(&["metrics"]).ok().text();
    let value = |series: &str| {
        let own = |line: &&str| line.split(' ').next() == Some(&format!("ostler_{series}"));
        let found = text.lines().find(own);
        let line = found.unwrap_or_else(|| panic!("no {series} in {text}"));
        line.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok()).expect("a number")
    };
    assert_eq!(value("run_exit_total{reason=\"exit\"}"), 1);
    assert_eq!(value("run_exit_total{reason=\"overall-timeout\"}"), 1);
    assert_eq!(value("run_exit_total{reason=\"signal\"}"), 0);
    assert_eq!(value("run_timeout_total{type=\"overall\"}"), 1);
    assert_eq!(value("run_live"), 1);
    for name in [
        "run_spawn_total",
        "run_exit_total",
        "run_timeout_total",
        "run_cleanup_kill_total",
        "run_reconcile_orphans_total",
        "run_lease_steal_total",
        "run_ownership_escape_total",
        "run_live",
        "output_kept_bytes",
        "output_most_bytes",
        "zombies_reaped_total",
    ] {
        assert!(text.contains(&format!("\nostler_{name}")), "{name}: {text}");
    }
}

/// R18: the metrics have a stable order.
#[test]
fn metrics_have_a_stable_order() {
    let home = Home::new();
    let look = || home.ostler(&["metrics"]).ok().text();
    assert_eq!(look(), look());
}

/// R18: an orphan that is reparented to the supervisor is reaped, and counted.
#[test]
fn orphans_are_reaped_and_counted() {
    let home = Home::new();
    // The grandchild outlives its parent, is reparented to the supervisor, and exits during the run.
    home.run(&[], &["sh", "-c", "(sleep 0.1 &) ; sleep 0.4"]);
    assert!(home.metric("zombies_reaped_total", None) >= 1);
}

/// X2
#[test]
fn wait_can_have_the_runs_exit_code() {
    let home = Home::new();
    let run = home.start(&[], &["sh", "-c", "exit 6"]);
    assert_eq!(home.ostler(&["wait", "--exit-code", &run]).code, 6);
    assert_eq!(home.ostler(&["wait", &run]).code, 0);
    let result = home.ostler(&["wait", "--json", &run]).ok().json();
    for field in [
        "runId",
        "pid",
        "state",
        "termination",
        "exitCode",
        "exitSignal",
        "durationMs",
        "timedOut",
        "noOutputTimedOut",
        "extinct",
    ] {
        assert!(result.get(field).is_some(), "{field}: {result}");
    }
    let run = home.start(&["--timeout", "100ms"], &["sleep", "810"]);
    assert_eq!(home.ostler(&["wait", "--exit-code", &run]).code, 124);
    let run = home.start(&[], &["sh", "-c", "kill -KILL $$"]);
    assert_eq!(home.ostler(&["wait", "--exit-code", &run]).code, 137);
}

/// X2: a timeout of `wait` does not affect the run.
#[test]
fn wait_can_give_up() {
    let home = Home::new();
    let run = home.start(&[], &["sleep", "811"]);
    let output = home.ostler(&["wait", "--timeout", "200ms", &run]);
    assert_eq!(output.code, 124, "{output:?}");
    assert!(output.stderr.contains("it continues"), "{output:?}");
    assert_eq!(home.record(&run)["state"], "running");
}

/// X2: an id may be abbreviated to its beginning or end.
#[test]
fn an_id_may_be_abbreviated() {
    let home = Home::new();
    let first = home.start(&[], &["true"]);
    let second = home.start(&[], &["true"]);
    assert_eq!(
        home.ostler(&["wait", "--json", &first[first.len() - 12..]]).ok().json()["runId"],
        first
    );
    let shared: String =
        first.chars().zip(second.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let ambiguous = home.ostler(&["wait", &shared]);
    assert_eq!(ambiguous.code, 2, "{ambiguous:?}");
    assert!(ambiguous.stderr.contains("more characters of the id"), "{ambiguous:?}");
}

/// X2: fewer than four characters of an id match none: a name that was mistyped reaches no other run.
#[test]
fn an_abbreviated_id_needs_four_characters() {
    let home = Home::new();
    let run = home.start(&[], &["sleep", "812"]);
    for length in [1, 3] {
        for part in [&run[..length], &run[run.len() - length..]] {
            let output = home.ostler(&["cancel", part]);
            assert_eq!(output.code, 4, "{part}: {output:?}");
            assert!(output.stderr.contains("at least 4 characters"), "{part}: {output:?}");
        }
    }
    assert_eq!(home.record(&run)["state"], "running");
    home.ostler(&["cancel", &run[run.len() - 4..]]).ok();
}

/// X2
#[test]
fn an_unknown_run_is_exit_4() {
    let home = Home::new();
    home.run(&[], &["true"]);
    for arguments in [
        &["wait", "nonesuch"][..],
        &["cancel", "nonesuch"],
        &["logs", "nonesuch"],
        &["logs", "-f", "nonesuch"],
        &["why", "nonesuch"],
        &["write", "nonesuch", "--text", "x"],
        &["attach", "nonesuch"],
        &["events", "--run", "nonesuch"],
        &["wait", "01a1df22-7307-7f75-ba97-000000000000"],
    ] {
        let output = home.ostler(arguments);
        assert_eq!(output.code, 4, "{arguments:?}: {output:?}");
        assert!(
            output.stderr.contains(arguments.iter().find(|word| word.len() > 6).expect("an id")),
            "{output:?}"
        );
    }
}

/// X2: `%`, `_` and the empty text are no wildcards.
#[test]
fn an_id_is_not_a_pattern() {
    let home = Home::new();
    home.run(&[], &["true"]);
    for id in ["%", "_", "", "*", "01a%"] {
        let output = home.ostler(&["wait", id]);
        assert!([2, 4].contains(&output.code), "{id:?}: {output:?}");
    }
}

/// X2: `--no-start` starts nothing.
#[test]
fn no_start_starts_nothing() {
    let home = Home::new();
    for arguments in [&["--no-start", "runs"][..], &["run", "--no-start", "--", "true"], &["stop"]]
    {
        let output = home.ostler(arguments);
        assert!(output.code == 3 || arguments[0] == "run", "{arguments:?}: {output:?}");
        assert_ne!(output.code, 0);
        assert!(output.stderr.contains("no supervisor"), "{output:?}");
    }
    assert!(home.processes().is_empty());
}

/// X2
#[test]
fn why_prints_the_chain_of_events() {
    let home = Home::new();
    let result = home.run(&["--timeout", "100ms", "--grace", "100ms"], &[helper!("ignore_term")]);
    let run = result["runId"].as_str().expect("an id");
    let output = home.ostler(&["why", run]).ok().text();
    for word in ["overall-timeout", "TERM", "KILL", run] {
        assert!(output.contains(word), "{word}: {output}");
    }
    let document = home.ostler(&["why", "--json", run]).ok().json();
    assert_eq!(document["run"]["runId"], run);
    let whats: Vec<&Value> =
        document["events"].as_array().expect("events").iter().map(|event| &event["what"]).collect();
    assert_eq!(whats, ["intent", "spawned", "timed-out", "term-sent", "kill-sent", "exited"]);
}

/// X2: every event says who, what and why; the journal is in order.
#[test]
fn events_say_who_what_and_why() {
    let home = Home::new();
    let run = home.start(&[], &["sleep", "812"]);
    home.cancel(&run);
    let all = home.ostler(&["events", "--json"]).ok().json();
    let all = all.as_array().expect("a list");
    assert!(all.windows(2).all(|pair| pair[0]["seq"].as_i64() < pair[1]["seq"].as_i64()));
    assert!(all.iter().any(|event| event["what"] == "supervisor-started"));
    let asked = home.event(&run, "cancel-asked");
    assert_eq!(asked["who"]["kind"], "caller");
    assert!(asked["who"]["pid"].is_i64() && asked["who"]["uid"].is_i64(), "{asked}");
    let last = home.ostler(&["events", "--json", "-n", "1"]).ok().json();
    assert_eq!(last.as_array().map(Vec::len), Some(1));
    assert_eq!(last[0]["what"], "exited");
    assert!(home.ostler(&["events"]).ok().text().lines().count() >= all.len());
}

/// X2: `events -f` prints new events, one object a line, and ends with the supervisor.
#[test]
fn events_follow_until_the_supervisor_stops() {
    let home = Home::new();
    home.records();
    let follower = home.spawn(&["events", "-f", "--json"]);
    follower.until_written("supervisor-started");
    home.run(&[], &["true"]);
    follower.until_written("\"exited\"");
    home.ostler(&["stop"]).ok();
    let output = follower.finish().ok();
    for line in output.text().lines() {
        let event: Value = serde_json::from_str(line).expect("one object a line");
        assert!(event["what"].is_string());
    }
}

/// X2
#[test]
fn doctor_works_without_a_supervisor_and_starts_none() {
    let home = Home::new();
    let report = home.ostler(&["doctor", "--json"]).ok().json();
    assert_eq!(report["ok"], true, "{report}");
    assert!(home.supervisor().is_none());
    assert!(home.ostler(&["doctor"]).ok().text().contains("boundary"));
    home.records();
    let report = home.ostler(&["doctor", "--json"]).ok().json();
    assert!(report.to_string().contains(&home.supervisor_pid().to_string()), "{report}");
}

/// X2: `runs` for people and for programs, and by session.
#[test]
fn runs_are_listed() {
    let home = Home::new();
    assert!(home.ostler(&["runs"]).ok().text().contains("no runs yet"));
    let live = home.start(&["--session", "one"], &["sleep", "813"]);
    home.run(&["--session", "two"], &["true"]);
    let listed = |arguments: &[&str]| {
        let all = [&["runs", "--json"], arguments].concat();
        home.ostler(&all).ok().json().as_array().expect("a list").len()
    };
    assert_eq!(listed(&[]), 2);
    assert_eq!(listed(&["--live"]), 1);
    assert_eq!(listed(&["--session", "two"]), 1);
    let table = home.ostler(&["runs"]).ok().text();
    assert!(table.contains("sleep 813") && table.contains(&live[live.len() - 12..]), "{table}");
}

/// X2: a reader that goes away (`| head`) is no error and no panic.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    let run = home.start(&[], &["seq", "1", "100000"]);
    home.wait(&run);
    for verb in [
        format!("logs {run}"),
        format!("logs --json {run}"),
        "runs --json".into(),
        "events".into(),
        "metrics".into(),
        format!("why {run}"),
        "--help".into(),
    ] {
        let mut shell = home.program("bash");
        let script =
            format!("set -o pipefail; {} {verb} | head -c 1 > /dev/null", Home::binary().display());
        shell.args(["-c", &script]);
        let output = home.spawn_program(shell).finish();
        assert!(!output.stderr.contains("panicked"), "{verb}: {output:?}");
    }
}

/// R13: input for a run without input, or an ended one, is refused with the reason.
#[test]
fn input_that_cannot_be_given_is_refused() {
    let home = Home::new();
    let run = home.start(&[], &["sleep", "814"]);
    let refused = home.ostler(&["write", &run, "--text", "x"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("--stdin") || refused.stderr.contains("input"), "{refused:?}");
    home.cancel(&run);
    let refused = home.ostler(&["write", &run, "--text", "x"]);
    assert_ne!(refused.code, 0, "{refused:?}");
}

/// R13: a program that does not read blocks only its own writer.
#[test]
fn a_program_that_does_not_read_blocks_only_its_writer() {
    let home = Home::new();
    let run = home.start(&["--stdin"], &["sleep", "815"]);
    let big = vec![b'x'; 4 << 20];
    let file = home.folder().join("big");
    std::fs::write(&file, &big).expect("written");
    let mut writer = home.program("sh");
    writer.args([
        "-c",
        &format!("exec {} write {run} < {}", Home::binary().display(), file.display()),
    ]);
    let writer = home.spawn_program(writer);
    assert_eq!(home.run(&[], &["echo", "on"])["stdout"], "on\n");
    assert_eq!(home.cancel(&run)["extinct"], "yes");
    let output = writer.finish();
    assert!(!output.stderr.contains("panicked"), "{output:?}");
}

/// X2: `run --stdin` passes on its input and the end of it.
#[test]
fn standard_input_is_passed_on() {
    let home = Home::new();
    let output = home.ostler_with_input(&["run", "--stdin", "--", "tr", "a-z", "A-Z"], b"hello\n");
    assert_eq!(output.text(), "HELLO\n", "{output:?}");
    let output = home.ostler(&["run", "--", "cat"]);
    assert_eq!(
        (output.code, output.stdout.len()),
        (0, 0),
        "without --stdin it reads the end at once"
    );
    let big: Vec<u8> = (0..3_000_000u32).map(|index| (index % 255) as u8).collect();
    let output = home.ostler_with_input(&["run", "--stdin", "--", "cat"], &big);
    assert!(output.stdout == big, "{} of {} bytes", output.stdout.len(), big.len());
}

/// R2: the environment, the folder and the umask are the caller's; the supervisor's are not inherited.
#[test]
fn the_environment_is_the_callers() {
    let home = Home::new();
    home.records();
    let mut command = home.command(&[
        "run",
        "--env",
        "ADDED=yes",
        "--env",
        "EMPTY=",
        "--unset",
        "HOME",
        "--",
        "sh",
        "-c",
        "echo $MINE $ADDED ${EMPTY-none} ${HOME-none}; pwd; umask",
    ]);
    command.env("MINE", "mine").current_dir("/usr");
    let output = home.spawn_program(command).finish().ok();
    let text = output.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(&lines[..2], ["mine yes none", "/usr"], "{output:?}");
    let mut command = home.program("sh");
    command
        .args(["-c", &format!("umask 027; exec {} run -- sh -c umask", Home::binary().display())]);
    assert_eq!(home.spawn_program(command).finish().ok().text().trim(), "0027");
}

/// R3, R4: a run starts with no signal ignored or blocked, and with three descriptors only.
#[test]
fn a_run_starts_with_default_signals_and_three_descriptors() {
    let home = Home::new();
    for backend in [&[][..], &["--pty"][..]] {
        let script = "grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/self/fd";
        let result = home.run(backend, &["sh", "-c", script]);
        let text = result["stdout"].as_str().expect("text").replace('\r', "");
        let mut lines = text.lines();
        for name in ["SigBlk", "SigIgn"] {
            let line = lines.next().expect("a line");
            assert!(line.starts_with(name) && line.ends_with("0000000000000000"), "{line}");
        }
        // ls itself has the folder open as the fourth.
        let descriptors: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        assert_eq!(descriptors, ["0", "1", "2", "3"], "{result}");
    }
}

/// R8: the grace is at most a minute, and 0 is none.
#[test]
fn no_grace_is_kill_at_once() {
    let home = Home::new();
    let run = home.start_ready(&["--grace", "0"], &[helper!("ignore_term")]);
    let result = home.cancel(&run);
    assert_eq!(result["exitSignal"], 9, "{result}");
    assert_eq!(home.ostler(&["run", "--grace", "61s", "--", "true"]).code, 2);
}

/// R29: `events -f` reports which runs write, and how much; the journal does not grow by it.
#[test]
fn events_report_which_runs_write_output() {
    let home = Home::new();
    let noisy = home.start(&[], &["sh", "-c", "while :; do echo hello; sleep 0.2; done"]);
    let silent = home.start(&[], &["sleep", "1000"]);
    let follower = home.spawn(&["events", "-f", "--json"]);
    let description = follower.until_written("\"output\"");
    let beat = description
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find(|event| event["what"] == "output")
        .expect("a heartbeat");
    assert_eq!(beat["runId"], noisy.as_str(), "{beat}");
    assert_eq!(beat["seq"], 0, "it is not in the journal");
    assert!(beat["evidence"]["bytes"].as_u64() > Some(0), "{beat}");
    assert!(beat["evidence"]["outputBytes"].as_u64() >= beat["evidence"]["bytes"].as_u64());
    assert!(beat["evidence"]["lastOutputAtMs"].is_u64(), "{beat}");
    // Later events are printed after it, once.
    home.cancel(&noisy);
    let description = follower.until_written("\"exited\"");
    assert_eq!(description.matches("\"cancel-asked\"").count(), 1, "{description}");
    assert!(!description.lines().any(|line| line.contains("\"output\"") && line.contains(&silent)));
    let kept = home.ostler(&["events", "--json"]).ok().text();
    assert!(!kept.contains("\"what\":\"output\""), "{kept}");
}
