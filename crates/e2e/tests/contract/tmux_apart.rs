//! Where the kernel has no boundary for a run, or does not let a pane's program into it: it is known by its descent, and no
//! more than that is claimed.

use crate::tmux_setup::{AGAIN, IDLE, Tmux, unit};
use ostler_e2e::Signal;

const NO_GROUPS: [(&str, &str); 2] = [("OSTLER_NO_CGROUP", "1"), ("OSTLER_LIMITS", "watch")];

/// R2: whoever can be found is ended; that nobody else is left is not known, and not said.
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

/// P7: a killed shim without a boundary: what it kept is found and ended, then there is one anew.
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

/// P8: what an agent uses is the unit's, with a boundary and without, and so is its limit.
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
        tmux.project.until("big", "seen with its memory", |view| {
            view["usage"]["memoryBytes"].as_u64().is_some_and(|bytes| bytes > 50_000_000)
        });
        let view = tmux.project.until("greedy", "ended", |view| !view["ends"][0].is_null());
        let description = view["ends"][0]["description"].as_str().unwrap_or_default();
        assert!(description.contains("out of memory"), "{variables:?}: {view:#}");
    }
}
