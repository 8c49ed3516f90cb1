//! Without a kernel boundary, or with a pane's program outside of it: processes are recognised by descent, and no
//! more than that is claimed.

use crate::tmux::setup::{AGAIN, IDLE, Tmux, unit};
use ostler_e2e::Signal;

const NO_GROUPS: [(&str, &str); 2] = [("OSTLER_NO_CGROUP", "1"), ("OSTLER_LIMITS", "watch")];

/// R2: the found processes are ended; that no other is left is not known, and not claimed.
#[test]
fn descendants_are_found_without_a_boundary() {
    ostler_e2e::needs!("tmux");
    let script = "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & \
                  (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &) ; echo ready; wait";
    let tmux = Tmux::with(&NO_GROUPS);
    tmux.project.declare(&[("a", &unit(script, "stop = { grace = \"300ms\" }"))]);
    let project = &tmux.project;
    project.up();
    tmux.until_logged("a", "ready");
    project.call(&["stop", "a"]).ok();
    tmux.until_extinct("a");
    assert!(tmux.sessions().is_empty());
    let record = project.home.records().into_iter().rfind(|record| record["unit"] == "a");
    assert_eq!(record.expect("its record")["extinct"], "unknown");
}

/// P7: after a shim without a boundary was killed, its session is found and ended, then started again.
#[test]
fn a_killed_shim_without_a_boundary() {
    ostler_e2e::needs!("tmux");
    let tmux = Tmux::with(&NO_GROUPS);
    tmux.project.declare(&[("a", &unit(IDLE, AGAIN))]);
    let project = &tmux.project;
    project.up();
    let first = project.process("a");
    tmux.shim("a").signal(Signal::KILL);
    project.next_process("a", &first);
    assert!(!first.is_alive());
    assert_eq!(tmux.sessions(), ["ostler-a"]);
}

/// P8: an agent's usage is the unit's, with and without a boundary, and so is its limit.
#[test]
fn usage_and_limits_are_the_agents() {
    ostler_e2e::needs!("tmux");
    for variables in [&NO_GROUPS[..], &NO_GROUPS[..1], &[]] {
        let tmux = Tmux::with(variables);
        let hold = "x=$(head -c 60000000 /dev/zero | tr '\\0' x); echo ready; sleep 1000";
        let more = "limits = { memory = \"64M\" }\nrestart = { when = \"never\" }";
        tmux.project
            .declare(&[("big", &unit(hold, "")), ("greedy", &unit("exec tail /dev/zero", more))]);
        tmux.project.call(&["up"]);
        tmux.until_logged("big", "ready");
        tmux.project.until("big", "its memory is counted", |view| {
            view["usage"]["memoryBytes"].as_u64().is_some_and(|bytes| bytes > 50_000_000)
        });
        let view = tmux.project.until("greedy", "ended", |view| !view["ends"][0].is_null());
        let description = view["ends"][0]["description"].as_str().unwrap_or_default();
        assert!(description.contains("out of memory"), "{variables:?}: {view:#}");
    }
}
