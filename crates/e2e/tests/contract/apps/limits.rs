//! A8, A9, A12: resource limits of runs, each method of enforcing them, and the reported usage.

use crate::daemon::setup::{QUICK, replace_supervisor};
use crate::units::inspect::Seen;
use ostler_e2e::{Home, eventually};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Allocates four megabytes at a time until far above the limit.
const EATER: &str = "import time\nheld = []\nfor _ in range(200):\n    held.append(bytearray(4 << 20))\n    time.sleep(0.01)\n";
/// The same once a file exists.
const WAITING_EATER: &str = "import os, sys, time\nprint('ready', flush=True)\nwhile not os.path.exists(sys.argv[1]):\n    time.sleep(0.02)\nheld = []\nfor _ in range(200):\n    held.append(bytearray(4 << 20))\n    time.sleep(0.01)\n";

/// The methods of enforcing limits on this machine.
const WAYS: [(&str, &[(&str, &str)]); 4] = [
    ("groups", &[]),
    ("groups without a boundary", &[("OSTLER_NO_CGROUP", "1")]),
    ("a watch", &[("OSTLER_LIMITS", "watch")]),
    ("a watch without a boundary", &[("OSTLER_LIMITS", "watch"), ("OSTLER_NO_CGROUP", "1")]),
];

/// Cgroups of any hierarchy that were created for this home.
fn groups(home: &Home) -> Vec<PathBuf> {
    let instance = std::fs::read_to_string(home.file("instance")).unwrap_or_default();
    let name = format!("ostler-{}", instance.trim());
    let own = std::fs::read_to_string("/proc/self/cgroup").expect("our groups");
    let mut found = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let controller = fields.next().unwrap_or_default();
        let path = fields.next().unwrap_or_default().trim_start_matches('/');
        let room = PathBuf::from("/sys/fs/cgroup").join(controller).join(path).join(&name);
        if !controller.is_empty() && room.exists() {
            let entries = std::fs::read_dir(&room).into_iter().flatten().flatten();
            found.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
            found.push(room);
        }
    }
    found
}

/// Whether this machine has cgroup v1 hierarchies in which groups can be created.
fn has_old_groups(record: &Value) -> bool {
    record["enforced"]["memoryBy"] == "cgroup-v1"
}

/// A8: with each method, a run above its memory limit is killed, and all output says so. A12: the run beside it
/// lives on. Nothing is left behind.
#[test]
fn a_run_above_its_memory_limit_is_killed_and_its_neighbour_lives() {
    ostler_e2e::needs!("python3");
    for (way, variables) in WAYS {
        let home = Home::with(variables);
        let neighbour =
            home.start_ready(&["--memory", "64M"], &["sh", "-c", "echo ready; sleep 971"]);
        let result = home.run(&["--memory", "64M"], &["python3", "-c", EATER]);
        let run = result["runId"].as_str().expect("an id").to_owned();
        assert_eq!(result["outOfMemory"], true, "{way}: {result}");
        assert_eq!(
            (&result["termination"], &result["exitSignal"]),
            (&json!("signal"), &json!(9)),
            "{way}: {result}"
        );
        let entry = home.event(&run, "out-of-memory");
        assert_eq!(entry["evidence"]["limitBytes"], 64 << 20, "{way}: {entry}");
        let by = if variables.iter().any(|(name, _)| *name == "OSTLER_LIMITS") {
            "watch"
        } else {
            "cgroup"
        };
        let description = entry["evidence"]["by"].as_str().expect("a way");
        assert!(description.starts_with(by) || description == "watch", "{way}: {entry}");
        assert!(
            entry["evidence"]["peakBytes"].as_u64().is_some_and(|peak| peak > 50 << 20),
            "{way}: {entry}"
        );
        assert_eq!(home.count(&run, "limited"), 1, "{way}");
        assert!(home.ostler(&["runs", "--all"]).text().contains("SIGKILL, out of memory"), "{way}");
        assert!(home.ostler(&["why", &run]).text().contains("out of memory"), "{way}");
        assert_eq!(home.record(&neighbour)["state"], "running", "{way}");
        assert!(home.root(&neighbour).is_alive(), "{way}");
        home.stop();
        assert_eq!(groups(&home), Vec::<PathBuf>::new(), "{way}");
    }
}

/// A8: the whole tree counts, and a shell that waits for the killed process ends with it.
#[test]
fn the_whole_tree_counts() {
    ostler_e2e::needs!("python3");
    for (way, variables) in WAYS {
        let home = Home::with(variables);
        let script = "python3 -c \"$0\" & python3 -c \"$0\" & wait; wait; exit 3";
        let half = EATER.replace("range(200)", "range(12)") + "time.sleep(3)\n";
        let result = home.run(&["--memory", "64M"], &["sh", "-c", script, &half]);
        let run = result["runId"].as_str().expect("an id");
        assert!(home.count(run, "out-of-memory") >= 1, "{way}: {result}");
    }
}

/// If the kernel killed only a child, the run goes on; the journal has it, and the run's exit is its own.
#[test]
fn a_child_killed_for_memory_is_journaled_and_the_run_goes_on() {
    ostler_e2e::needs!("python3");
    let home = Home::new();
    let script =
        "python3 -c \"$0\"; echo status $?; until test -e \"$1\"; do sleep 0.02; done; exit 0";
    let gate = home.folder().join("gate");
    let gate = gate.to_str().expect("a path");
    let run = home.start(&["--memory", "64M"], &["sh", "-c", script, EATER, gate]);
    let record = home.record(&run);
    if !has_old_groups(&record) {
        ostler_e2e::skipped("only cgroup v1 kills a single process here");
        std::fs::write(gate, "").expect("written");
        home.wait(&run);
        return;
    }
    home.until_logged(&run, "status 137");
    eventually("the kill is journaled while the run goes on", || {
        (home.count(&run, "out-of-memory") == 1).then_some(())
    });
    assert_eq!(home.record(&run)["state"], "running");
    std::fs::write(gate, "").expect("written");
    let result = home.wait(&run);
    assert_eq!(
        (&result["exitCode"], &result["outOfMemory"]),
        (&json!(0), &json!(false)),
        "{result}"
    );
    assert_eq!(home.record(&run)["memoryKills"], 1);
}

/// An adopted run has the same limits, and its record says that it exceeded them.
#[test]
fn an_adopted_run_that_is_killed_for_memory_says_so() {
    ostler_e2e::needs!("python3");
    for (way, variables) in WAYS {
        let mut home = Home::with(variables);
        home.set(QUICK.0, QUICK.1);
        let gate = home.folder().join("gate");
        let path = gate.to_str().expect("a path").to_owned();
        let run = home.start_ready(&["--memory", "64M"], &["python3", "-c", WAITING_EATER, &path]);
        replace_supervisor(&home);
        assert_eq!(home.count(&run, "adopted"), 1, "{way}");
        std::fs::write(&gate, "").expect("written");
        let result = home.wait(&run);
        assert_eq!(result["outOfMemory"], true, "{way}: {result}");
        assert_eq!(result["exitSignal"], 9, "{way}: {result}");
        assert_eq!(home.count(&run, "out-of-memory"), 1, "{way}");
        home.stop();
        assert_eq!(groups(&home), Vec::<PathBuf>::new(), "{way}");
    }
}

/// A run is killed for memory while there is no supervisor: the next one learns it from the kernel.
#[test]
fn a_kill_for_memory_without_a_supervisor_is_learned() {
    ostler_e2e::needs!("python3");
    let home = Home::with(&[("OSTLER_WAIT_MS", "1000")]);
    let gate = home.folder().join("gate");
    let path = gate.to_str().expect("a path");
    let run = home.start_ready(&["--memory", "64M"], &["python3", "-c", WAITING_EATER, path]);
    if !has_old_groups(&home.record(&run)) {
        ostler_e2e::skipped("sampling needs a supervisor");
        return;
    }
    let root = home.root(&run);
    home.kill_supervisor();
    std::fs::write(&gate, "").expect("written");
    root.wait_gone();
    let result = home.wait(&run);
    assert_eq!(result["outOfMemory"], true, "{result}");
    home.stop();
    assert_eq!(groups(&home), Vec::<PathBuf>::new());
}

/// Descriptors in each process, shares of the processor in the group or as a priority.
#[test]
fn descriptors_and_shares_reach_the_child() {
    for (way, variables) in WAYS {
        let home = Home::with(variables);
        let script = "ulimit -Sn; ulimit -Hn; nice; echo ready; sleep 972";
        let run = home.start_ready(&["--fds", "77", "--cpu-shares", "512"], &["sh", "-c", script]);
        let log = home.ostler(&["logs", &run]).text();
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines[..2], ["77", "77"], "{way}");
        let record = home.record(&run);
        match record["enforced"]["cpuBy"].as_str().expect("a way") {
            "cgroup-v1" => {
                let group = record["enforced"]["groups"][0].as_str().expect("a group");
                let shares =
                    std::fs::read_to_string(format!("{group}/cpu.shares")).expect("shares");
                assert_eq!(shares.trim(), "512", "{way}");
                let pid = home.root(&run).pid;
                let own =
                    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("its groups");
                assert!(
                    own.lines().any(|line| line.contains(":cpu") && line.contains(&run)),
                    "{own}"
                );
            }
            "cgroup-v2" => {
                let leaf = record["cgroup"].as_str().expect("a leaf");
                let weight =
                    std::fs::read_to_string(format!("{leaf}/cpu.weight")).expect("a weight");
                assert_eq!(weight.trim(), "50", "{way}");
            }
            _ => assert_eq!(lines[2], "3", "{way}"),
        }
        home.stop();
        assert_eq!(groups(&home), Vec::<PathBuf>::new(), "{way}");
    }
}

/// A supervisor and guardian killed together leave cgroups behind; the next daemon removes them.
#[test]
fn cgroups_of_a_killed_daemon_are_removed_by_the_next() {
    let home = Home::new();
    let run = home.start_ready(
        &["--memory", "64M", "--cpu-shares", "512"],
        &["sh", "-c", "echo ready; sleep 973"],
    );
    let root = home.root(&run);
    home.kill_daemon();
    root.signal(ostler_e2e::Signal::KILL);
    root.wait_gone();
    assert_eq!(home.records().len(), 1);
    home.wait(&run);
    let left: Vec<PathBuf> =
        groups(&home).into_iter().filter(|path| path.to_string_lossy().contains("/run-")).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    home.stop();
    assert_eq!(groups(&home), Vec::<PathBuf>::new());
}

/// D4: no supervisor can be started and the guardian ends the runs: the next supervisor removes the cgroups.
#[test]
fn cgroups_left_by_the_guardian_are_removed_by_the_next_supervisor() {
    let home = Home::new();
    home.start_ready(
        &["--memory", "64M", "--cpu-shares", "512"],
        &["sh", "-c", "echo ready; sleep 976"],
    );
    home.kill_supervisor();
    for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        let _ = std::fs::remove_file(home.file(name));
    }
    std::fs::write(home.file("registry.db"), "this is no registry\n".repeat(500)).expect("written");
    home.ostler(&["stop"]).ok();
    assert!(home.processes().is_empty(), "{:?}", home.processes());
    std::fs::remove_file(home.file("registry.db")).expect("removed");
    assert_eq!(home.records().len(), 0);
    home.stop();
    assert_eq!(groups(&home), Vec::<PathBuf>::new());
}

/// An invalid size, share or count is refused before anything runs.
#[test]
fn bad_limits_are_refused() {
    let home = Home::new();
    for (option, value) in
        [("--memory", "lots"), ("--memory", "1K"), ("--cpu-shares", "1"), ("--fds", "0")]
    {
        let output = home.ostler(&["run", option, value, "--", "true"]);
        assert_eq!(output.code, 2, "{option} {value}: {output:?}");
    }
}

/// A unit that is killed for memory says so in all output and is restarted; its neighbour is not.
#[test]
fn a_unit_killed_for_memory_says_so_in_all_output() {
    ostler_e2e::needs!("python3");
    for (way, variables) in WAYS {
        let mut seen = Seen::of(&[]);
        for (name, value) in variables {
            seen.home.set(name, value);
        }
        let eater = seen.home.folder().join("eat.py");
        std::fs::write(&eater, EATER).expect("written");
        let script = format!("exec python3 {}", eater.display());
        let policy = "limits = { memory = \"64M\" }\nrestart = { when = \"never\" }";
        seen.declare(&[("eater", &script, policy), ("calm", "exec sleep 974", "")]);
        seen.call(&["up"]);
        eventually("the unit has ended", || (seen.view("eater")["state"] == "error").then_some(()));
        let view = seen.view("eater");
        assert_eq!(view["ends"][0]["description"], "killed, out of memory", "{way}: {view:#}");
        for verb in [&["ls"][..], &["status", "eater"], &["why", "eater"], &["crashes", "eater"]] {
            let output = seen.call(verb);
            assert!(output.text().contains("out of memory"), "{way} {verb:?}: {output:?}");
        }
        let calm = seen.view("calm");
        assert_eq!((&calm["state"], &calm["restarts"]), (&json!("ready"), &json!(0)), "{way}");
    }
}

/// A9: the reported usage is that of the whole tree, with each boundary.
#[test]
fn usage_is_of_the_whole_tree() {
    ostler_e2e::needs!("python3");
    for (way, variables) in WAYS {
        let mut seen = Seen::of(&[]);
        for (name, value) in variables {
            seen.home.set(name, value);
        }
        let grandchild = "import time; held = bytearray(40 << 20); time.sleep(975)";
        let script = format!("sh -c 'python3 -c \"{grandchild}\" & wait' & wait");
        seen.declare(&[("tree", &script, "")]);
        seen.call(&["up"]).ok();
        let usage = eventually("the grandchild counts", || {
            let usage = seen.view("tree")["usage"].clone();
            (usage["memoryBytes"].as_u64()? > 40 << 20 && usage["processes"] == 3).then_some(usage)
        });
        assert!(usage["descriptors"].as_u64().is_some_and(|count| count >= 9), "{way}: {usage}");
        assert!(usage["cpuMs"].as_u64().is_some(), "{way}: {usage}");
        let details_table = seen.call(&["status", "tree"]).text();
        assert!(
            details_table.contains(" open") && details_table.contains(" written"),
            "{way}: {details_table}"
        );
        let document = seen.call(&["status", "tree", "--json"]).ok().json();
        let document = document.as_array().map_or(document.clone(), |list| list[0].clone());
        assert!(
            document["history"].as_array().is_some_and(|points| !points.is_empty()),
            "{document:#}"
        );
    }
}
