//! Processes that leave their run's boundary: they are named, and ended with the daemon at the latest.

use crate::left_behind::without_cgroups;
use ostler_e2e::{Home, Process, Signal, eventually, is_root, skipped};
use std::path::{Path, PathBuf};

fn place(home: &Home, name: &str) -> PathBuf {
    home.folder().join(name)
}

/// Where the run's cgroups are, and one run that others could be confused with. `None` if runs get no cgroup here.
fn home_with_boundaries() -> Option<(Home, PathBuf)> {
    let home = Home::new();
    let other = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 6201"]);
    let boundary = home.record(&other)["cgroup"].as_str().map(PathBuf::from)?;
    Some((home, boundary.parent()?.parent()?.to_owned()))
}

/// Begins a run that leaves a process in this cgroup and goes on until the file `go` is there.
fn leave_for(home: &Home, group: &Path) -> (String, Process) {
    let folder = home.folder().display();
    let procs = group.join("cgroup.procs");
    let script = format!(
        "(setsid sh -c 'echo $$ > {procs} && echo $$ > {folder}/left; exec sleep 6202' >&- 2>&- &); \
         until test -s {folder}/left; do sleep 0.02; done; echo ready; \
         until test -e {folder}/go; do sleep 0.02; done; exit 7",
        procs = procs.display(),
    );
    let run = home.start_ready(&[], &["sh", "-c", &script]);
    let pid = std::fs::read_to_string(place(home, "left")).expect("a pid");
    (run, Process::find(pid.trim().parse().expect("a number")).expect("it lives"))
}

/// R24: the name of a cgroup is no evidence: a process in a cgroup that is named like a run's is not forgotten.
#[test]
fn a_cgroup_with_a_runs_name_hides_nothing() {
    if !is_root() {
        return skipped("needs root, to make a cgroup outside of the run");
    }
    let Some((home, parent)) = home_with_boundaries() else {
        return skipped("runs get no cgroup here");
    };
    let outer = parent.join(format!("ostler-{}", std::process::id()));
    let group = outer.join("run-01a1f4f7-423d-79e6-954d-e4d2e18edd87");
    std::fs::create_dir_all(&group).expect("a cgroup");
    let (run, left) = leave_for(&home, &group);
    std::fs::write(place(&home, "go"), "").expect("written");
    let result = home.wait(&run);
    assert_eq!((&result["exitCode"], &result["extinct"]), (&7.into(), &"unknown".into()));
    assert!(left.is_alive());
    assert_eq!(home.count(&run, "stray-found"), 1);
    home.stop();
    left.wait_gone();
    for group in [group, outer] {
        eventually("the cgroup is empty", || std::fs::remove_dir(&group).ok());
    }
}

/// R24: the same for a process that left its cgroup, where another supervisor took its run up.
#[test]
fn a_process_that_left_its_cgroup_is_not_forgotten_by_the_next_supervisor() {
    if !is_root() {
        return skipped("needs root, to leave a cgroup");
    }
    let Some((home, parent)) = home_with_boundaries() else {
        return skipped("runs get no cgroup here");
    };
    let (run, left) = leave_for(&home, &parent);
    home.kill_supervisor();
    eventually("it is taken up", || (home.count(&run, "adopted") == 1).then_some(()));
    std::fs::write(place(&home, "go"), "").expect("written");
    assert_eq!(home.wait(&run)["extinct"], "unknown");
    home.stop();
    left.wait_gone();
}

/// R24, D19: what runs without a reaper left behind is ended by `stop` also where guardian and supervisor were killed
/// together meanwhile.
#[test]
fn strays_are_known_after_both_were_killed() {
    for home in without_cgroups() {
        let begin = |name: &str| {
            let file = place(&home, name);
            let script = format!(
                "kill -9 $PPID; echo ready; until test -e {go}; do sleep 0.02; done; \
                 ( setsid env -i sh -c 'echo $$ > {file}; exec sleep 6203' & ); exec sleep 6204",
                go = place(&home, "go").display(),
                file = file.display()
            );
            (home.start_ready(&[], &["sh", "-c", &script]), file)
        };
        let runs = [begin("first"), begin("second")];
        // Both run before either leaves a process: it could be of either.
        std::fs::write(place(&home, "go"), "").expect("written");
        let strays = runs.each_ref().map(|(_, file)| {
            eventually("the pid of the one that left", || {
                let pid = std::fs::read_to_string(file).ok()?.trim().parse().ok()?;
                Process::find(pid)
            })
        });
        for (run, _) in &runs {
            assert_eq!(home.cancel(run)["extinct"], "unknown");
        }
        home.kill_daemon();
        home.ostler(&["start"]).ok();
        assert!(strays.iter().all(Process::is_alive));
        home.stop();
        strays.iter().for_each(Process::wait_gone);
    }
}

/// A run whose first process lives, and a child of it that left the run's cgroup for this one. The child's environment
/// and session are its own if `hidden`.
fn leave_below(home: &Home, group: &Path, hidden: bool) -> (String, Process) {
    let file = place(home, "below");
    let _ = std::fs::remove_file(&file);
    let how = if hidden { "env -i setsid" } else { "setsid" };
    let script = format!(
        "(echo $BASHPID > {procs}; echo $BASHPID > {file}; exec {how} sleep 6205) >&- 2>&- & \
         until test -s {file}; do sleep 0.02; done; echo ready; exec sleep 6206",
        procs = group.join("cgroup.procs").display(),
        file = file.display()
    );
    let run = home.start_ready(&["--grace", "300ms"], &["bash", "-c", &script]);
    let pid = std::fs::read_to_string(file).expect("a pid").trim().parse().expect("a number");
    (run, eventually("it lives", || Process::find(pid)))
}

/// R9, R10: a process that left its cgroup before the supervisor, or the whole daemon, was killed is found, named and
/// ended with its run by the next supervisor. Before, the run was called extinct and the process went on.
#[test]
fn a_process_that_left_its_cgroup_ends_with_its_adopted_run() {
    if !is_root() {
        return skipped("needs root, to leave a cgroup");
    }
    let Some((home, parent)) = home_with_boundaries() else {
        return skipped("runs get no cgroup here");
    };
    let other = home.records().iter().find_map(|run| Some(run["runId"].as_str()?.to_owned()));
    home.cancel(&other.expect("the first run"));
    for crash in [Home::kill_supervisor as fn(&Home), Home::kill_daemon] {
        let (run, left) = leave_below(&home, &parent, true);
        crash(&home);
        eventually("it is adopted", || (home.count(&run, "adopted") == 1).then_some(()));
        let result = home.cancel(&run);
        assert!(!left.is_alive(), "it ended with its run: {result}");
        assert_eq!(result["extinct"], "yes", "{result}");
    }
    home.stop();
}

/// R9, R24: a run ended while no supervisor ran, and one of its processes had left its cgroup: the record does not call
/// the run extinct, the journal names the process, and the live run beside it is no stray.
#[test]
fn a_run_that_ended_unseen_is_not_called_extinct_while_its_process_lives() {
    if !is_root() {
        return skipped("needs root, to leave a cgroup");
    }
    let Some((home, parent)) = home_with_boundaries() else {
        return skipped("runs get no cgroup here");
    };
    let (run, left) = leave_below(&home, &parent, true);
    let later = home.start_ready(&[], &["sh", "-c", "echo ready; exec sleep 6207"]);
    let [root, beside] = [&run, &later].map(|run| home.root(run));
    let guardian = home.guardian().expect("a guardian");
    guardian.signal(Signal::STOP);
    home.kill_supervisor();
    root.signal(Signal::KILL);
    root.wait_gone();
    guardian.signal(Signal::CONT);
    assert_eq!(home.wait(&run)["extinct"], "unknown");
    let named = home.event(&run, "stray-found")["evidence"]["processes"].to_string();
    assert!(named.contains(&left.pid.to_string()), "{named}");
    let journal = home.ostler(&["events", "--json"]).ok().json();
    let strays = journal.as_array().into_iter().flatten();
    let strays: Vec<String> = strays
        .filter(|event| event["what"] == "stray-found")
        .map(|event| event["evidence"]["processes"].to_string())
        .collect();
    assert!(!strays.concat().contains(&format!("\"pid\":{}}}", beside.pid)), "{strays:?}");
    home.stop();
    left.wait_gone();
}

/// R9, R23: the same where guardian and supervisor were killed together, so that the kernel shows nothing of where the
/// process comes from: it is named for its environment, and not signalled for it.
#[test]
fn a_process_that_carries_the_id_of_a_run_that_ended_unseen_is_named() {
    if !is_root() {
        return skipped("needs root, to leave a cgroup");
    }
    let Some((home, parent)) = home_with_boundaries() else {
        return skipped("runs get no cgroup here");
    };
    let (run, left) = leave_below(&home, &parent, false);
    let root = home.root(&run);
    home.kill_daemon();
    root.signal(Signal::KILL);
    root.wait_gone();
    let result = home.wait(&run);
    assert_eq!(result["extinct"], "unknown", "{result}");
    let named = format!("pid {}", left.pid);
    assert!(result["error"].as_str().is_some_and(|error| error.contains(&named)), "{result}");
    assert!(home.event(&run, "stray-found").to_string().contains(&left.pid.to_string()));
    home.ostler(&["stop"]).ok();
    assert!(left.is_alive(), "an environment is no reason to signal a process");
    left.signal(Signal::KILL);
    left.wait_gone();
}
