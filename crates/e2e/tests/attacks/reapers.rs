//! Without cgroups a run has a reaper of the same user: what a program does to its own parent harms only its run.

use crate::left_behind::without_cgroups;
use ostler_e2e::{Home, Process};

fn reaper_of(home: &Home, run: &str) -> Process {
    let root = home.root(run).pid;
    let status =
        std::fs::read_to_string(format!("/proc/{root}/status")).expect("the reaper is running");
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("a parent");
    let reaper =
        Process::find(parent.trim().parse().expect("a number")).expect("the reaper is running");
    assert_eq!(reaper.arguments().get(1).map(String::as_str), Some("reaper"), "{reaper:?}");
    reaper
}

/// D22: a program that stops its parent as its first act does not stop the supervisor, and exits normally.
#[test]
fn a_program_that_stops_its_reaper_at_its_start_does_not_stop_the_supervisor() {
    for home in without_cgroups() {
        home.ostler(&["start"]).ok();
        let supervisor = home.supervisor_pid();
        for _ in 0..20 {
            let result = home.run(&[], &["sh", "-c", "kill -STOP $PPID; exit 5"]);
            assert_eq!((&result["exitCode"], &result["extinct"]), (&5.into(), &"yes".into()));
        }
        assert_eq!(home.supervisor_pid(), supervisor, "the same supervisor all the time");
        let reapers = reapers_of(&home);
        home.stop();
        assert!(reapers.iter().all(|reaper| !reaper.is_alive()), "none outlives the daemon");
    }
}

/// All reapers of a home, by the instance in their command line.
fn reapers_of(home: &Home) -> Vec<Process> {
    let instance = std::fs::read_to_string(home.path().join("instance")).expect("an instance");
    let is_its = |process: &Process| {
        let arguments = process.arguments();
        arguments.get(1).is_some_and(|verb| verb == "reaper")
            && arguments.iter().any(|word| word == instance.trim())
    };
    let pids = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::find).filter(is_its).collect()
}

/// D22: a stopped reaper ends when its run does, whether the run ends by itself, by a cancel or with the daemon.
#[test]
fn a_stopped_reaper_ends_with_its_run() {
    let script = "kill -STOP $PPID; echo ready; while [ ! -e go ]; do sleep 0.02; done; exit 7";
    for home in without_cgroups() {
        let folder = home.folder().to_str().expect("text").to_owned();
        for end in ["by itself", "by a cancel", "with the daemon", "with both killed"] {
            let run = home.start_ready(&["--cwd", &folder], &["sh", "-c", script]);
            let (reaper, root) = (reaper_of(&home, &run), home.root(&run));
            match end {
                "by itself" => {
                    std::fs::write(home.folder().join("go"), "").expect("written");
                    let result = home.wait(&run);
                    assert_eq!(result["exitCode"], 7, "{result}");
                    std::fs::remove_file(home.folder().join("go")).expect("removed");
                }
                "by a cancel" => assert_eq!(home.cancel(&run)["extinct"], "yes"),
                "with the daemon" => home.stop(),
                _ => {
                    home.kill_daemon();
                    home.ostler(&["start"]).ok();
                    assert_eq!(home.cancel(&run)["extinct"], "yes");
                }
            }
            assert!(!root.is_alive(), "{end}");
            reaper.wait_gone();
        }
        home.stop();
    }
}

/// A program that cannot be executed leaves no reaper and no zombie, and has the program's own error.
#[test]
fn a_program_that_cannot_be_executed_leaves_no_reaper() {
    for home in without_cgroups() {
        for _ in 0..20 {
            let output = home.ostler(&["run", "--", "/no/such/program"]);
            assert_eq!(output.code, 127, "{output:?}");
        }
        let supervisor = home.supervisor_pid();
        let path = format!("/proc/{supervisor}/task/{supervisor}/children");
        let children = std::fs::read_to_string(path).expect("readable");
        assert_eq!(children.trim(), "", "the supervisor has no child");
        home.stop();
    }
}

/// D22, R4: a program that kills its reaper as its first act is known by its start time nevertheless, so the next
/// supervisor takes it over and starts no second copy.
#[test]
fn a_program_that_kills_its_reaper_at_its_start_has_no_second_copy() {
    const UNITS: usize = 12;
    for home in without_cgroups() {
        let file = home.folder().join("ostler.toml");
        let unit = |number: usize| {
            format!(
                "[units.u{number}]\ncommand = [\"sh\", \"-c\", \"kill -9 $PPID; exec sleep 62{number:02}\"]\n"
            )
        };
        std::fs::write(&file, (0..UNITS).map(unit).collect::<String>()).expect("written");
        home.ostler(&["up", "-f", file.to_str().expect("a path")]).ok();
        let roots = || {
            let live = home.records().into_iter().filter(|record| record["state"] == "running");
            live.map(|record| (record["pid"].clone(), record["startTime"].clone()))
                .collect::<Vec<_>>()
        };
        let before = roots();
        assert_eq!(before.len(), UNITS);
        assert!(before.iter().all(|(_, started)| *started != 0), "{before:?}");
        home.kill_supervisor();
        home.ostler(&["ls"]).ok();
        assert_eq!(roots(), before, "all were adopted");
        home.stop();
    }
}
