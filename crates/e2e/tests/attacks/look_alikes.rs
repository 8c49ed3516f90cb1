//! Processes are recognised by descent alone: their environment is no evidence.

use crate::both;
use ostler_e2e::{Bystander, Home, Process, Signal, eventually, is_installed, is_root, skipped};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Homes without cgroups: of the user who runs the tests, and of an ordinary user.
fn without_cgroups() -> [Home; 2] {
    [Home::with(&[("OSTLER_NO_CGROUP", "1")]), Home::of_ordinary_user()]
}

fn pid_in(file: &Path) -> i32 {
    eventually("the pid of the one that left", || {
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    })
}

/// A process that sleeps in a session of its own, with this for an environment, and whose pid is in the file.
fn leaving(environment: &str, file: &Path) -> String {
    let file = file.display();
    format!(
        "setsid env -i {environment} sh -c 'echo $$ > {file}; exec sleep 6001' & until test -s {file}; do sleep 0.02; done"
    )
}

fn place(home: &Home, name: &str) -> PathBuf {
    home.folder().join(name)
}

/// R23: a process that merely carries a run's id survives the end of that run, also if the run was adopted by
/// another supervisor.
#[test]
fn a_foreign_process_with_a_runs_id_survives_the_run() {
    for home in without_cgroups() {
        let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 6002"]);
        let mut stranger = stranger_with(&home, &format!("OSTLER_RUN_ID={run}"));
        home.kill_supervisor();
        eventually("the run is adopted", || (home.count(&run, "adopted") == 1).then_some(()));
        assert_eq!(home.cancel(&run)["termination"], "manual-cancel");
        stranger.assert_alive();
        // The same after a crash of guardian and supervisor.
        let run = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 6002"]);
        let mut other = stranger_with(&home, &format!("OSTLER_RUN_ID={run}"));
        home.kill_daemon();
        assert_eq!(home.cancel(&run)["termination"], "manual-cancel");
        other.assert_alive();
        home.stop();
        stranger.assert_alive();
        other.assert_alive();
    }
}

/// A process of the same user, outside of all runs.
fn stranger_with(home: &Home, variable: &str) -> Bystander {
    let user = home.user().unwrap_or_else(|| rustix::process::getuid().as_raw());
    let user = format!("--reuid={user}");
    Bystander::start("setpriv", &[&user, "env", variable, "sleep", "6003"])
}

/// R10, R23: an escape with a forged id is found, named and ended with its run, beside another live run that is not affected.
#[test]
fn an_escape_with_a_forged_id_is_ended_with_its_run() {
    for home in without_cgroups() {
        let other = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 6004"]);
        let forged =
            ["OSTLER_RUN_ID=zzz".to_owned(), format!("OSTLER_RUN_ID={other}"), String::new()];
        for (number, environment) in forged.iter().enumerate() {
            let file = place(&home, &format!("pid{number}"));
            let script = format!("{}; exit 0", leaving(environment, &file));
            let result = home.run(&[], &["sh", "-c", &script]);
            let escapee = pid_in(&file);
            assert_eq!(result["extinct"], "yes", "{environment}: {result}");
            assert_eq!(result["escaped"][0]["pid"], escapee, "{environment}: {result}");
            assert!(Process::find(escapee).is_none(), "{environment}: it is dead");
            assert_eq!(home.record(&other)["state"], "running", "the other run goes on");
            assert_eq!(home.count(&other, "escaped"), 0, "and has no escape");
        }
        assert_eq!(home.cancel(&other)["extinct"], "yes");
        home.stop();
    }
}

/// R10, R23: the same if the supervisor, and then the whole daemon, was replaced between the escape and the end.
#[test]
fn an_escape_is_known_after_every_crash() {
    for home in without_cgroups() {
        for crash in [Home::kill_supervisor as fn(&Home), Home::kill_daemon] {
            let other = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 6005"]);
            let file = place(&home, "pid");
            let _ = std::fs::remove_file(&file);
            let script = format!("{}; echo ready; exec sleep 6006", leaving("A=1", &file));
            let run = home.start_ready(&["--grace", "500ms"], &["sh", "-c", &script]);
            let escapee = Process::find(pid_in(&file)).expect("the escape is running");
            crash(&home);
            assert_eq!(home.record(&run)["state"], "running");
            let result = home.cancel(&run);
            assert_eq!(result["extinct"], "yes", "{result}");
            assert!(!escapee.is_alive(), "it ended with its run");
            assert_eq!(home.record(&other)["state"], "running", "the other run goes on");
            home.cancel(&other);
        }
        home.stop();
    }
}

/// R24: a run that kills its reaper: a process that could belong to several runs is
/// `unknown`, is named in the journal, and is ended when the daemon stops.
#[test]
fn a_process_of_an_unknown_run_is_ended_at_the_stop() {
    for home in without_cgroups() {
        let other = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 6007"]);
        let reaper = home.record(&other)["reaper"]["pid"].as_i64().expect("a reaper") as i32;
        ostler_e2e::signal(reaper, Signal::KILL);
        eventually("it is journaled", || (home.count(&other, "reaper-lost") == 1).then_some(()));
        let file = place(&home, "pid");
        // It kills its own reaper, and leaves a process that could be of either run.
        let script =
            format!("kill -9 $PPID; sleep 0.2; {}; exit 3", leaving("OSTLER_RUN_ID=zzz", &file));
        let result = home.run(&[], &["sh", "-c", &script]);
        let escapee = Process::find(pid_in(&file)).expect("its run is unknown");
        assert_eq!(result["exitCode"], 3, "its exit code is known: {result}");
        assert_eq!(result["extinct"], "unknown", "{result}");
        let run = result["runId"].as_str().expect("an id");
        assert!(home.event(run, "stray-found").to_string().contains(&escapee.pid.to_string()));
        assert_eq!(home.cancel(&other)["termination"], "manual-cancel");
        assert_eq!(home.count(&other, "escaped"), 0, "the other run has no escape");
        assert!(escapee.is_alive(), "nor is it ended with the other");
        home.stop();
        assert!(!escapee.is_alive(), "it ended with the daemon");
    }
}

/// R25: a unit whose process became another user's cannot be ended: the error names its pid, and no second copy is
/// started beside it.
#[test]
fn a_unit_that_changed_its_user_has_no_second_copy() {
    if !is_root() || !is_installed("setpriv") {
        return skipped("a process can become another user's only with root's help (setpriv)");
    }
    let home = Home::of_ordinary_user();
    let helper = place(&home, "become");
    std::fs::copy(which("setpriv"), &helper).expect("a copy");
    Command::new("chmod").arg("4755").arg(&helper).status().expect("chmod");
    let file = place(&home, "pid");
    let script = format!(
        "exec {} --reuid=1 --regid=1 --clear-groups sh -c 'echo $$; exec sleep 6008' > {}",
        helper.display(),
        file.display()
    );
    home.ostler(&["start", "--name", "web", "--no-wait", "--", "sh", "-c", &script]).ok();
    let pid = pid_in(&file);
    let process = Process::find(pid).expect("the process is running");
    let uid = eventually("it belongs to the other user", || {
        use std::os::unix::fs::MetadataExt;
        let uid = std::fs::metadata(format!("/proc/{pid}")).ok()?.uid();
        (uid == 1).then_some(uid)
    });
    assert_eq!(uid, 1);
    let restarted = home.ostler(&["restart", "web"]);
    assert_ne!(restarted.code, 0, "{restarted:?}");
    let output = restarted.text();
    assert!(output.contains("EPERM") && output.contains(&format!("pid {pid}")), "{output}");
    assert!(process.is_alive());
    let started = home.ostler(&["start", "web"]);
    assert_ne!(started.code, 0, "{started:?}");
    assert!(started.text().contains(&format!("pid {pid}")), "{started:?}");
    assert_eq!(
        std::fs::read_to_string(&file).expect("a file").trim(),
        pid.to_string(),
        "no second copy"
    );
    let stopped = home.ostler(&["stop", "web"]);
    assert_ne!(stopped.code, 0, "{stopped:?}");
    let runs = home.records();
    assert!(runs.iter().any(|run| run["extinct"] == "no"), "{runs:#?}");
    home.kill_supervisor();
    let started = home.ostler(&["start", "web"]);
    assert_ne!(started.code, 0, "the next supervisor knows it too: {started:?}");
    let stopped = home.ostler(&["stop"]);
    assert!(process.is_alive());
    assert_ne!(stopped.code, 0, "{stopped:?}");
    assert!(stopped.stderr.contains(&format!("pid {pid}")), "{stopped:?}");
    // After its end the unit can start again.
    process.signal(Signal::KILL);
    process.wait_gone();
    assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
    home.stop();
}

fn which(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.exists())
        .expect("the program is installed")
}

/// R25: a foreground run has the same error, and `ostler stop` fails while the process lives.
#[test]
fn a_stop_fails_while_a_process_lives() {
    if !is_root() || !is_installed("setpriv") {
        return skipped("a process can become another user's only with root's help (setpriv)");
    }
    let home = Home::of_ordinary_user();
    let helper = place(&home, "become");
    std::fs::copy(which("setpriv"), &helper).expect("a copy");
    Command::new("chmod").arg("4755").arg(&helper).status().expect("chmod");
    let words = [helper.to_str().expect("a path"), "--reuid=1", "--regid=1", "--clear-groups"];
    let words = [words.as_slice(), &["sh", "-c", "echo ready; exec sleep 6009"]].concat();
    let run = home.start_ready(&["--grace", "200ms"], &words);
    let process = home.root(&run);
    let stopped = home.ostler(&["stop"]);
    let is_alive = process.is_alive();
    process.signal(Signal::KILL);
    process.wait_gone();
    assert!(is_alive, "it cannot be ended");
    assert_ne!(stopped.code, 0, "{stopped:?}");
    let output = format!("{}{}", stopped.text(), stopped.stderr);
    assert!(
        output.contains("EPERM") && output.contains(&format!("pid {}", process.pid)),
        "{output}"
    );
}

/// The entry of a stop names the signal that was sent.
#[test]
fn the_journal_names_the_signal_that_was_sent() {
    for home in both() {
        let file = place(&home, "ostler.toml");
        let unit = "[units.web]\ncommand = \"sleep 6010\"\nstop = { signal = \"INT\" }\n";
        std::fs::write(&file, unit).expect("written");
        home.ostler(&["up", "-f", file.to_str().expect("a path")]).ok();
        home.ostler(&["stop", "web"]).ok();
        let run = home.records()[0]["runId"].as_str().expect("an id").to_owned();
        let description = home.event(&run, "term-sent");
        assert_eq!(description["evidence"]["signal"], "INT", "{description}");
        let why = home.ostler(&["why", &run]).ok().text();
        assert!(why.contains("sent the stop signal: INT"), "{why}");
        home.stop();
    }
}

/// R24: two runs killed their own reapers, and each left a process. Neither is called extinct while its process lives.
#[test]
fn a_run_with_a_lost_reaper_is_not_called_extinct_beside_a_stray() {
    for home in without_cgroups() {
        let begin = |name: &str| {
            let file = place(&home, name);
            // An orphan: its parent, a subshell, ends at once.
            let orphan = format!(
                "( setsid env -i sh -c 'echo $$ > {}; exec sleep 6001' & )",
                file.display()
            );
            let go = place(&home, "go").display().to_string();
            let script = format!(
                "kill -9 $PPID; echo ready; until test -e {go}; do sleep 0.02; done; {orphan}; exec sleep 6011"
            );
            (home.start_ready(&[], &["sh", "-c", &script]), file)
        };
        let runs = [begin("first"), begin("second")];
        // Both run before either leaves a process: it could be of either.
        std::fs::write(place(&home, "go"), "").expect("written");
        let strays = runs.each_ref().map(|(_, file)| pid_in(file));
        let strays = strays.map(|pid| Process::find(pid).expect("the process is running"));
        for (run, _) in &runs {
            assert_eq!(home.cancel(run)["extinct"], "unknown");
        }
        assert!(strays.iter().all(Process::is_alive));
        home.stop();
        strays.iter().for_each(Process::wait_gone);
    }
}

/// A program with which a process of an ordinary user becomes another user's.
fn become_another(home: &Home) -> String {
    let helper = place(home, "become");
    std::fs::copy(which("setpriv"), &helper).expect("a copy");
    Command::new("chmod").arg("4755").arg(&helper).status().expect("chmod");
    format!("{} --reuid=1 --regid=1 --clear-groups", helper.display())
}

/// R25: a process of another user that outlived the run's first process is named by `run`, and by `stop` also after the
/// supervisor died.
#[test]
fn a_survivor_of_another_user_is_named_after_a_crash() {
    if !is_root() || !is_installed("setpriv") {
        return skipped("a process can become another user's only with root's help (setpriv)");
    }
    let home = Home::of_ordinary_user();
    let file = place(&home, "pid");
    let become_other = become_another(&home);
    let script = format!(
        "{become_other} sh -c 'setsid sleep 6012 >&- 2>&- & echo $!' > {}; exit 0",
        file.display()
    );
    let output = home.ostler(&["run", "--grace", "200ms", "--", "sh", "-c", &script]);
    let survivor = Process::find(pid_in(&file)).expect("the process is running");
    assert_eq!(output.code, 0, "the program's own code: {output:?}");
    assert!(output.stderr.contains("not all could be killed"), "{output:?}");
    assert!(output.stderr.contains("EPERM"), "{output:?}");
    home.kill_supervisor();
    home.ostler(&["runs"]).ok();
    let stopped = home.ostler(&["stop"]);
    assert_eq!(stopped.code, 1, "{stopped:?}");
    assert!(stopped.stderr.contains(&format!("pid {}", survivor.pid)), "{stopped:?}");
    survivor.signal(Signal::KILL);
    survivor.wait_gone();
}

/// R25, D22: a child of another user's outlived its unit's first process: no second copy is started, also after the
/// supervisor died, and `cancel` and `down` report it.
#[test]
fn a_unit_is_not_started_beside_a_child_of_another_user() {
    if !is_root() || !is_installed("setpriv") {
        return skipped("a process can become another user's only with root's help (setpriv)");
    }
    let home = Home::of_ordinary_user();
    let file = place(&home, "pid");
    let become_other = become_another(&home);
    let script = format!(
        "{become_other} sh -c 'sleep 6013 >&- 2>&- & echo $!' > {}; exec sleep 6014",
        file.display()
    );
    let unit = place(&home, "ostler.toml");
    let text = format!(
        "[units.web]\ncommand = [\"sh\", \"-c\", {script:?}]\nstop = {{ grace = \"200ms\" }}\n"
    );
    std::fs::write(&unit, text).expect("written");
    let unit = unit.to_str().expect("a path");
    home.ostler(&["up", "-f", unit]).ok();
    let survivor = Process::find(pid_in(&file)).expect("the child is running");
    let named = |output: &ostler_e2e::Output| {
        assert_ne!(output.code, 0, "{output:?}");
        let all = format!("{}{}", output.text(), output.stderr);
        assert!(all.contains(&format!("pid {}", survivor.pid)), "{output:?}");
    };
    named(&home.ostler(&["down", "-f", unit]));
    named(&home.ostler(&["up", "-f", unit]));
    home.kill_supervisor();
    named(&home.ostler(&["start", "web"]));
    assert_eq!(pid_in(&file), survivor.pid, "no second copy");
    named(&home.ostler(&["stop"]));
    survivor.signal(Signal::KILL);
    survivor.wait_gone();
}
