//! Regressions that attacks on the finished program found.

use crate::setup::Setup;
use ostler_e2e::{Home, Process, Signal, eventually};

/// The top of the cgroup v2 hierarchy, if this process may move others into it.
fn open_cgroup() -> Option<&'static str> {
    ["/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/cgroup.procs"]
        .into_iter()
        .find(|path| std::fs::OpenOptions::new().write(true).open(path).is_ok())
}

/// R8, R9, R10: a descendant that leaves the run's cgroup still belongs to the run.
#[test]
fn a_descendant_that_leaves_the_cgroup_is_found() {
    let Some(procs) = open_cgroup() else {
        ostler_e2e::skipped("no cgroup v2 may be written here");
        return;
    };
    let home = Home::new();
    for body in
        ["trap '' TERM; exec sleep 301", "exec setsid sleep 301", "exec env -i setsid sleep 301"]
    {
        let file = home.folder().join("pid");
        let script = format!(
            "(echo $BASHPID >{procs}; echo $BASHPID >{}; {body}) & sleep 302",
            file.display()
        );
        let result =
            home.run(&["--grace", "300ms", "--timeout", "400ms"], &["bash", "-c", &script]);
        assert_eq!(result["termination"], "overall-timeout", "{result}");
        let pid = std::fs::read_to_string(&file).expect("a pid").trim().parse().expect("a number");
        assert!(Process::find(pid).is_none_or(|process| !process.is_alive()), "{body}: {result}");
        assert_eq!(result["extinct"], "yes", "{body}: {result}");
    }
}

/// R9: `extinct` is not `yes` if it cannot be known.
#[test]
fn an_adopted_tree_that_could_hide_is_not_called_extinct() {
    let home = Setup::PIPE_WITHOUT_CGROUP.home();
    let run = home.start(&[], &["sleep", "303"]);
    let reaper = home.record(&run)["reaper"]["pid"].as_i64().expect("a reaper");
    home.kill_daemon();
    // While its reaper is alive, no process can hide.
    let process = Process::find(reaper as i32).expect("the process outlives supervisor and reaper");
    process.signal(Signal::KILL);
    process.wait_gone();
    assert_eq!(home.cancel(&run)["extinct"], "unknown");
}

/// R14: a foreground client of a run that another supervisor took over gets an error.
#[test]
fn a_foreground_run_that_is_taken_over_does_not_hang() {
    let folder = Home::new();
    let registry = folder.folder().join("shared.db");
    let registry = registry.to_str().expect("a path");
    let variables = [("OSTLER_REGISTRY", registry), ("OSTLER_LEASE", "1s")];
    let (first, second) = (Home::with(&variables), Home::with(&variables));
    second.ostler(&["runs"]).ok();
    let waiting = first.spawn(&["run", "--", "sh", "-c", "echo ready; sleep 4; echo done; exit 5"]);
    waiting.until_written("ready");
    let run =
        eventually("its record", || Some(first.records().first()?["runId"].as_str()?.to_owned()));
    let silent = first.supervisor().expect("a supervisor");
    silent.signal(Signal::STOP);
    second.spawn(&["events", "-f", "--json", "--run", &run]).until_written("lease-stolen");
    silent.signal(Signal::CONT);
    let output = waiting.until_stderr_has("another supervisor");
    assert!(output.contains(&run), "{output}");
    // R15: its pipe is still read, so it exits normally.
    let result = second.wait(&run);
    assert_eq!(
        (&result["termination"], &result["exitCode"]),
        (&"exit".into(), &5.into()),
        "{result}"
    );
}

/// X1: a home may be a path relative to the working directory.
#[test]
fn a_relative_home_is_relative_to_the_working_directory() {
    let folder = Home::new();
    let here = folder.folder().join("here");
    std::fs::create_dir(&here).expect("made");
    let ostler = |arguments: &[&str]| {
        std::process::Command::new(Home::binary())
            .args(arguments)
            .current_dir(&here)
            .env("OSTLER_HOME", "inside")
            .output()
            .expect("the supervisor starts")
    };
    let run = ostler(&["run", "--", "echo", "hello"]);
    assert_eq!(String::from_utf8_lossy(&run.stdout), "hello\n", "{run:?}");
    assert!(here.join("inside/registry.db").exists());
    assert!(ostler(&["stop"]).status.success());
}
