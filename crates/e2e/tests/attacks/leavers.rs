//! Processes that leave their run's boundary: they are named, and ended with the daemon at the latest.

use crate::left_behind::without_cgroups;
use ostler_e2e::{Home, Process, eventually, is_root, skipped};
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
