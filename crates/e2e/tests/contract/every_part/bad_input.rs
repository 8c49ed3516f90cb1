//! Wrong input is an error with its position and remedy; nothing is lost, and nothing panics.

use ostler_e2e::{Home, Output, Registry};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn no_panic(output: &Output) {
    assert!(!output.stderr.contains("panicked"), "{output:?}");
}

/// X1
#[test]
fn wrong_arguments_are_exit_2_with_the_remedy() {
    let home = Home::new();
    for (arguments, named) in [
        (&["run", "--timeout", "banana", "--", "true"][..], "banana"),
        (&["run", "--timeout", "10", "--", "true"], "10"),
        (&["run", "--timeout=-5s", "--", "true"], "-5s"),
        (&["run", "--no-output-timeout", "soon", "--", "true"], "soon"),
        (&["run", "--grace", "2m", "--", "true"], "60s"),
        (&["run", "--grance", "2s", "--", "true"], "--grace"),
        (&["run", "--size", "wide", "--pty", "--", "true"], "120x30"),
        (&["run", "--size", "80x24", "--", "true"], "--pty"),
        (&["run", "--env", "=x", "--", "true"], "NAME=VALUE"),
        (&["run"], "CMD"),
        (&["run", "--capture", "--", "true"], "--json"),
        (&["wait"], "RUN"),
        (&["cancel"], "RUN"),
        (&["nonsense"], "nonsense"),
        (&["logs", "x", "-n", "many"], "many"),
        (&["attach", "x", "--detach-key", "F1"], "ctrl-"),
        (&["completions", "tcsh"], "bash"),
        (&[], "Usage"),
    ] {
        let output = home.ostler(arguments);
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(named), "{named}: {output:?}");
        no_panic(&output);
    }
    assert!(home.supervisor().is_none(), "and no supervisor was started for that");
}

/// X1: help and version are printed without an error.
#[test]
fn help_and_version_are_no_errors() {
    let home = Home::new();
    assert!(home.ostler(&["--help"]).ok().text().contains("Exit codes"));
    assert!(home.ostler(&["--version"]).ok().text().starts_with("ostler "));
    for verb in [
        "run", "runs", "wait", "cancel", "write", "attach", "logs", "events", "why", "metrics",
        "doctor", "stop",
    ] {
        assert!(home.ostler(&[verb, "--help"]).ok().text().contains("Usage"), "{verb}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.ostler(&["completions", shell]).ok().text().contains("ostler"));
    }
}

/// X1: a wrong setting names its variable.
#[test]
fn a_wrong_setting_names_its_variable() {
    for (name, value) in [
        ("OSTLER_LEASE", "banana"),
        ("OSTLER_LEASE", "1ms"),
        ("OSTLER_ADOPT", "maybe"),
        ("OSTLER_HISTORY_COUNT", "few"),
        ("OSTLER_HISTORY_AGE", "old"),
        ("OSTLER_LOG_BYTES", "1GB"),
        ("OSTLER_OUTPUT_BYTES", "1GB"),
    ] {
        let home = Home::with(&[(name, value)]);
        let output = home.ostler(&["runs"]);
        assert_ne!(output.code, 0, "{name}={value}");
        assert!(output.stderr.contains(name) && output.stderr.contains(value), "{output:?}");
        no_panic(&output);
    }
}

/// X1: a file that is no registry, or is damaged, foreign or newer, is an error, and left as it is.
#[test]
fn an_unusable_registry_is_an_error_and_left_alone() {
    type Spoil<'a> = &'a dyn Fn(&Home);
    let damage: [(&str, Spoil<'_>, &str); 6] = [
        (
            "an invalid value",
            &|home| {
                Registry::open(home)
                    .connection
                    .execute("UPDATE runs SET run_id = 'x', state = 'running'", [])
                    .expect("set");
            },
            "move it away",
        ),
        (
            "cut within a page",
            &|home| {
                let file = std::fs::File::options().write(true).open(home.registry_file());
                file.and_then(|file| file.set_len(4096 * 3 + 100)).expect("cut");
            },
            "move it away",
        ),
        (
            "garbage",
            &|home| std::fs::write(home.registry_file(), "garbage ".repeat(1000)).expect("written"),
            "move it away",
        ),
        (
            "newer",
            &|home| {
                Registry::open(home)
                    .connection
                    .pragma_update(None, "user_version", 99)
                    .expect("set");
            },
            "newer",
        ),
        (
            "foreign",
            &|home| {
                Registry::open(home)
                    .connection
                    .pragma_update(None, "application_id", 7)
                    .expect("set");
            },
            "another program",
        ),
        (
            "overwritten in the middle",
            &|home| {
                let mut bytes = std::fs::read(home.registry_file()).expect("read");
                let length = bytes.len();
                bytes[4096..length].fill(0xa5);
                std::fs::write(home.registry_file(), bytes).expect("written");
                for suffix in ["-wal", "-shm"] {
                    let _ =
                        std::fs::remove_file(format!("{}{suffix}", home.registry_file().display()));
                }
            },
            "damaged",
        ),
    ];
    for (kind, spoil, description) in damage {
        let home = Home::new();
        home.run(&[], &["true"]);
        home.ostler(&["stop"]).ok();
        Registry::open(&home)
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .expect("one file");
        spoil(&home);
        let before = std::fs::read(home.registry_file()).expect("read");
        let output = home.ostler(&["runs"]);
        assert_ne!(output.code, 0, "{kind}: {output:?}");
        let path = home.registry_file().display().to_string();
        assert!(output.stderr.contains(&path), "{kind}: it names the file: {output:?}");
        assert!(output.stderr.contains(description), "{kind}: {output:?}");
        no_panic(&output);
        let run = home.ostler(&["run", "--", "true"]);
        assert_eq!(run.code, 125, "{kind}: {run:?}");
        assert!(
            std::fs::read(home.registry_file()).expect("read") == before,
            "{kind}: the file is unchanged"
        );
        ostler_e2e::eventually(kind, || home.processes().is_empty().then_some(()));
        std::fs::remove_file(home.registry_file()).expect("the file is moved away");
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{path}{suffix}"));
        }
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0, "{kind}: the remedy works");
    }
}

/// X1: damage that SQLite does not notice: invalid text, an impossible number, a missing column.
#[test]
fn damage_that_sqlite_does_not_notice_is_named() {
    for spoil in [
        "UPDATE runs SET state = 'running', command = CAST(x'7b22ff22' AS TEXT)",
        "ALTER TABLE runs RENAME COLUMN state TO stase",
    ] {
        let home = Home::new();
        home.run(&[], &["true"]);
        home.ostler(&["stop"]).ok();
        Registry::open(&home).execute(spoil, []);
        let output = home.ostler(&["runs"]);
        assert_ne!(output.code, 0, "{spoil}: {output:?}");
        no_panic(&output);
        let path = home.registry_file().display().to_string();
        assert!(output.stderr.contains(&path), "{spoil}: {output:?}");
        assert!(output.stderr.contains("move it away"), "{spoil}: {output:?}");
        assert!(home.processes().is_empty(), "{spoil}");
        std::fs::rename(&path, format!("{path}.damaged")).expect("the file is moved away");
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0, "{spoil}: the remedy works");
    }
}

/// X1: the same in records of ended runs, read by a running supervisor.
#[test]
fn damage_that_is_found_later_is_named_too() {
    let home = Home::new();
    home.run(&[], &["true"]);
    Registry::open(&home).execute("UPDATE runs SET command = CAST(x'7b22ff22' AS TEXT)", []);
    let output = home.ostler(&["runs"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output.stderr.contains(&home.registry_file().display().to_string()),
        "it names the file: {output:?}"
    );
}

/// X1: `doctor` names the file too.
#[test]
fn doctor_names_a_registry_that_cannot_be_used() {
    let home = Home::new();
    std::fs::create_dir(home.path()).expect("a folder");
    std::fs::write(home.registry_file(), "garbage ".repeat(1000)).expect("written");
    let doctor = home.ostler(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    let path = home.registry_file().display().to_string();
    assert!(doctor.text().contains(&path), "{doctor:?}");
    assert!(doctor.text().contains("move it away"), "{doctor:?}");
}

/// X1: an unknown value in the registry.
#[test]
fn an_unknown_value_in_the_registry_is_no_panic() {
    let home = Home::new();
    home.run(&[], &["true"]);
    home.ostler(&["stop"]).ok();
    Registry::open(&home).execute("UPDATE runs SET termination = 'banana'", []);
    let output = home.ostler(&["runs"]);
    assert_ne!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("banana"), "{output:?}");
    no_panic(&output);
}

/// X1: impossible homes.
#[test]
fn an_impossible_home_is_an_error() {
    let mut home = Home::new();
    std::fs::write(home.path(), "a file").expect("written");
    let output = home.ostler(&["runs"]);
    assert_ne!(output.code, 0);
    assert!(output.stderr.contains(&home.path().display().to_string()), "{output:?}");
    std::fs::remove_file(home.path()).expect("removed");
    home.set("OSTLER_REGISTRY", "/no/such/folder/registry.db");
    let output = home.ostler(&["runs"]);
    assert_ne!(output.code, 0);
    assert!(output.stderr.contains("/no/such/folder/registry.db"), "{output:?}");
    no_panic(&output);
    home.unset("OSTLER_REGISTRY");
    home.records();
    home.ostler(&["stop"]).ok();
    std::fs::write(home.file("instance"), "nobody\n").expect("written");
    let output = home.ostler(&["runs"]);
    assert_ne!(output.code, 0);
    assert!(output.stderr.contains("instance") && output.stderr.contains("nobody"), "{output:?}");
    std::fs::remove_file(home.file("instance")).expect("removed");
    home.records();
}

/// X1: a home whose socket path is longer than the kernel allows.
#[test]
fn a_home_with_a_very_long_path_works() {
    let place = format!("{}/{}/h", "long".repeat(30), "path".repeat(30));
    let home = Home::new().at(&place);
    assert!(home.file("ostler.sock").as_os_str().len() > 200);
    assert_eq!(home.run(&[], &["echo", "far"])["stdout"], "far\n");
    let run = home.start(&[], &["sleep", "850"]);
    home.kill_daemon();
    assert_eq!(home.record(&run)["state"], "running");
    home.ostler(&["stop"]).ok();
}

/// X1: unusual names: spaces, other alphabets, bytes that are no text.
#[test]
fn a_home_with_a_strange_name_works() {
    let home = Home::new().at("a home 'with' \"quotes\" — 馬");
    assert_eq!(home.run(&[], &["echo", "far"])["stdout"], "far\n");
    let result = home
        .run(&["--session", "s p a c e", "--scope", "鍵"], &["echo", "$(no shell)", "\u{1b}[31m"]);
    assert_eq!(result["exitCode"], 0);
    let table = home.ostler(&["runs"]).ok().text();
    assert!(
        !table.contains('\u{1b}'),
        "no foreign escape sequence reaches the terminal: {table:?}"
    );
}

/// X1: home and socket are accessible to the owner only.
#[test]
fn the_home_and_its_socket_are_private() {
    let home = Home::new();
    home.records();
    let mode = |name: &str| {
        std::fs::metadata(home.path().join(name)).expect("there").permissions().mode() & 0o777
    };
    assert_eq!(mode("."), 0o700);
    assert_eq!(mode("ostler.sock") & 0o077, 0);
    assert_eq!(mode("registry.db") & 0o077, 0);
}

/// X1: garbage on the control socket is answered or dropped; other callers are not disturbed.
#[test]
fn garbage_on_the_control_socket_does_not_disturb_others() {
    let home = Home::new();
    let run = home.start(&[], &["sleep", "851"]);
    let supervisor = home.supervisor_pid();
    let say = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(home.file("ostler.sock")).expect("the control socket");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"{\"id\":1,\"method\":\"fly\"}\n",
        b"{\"id\":1,\"method\":\"runs.spawn\",\"params\":{}}\n",
        b"{\"id\":-1,\"method\":\"daemon.ping\"}\n",
        b"\0\0\0\0\n",
        b"\xff\xfe\xfd\n",
        b"{\"id\":1,\"method\":\"daemon.ping\"",
    ] {
        let answer = say(garbage);
        assert!(
            answer.contains("INVALID_REQUEST") || answer.is_empty(),
            "{:?}: {answer}",
            String::from_utf8_lossy(garbage)
        );
        assert!(answer.contains("INVALID_REQUEST") || !garbage.ends_with(b"\n"), "{garbage:?}");
    }
    // The connection works after a bad line.
    let answer = say(b"nonsense\n{\"id\":7,\"method\":\"daemon.ping\"}\n");
    assert!(answer.contains("INVALID_REQUEST") && answer.contains("startedAtMs"), "{answer}");
    // A line without end, and a spawn without a program.
    say(&vec![b'a'; 20 << 20]);
    let empty = r#"{"id":1,"method":"runs.spawn","params":{"argv":[],"cwd":"/","env":[],"umask":18,"backend":"pipe","size":{"columns":1,"rows":1},"stdin":false,"sessionId":"s","unit":null,"scopeKey":null,"limits":{"timeoutMs":null,"noOutputTimeoutMs":null,"graceMs":1},"detach":"forbid"}}"#;
    let answer = say(format!("{empty}\n").as_bytes());
    assert!(answer.contains("INVALID_REQUEST"), "{answer}");
    let strange = empty.replace("\"argv\":[]", "\"argv\":[\"true\\u0000x\"]");
    let answer = say(format!("{strange}\n").as_bytes());
    assert!(answer.contains("error") || answer.contains("spawn-error"), "{answer}");
    let patient = empty
        .replace("\"argv\":[]", "\"argv\":[\"/bin/true\"]")
        .replace("\"graceMs\":1", "\"graceMs\":99999999");
    let answer = say(format!("{patient}\n").as_bytes());
    assert!(
        answer.contains("INVALID_REQUEST"),
        "a grace over 60 s is refused by the control socket too: {answer}"
    );
    assert_eq!(home.supervisor_pid(), supervisor);
    assert_eq!(home.record(&run)["state"], "running");
}

/// X1: a socket file without a listener and a pid file of another process have no effect.
#[test]
fn files_left_by_a_dead_supervisor_have_no_effect() {
    let home = Home::new();
    home.records();
    home.kill_daemon();
    assert!(home.file("ostler.sock").exists(), "the daemon was killed without cleaning up");
    std::fs::write(home.file("ostler.pid"), "1\n").expect("written");
    assert_eq!(home.run(&[], &["echo", "on"])["stdout"], "on\n");
    assert_ne!(home.supervisor_pid(), 1);
}

/// X1, W8: numbers of a probe that `up` would refuse are refused by `check`, in the same words.
#[test]
fn check_refuses_the_probe_numbers_that_up_refuses() {
    let project = crate::units::setup::Project::new();
    let unit = "backend = \"container\"\nimage = \"x:1\"\nmanifest = \"manifest.json\"";
    project.declare(&[("a", unit)]);
    let write = |probe: &str| {
        let text = format!(r#"{{"health":{{"liveness":{{"script":"l.sh",{probe}}}}}}}"#);
        std::fs::write(project.path("manifest.json"), text).expect("written");
    };
    write(r#""interval":2"#);
    project.call(&["check"]).ok();
    for probe in
        [r#""interval":0"#, r#""timeout":-1"#, r#""failureThreshold":0"#, r#""successThreshold":0"#]
    {
        write(probe);
        let refused = project.call(&["check"]);
        assert_eq!(refused.code, 2, "{probe}: {refused:?}");
        assert!(refused.stderr.contains("unit \"a\" cannot be created"), "{refused:?}");
        assert!(refused.stderr.contains("health.liveness must be more than 0"), "{refused:?}");
        let output = project.call(&["check", "--json"]).json();
        assert_eq!(
            (&output["ok"], output["problems"].as_array().map(Vec::len)),
            (&false.into(), Some(1))
        );
    }
    write(r#""interval":"soon""#);
    assert_eq!(project.call(&["check"]).code, 2);
}
