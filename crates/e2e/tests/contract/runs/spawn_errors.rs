//! A program that cannot be started has an error, and a shell's exit code.

use ostler_e2e::{Home, eventually};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

fn refused(home: &Home, arguments: &[&str], code: i32, kind: &str, named: &str) {
    for backend in [&[][..], &["--pty"][..]] {
        let all = [&["run", "--json"], backend, arguments].concat();
        let output = home.ostler(&all);
        assert_eq!(output.code, code, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(named), "{named} is not named: {output:?}");
        let result = output.json();
        assert_eq!(result["termination"], "spawn-error", "{result}");
        assert_eq!(result["extinct"], "yes");
        assert_eq!(result["spawnErrorKind"], kind, "{result}");
        let run = result["runId"].as_str().expect("an id");
        assert_eq!(home.record(run)["state"], "exited");
        assert_eq!(home.count(run, "spawn-failed"), 1);
        assert_eq!(home.count(run, "exited"), 1);
    }
}

/// R7, X1, X2
#[test]
fn a_program_that_cannot_be_started_has_an_error() {
    let home = Home::new();
    let file = |name: &str, text: &str, mode: u32| {
        let path = home.folder().join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
        path.to_str().expect("a path").to_owned()
    };
    refused(&home, &["--", "no-such-program"], 127, "not-found", "no-such-program");
    refused(&home, &["--", "/no/such/program"], 127, "not-found", "/no/such/program");
    let plain = file("plain", "text", 0o644);
    refused(&home, &["--", &plain], 126, "not-executable", &plain);
    refused(&home, &["--", "/tmp"], 126, "not-executable", "/tmp");
    let lost = file("lost", "#!/no/such/interpreter\n", 0o755);
    refused(&home, &["--", &lost], 126, "not-executable", &lost);
    refused(
        &home,
        &["--cwd", "/no/such/folder", "--", "true"],
        125,
        "bad-directory",
        "/no/such/folder",
    );
    refused(&home, &["--cwd", &plain, "--", "true"], 125, "bad-directory", &plain);
    assert_eq!(home.metric("run_exit_total", Some("spawn-error")), 14);
    assert_eq!(home.metric("run_spawn_total", None), 0);
}

/// R7: `PATH` is the caller's, and a relative program is searched in the run's folder.
#[test]
fn programs_are_found_as_a_shell_finds_them() {
    let home = Home::new();
    let folder = home.folder().join("bin");
    std::fs::create_dir(&folder).expect("a folder");
    let program = folder.join("mine");
    std::fs::write(&program, "#!/bin/sh\necho mine\n").expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let folder = folder.to_str().expect("a path");
    let mut command = home.command(&["run", "--", "mine"]);
    command.env("PATH", format!("{folder}:/usr/bin:/bin"));
    assert_eq!(home.spawn_program(command).finish().ok().text(), "mine\n");
    assert_eq!(home.ostler(&["run", "--cwd", folder, "--", "./mine"]).ok().text(), "mine\n");
}

/// X1: the caller gets the kernel's error for too many arguments.
#[test]
fn arguments_that_are_too_big_are_refused() {
    let home = Home::new();
    home.records();
    let mut command = home.command(&["run", "--json", "--", "true"]);
    let part = "x".repeat(100_000);
    command.args(std::iter::repeat_n(&part, 40));
    #[expect(unsafe_code, reason = "a limit has to be set between fork and exec")]
    // SAFETY: setrlimit is async-signal-safe and touches no memory.
    unsafe {
        // With a larger stack limit, the kernel accepts more arguments from this process than from the supervisor.
        command.pre_exec(|| {
            let limit = Rlimit { current: Some(1 << 30), maximum: None };
            setrlimit(Resource::Stack, limit).map_err(std::io::Error::from)
        });
    }
    let output = home.spawn_program(command).finish();
    assert_eq!(output.code, 125, "{output:?}");
    let result = output.json();
    assert_eq!(result["spawnErrorKind"], "too-big", "{result}");
    assert!(output.stderr.contains("rgument") || output.stderr.contains("too big"), "{output:?}");
    assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
}

/// X1: out of descriptors: runs are refused with the reason, the supervisor survives, and later runs work again.
#[test]
fn out_of_descriptors_is_refused_and_survived() {
    let home = Home::new();
    let mut first = home.program("sh");
    let script = format!("ulimit -n 80; exec {} runs", Home::binary().display());
    first.args(["-c", &script]);
    home.spawn_program(first).finish().ok();
    let supervisor = home.supervisor_pid();
    let mut runs = Vec::new();
    let refusal = loop {
        let output = home.ostler(&["run", "-d", "--", "sleep", "601"]);
        if output.code != 0 {
            break output;
        }
        runs.push(output.text().trim().to_owned());
        assert!(runs.len() < 80, "80 descriptors are enough for everything?");
    };
    for word in ["descriptor", "limit is 80", "ulimit -Hn"] {
        assert!(refusal.stderr.contains(word), "the error has {word}: {refusal:?}");
    }
    assert!(runs.len() >= 3, "only {} runs with 80 descriptors: {refusal:?}", runs.len());
    assert_eq!(home.supervisor_pid(), supervisor);
    for run in &runs {
        assert_eq!(home.record(run)["state"], "running");
    }
    let cancelled: Vec<&str> = runs.iter().map(String::as_str).collect();
    home.ostler(&[&["cancel"], cancelled.as_slice()].concat()).ok();
    eventually("runs work again", || (home.ostler(&["run", "--", "true"]).code == 0).then_some(()));
    assert_eq!(home.supervisor_pid(), supervisor);
    assert!(home.processes_of_runs().is_empty());
}

/// X1: units without free descriptors say so in `ls` and `status`, and start when some are free.
#[test]
fn units_beyond_the_descriptors_say_why() {
    let home = Home::new();
    let units: String = (0..40)
        .map(|number| format!("[units.u{number:02}]\ncommand = ['sleep', '603']\n"))
        .collect();
    let file = home.folder().join("ostler.toml");
    std::fs::write(&file, units).expect("written");
    let mut first = home.program("sh");
    let script = format!("ulimit -n 80; exec {} runs", Home::binary().display());
    first.args(["-c", &script]);
    home.spawn_program(first).finish().ok();
    let supervisor = home.supervisor_pid();
    let file = file.to_str().expect("text");
    let up = home.ostler(&["up", "-f", file]);
    assert_ne!(up.code, 0, "{up:?}");
    assert!(up.text().contains("u39") && up.text().contains("limit is 80"), "{up:?}");
    assert!(home.ostler(&["ls"]).text().contains("out of file descriptors"));
    assert_eq!(home.supervisor_pid(), supervisor);
    home.ostler(&["down", "-f", file]).ok();
    eventually("descriptors are free again", || {
        (home.ostler(&["run", "--", "true"]).code == 0).then_some(())
    });
}

/// X1: many viewers at once cannot take the supervisor's descriptors from its runs.
#[test]
fn many_connections_are_survived() {
    let home = Home::new();
    let mut first = home.program("sh");
    let script = format!("ulimit -n 80; exec {} runs", Home::binary().display());
    first.args(["-c", &script]);
    home.spawn_program(first).finish().ok();
    let supervisor = home.supervisor_pid();
    let run = home.start(&[], &["sleep", "602"]);
    let held: Vec<_> = (0..100)
        .filter_map(|_| std::os::unix::net::UnixStream::connect(home.file("ostler.sock")).ok())
        .collect();
    assert!(held.len() > 40, "{}", held.len());
    drop(held);
    eventually("the supervisor answers again", || (home.ostler(&["runs"]).code == 0).then_some(()));
    assert_eq!(home.supervisor_pid(), supervisor);
    assert_eq!(home.cancel(&run)["extinct"], "yes");
}
