//! The supervisor has no free descriptor, and still ends whole trees.

use crate::setup::Setup;
use ostler_e2e::{Home, Process, helper};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

/// The lowest number that none of its descriptors has.
fn first_free(process: &Process) -> u64 {
    let folder = std::fs::read_dir(format!("/proc/{}/fd", process.pid)).expect("a folder");
    let taken: std::collections::HashSet<u64> =
        folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    (0..).find(|number| !taken.contains(number)).expect("a number")
}

/// Returns the previous limit.
fn limit(process: &Process, most: u64) -> u64 {
    let new = Rlimit { current: Some(most), maximum: getrlimit(Resource::Nofile).maximum };
    let before =
        prlimit(Pid::from_raw(process.pid), Resource::Nofile, new).expect("the limit is set");
    before.current.expect("a limit")
}

/// R8, R9: a tree that could not be read does not count as empty; a descendant outside of the group is ended.
#[test]
fn a_tree_is_ended_whole_without_a_descriptor_left() {
    ended_whole(&Setup::PIPE.home());
}

/// R8, R9: the same where only the run's reaper knows its members.
#[test]
fn a_tree_without_a_cgroup_is_ended_whole_without_a_descriptor_left() {
    ended_whole(&Setup::PIPE_WITHOUT_CGROUP.home());
}

fn ended_whole(home: &Home) {
    let note = home.folder().join("escaped");
    let note = note.to_str().expect("a path");
    let options = ["--timeout", "3s", "--grace", "300ms"];
    let run = home.start_ready(&options, &[helper!("escape"), "setsid", note, "stay"]);
    let pid = std::fs::read_to_string(note).expect("read").trim().parse().expect("a pid");
    let escaped = Process::find(pid).expect("the descendant has left the group");
    let root = home.root(&run);
    let supervisor = home.supervisor().expect("a supervisor");
    // Every number below the limit is taken. Callers could not cause that: they get only a part.
    let before = limit(&supervisor, first_free(&supervisor));
    root.wait_gone();
    escaped.wait_gone();
    limit(&supervisor, before);
    let result = home.wait(&run);
    assert_eq!(result["termination"], "overall-timeout", "{result}");
    assert_eq!(result["extinct"], "yes", "{result}");
    assert_eq!(home.supervisor(), Some(supervisor), "the supervisor was not replaced");
}
